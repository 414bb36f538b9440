"""Find the public test vectors: in ``$DAYZERO_SHARED``, else in the folder ``shared`` beside the repository."""

import os
from pathlib import Path

import pytest

BESIDE_THE_REPOSITORY = Path(__file__).parents[3] / "shared"


def vectors(suite: str) -> Path:
    """Give a suite's folder, or skip the test that asks."""
    folder = Path(os.environ.get("DAYZERO_SHARED") or BESIDE_THE_REPOSITORY) / "vectors" / suite
    if not folder.is_dir():
        pytest.skip(f"the public vectors are not here: no folder ../shared/vectors/{suite} and no $DAYZERO_SHARED")
    return folder
