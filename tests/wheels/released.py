"""Released wheels as the audit itself gets them: pip fetches each once, and its text is kept in dayzero's cache folder."""

from functools import cache

import pytest
from packaging.requirements import Requirement

from dayzero.adapters.artifact_open import with_metadata
from dayzero.adapters.artifact_pack import PackedFiles
from dayzero.audit.installed import Distribution
from dayzero.core.errors import RemoteError
from dayzero.wiring.audit import index


def wheel(name: str, version: str) -> Distribution:
    """Give a released wheel, or skip the test where the package index does not deliver it and it is not kept yet."""
    try:
        return _fetched(f"{name}=={version}")
    except RemoteError as error:
        pytest.skip(f"the package index cannot be reached: {error.message}")


@cache
def _fetched(requirement: str) -> Distribution:
    kept = index(offline=False).fetch(Requirement(requirement))
    return with_metadata(PackedFiles(f"{kept.name} {kept.version}", kept.pack))
