"""Fixtures of the tests of deploy targets."""

from pathlib import Path

import pytest
from tests.targets.recorder import Recorder


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path)
