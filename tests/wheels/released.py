"""Released wheels as the audit itself gets them: pip fetches each once, and its text is kept in dayzero's cache folder."""

import os
from collections.abc import Callable, Iterable
from functools import cache
from typing import TypeVar

import pytest
from packaging.requirements import Requirement

from dayzero.adapters.artifact_open import with_metadata
from dayzero.adapters.artifact_pack import PackedFiles
from dayzero.audit.installed import Distribution
from dayzero.core.errors import RemoteError
from dayzero.wiring.audit import index

# What a CI run reads: two releases of one engine and one of the other, with the libraries that they pin or that broke them.
SUBSET = frozenset(
    {
        "vllm==0.26.0",
        "vllm==0.27.0",
        "sglang==0.5.18",
        "flashinfer-python==0.6.14",
        "flashinfer-python==0.6.16rc3",
        "flashinfer-python==0.6.16.post3",
    }
)
T = TypeVar("T")


def chosen(rows: Iterable[T], builds: Callable[[T], Iterable[str]]) -> list[T]:
    """Keep the rows whose builds are all in the subset; with ``WHEELS=all`` in the environment, every row."""
    everything = os.environ.get("WHEELS") == "all"
    return [row for row in rows if everything or SUBSET.issuperset(builds(row))]


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
