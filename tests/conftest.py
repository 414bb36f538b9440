"""Fixtures that more than one folder asks for."""

import hashlib
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from dayzero.wiring import cache_folder

pytest_plugins = ("tests.engines.llamacpp.fixtures", "tests.vllm_fixtures")

_PLATFORM = "cp310-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64"
_WHEEL = (
    f"xllamacpp-2026.10.11549-{_PLATFORM}.whl",
    "c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261",
)
_OLD_WHEEL = (
    f"xllamacpp-2026.8.10229-{_PLATFORM}.whl",
    "c92801f1e00cbebdd1e9ee9022784627b98219c768e5752e8148607abf0cb0c2",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedEngine:
    """The embedded engine's two builds: the one that serves the seeded Kimi-K3, and an older one that cannot.

    Attributes:
        wheel, old_wheel: The wheels.
        site, old_site: A folder for ``PYTHONPATH`` that holds the build.
    """

    wheel: Path
    old_wheel: Path
    site: Path
    old_site: Path


def _wheel(filename: str, digest: str) -> Path:
    folder = os.environ.get("DAYZERO_TEST_WHEELS")
    path = Path(folder or ".") / filename
    if not folder or not path.exists():
        pytest.skip(f"{filename} is not in the folder that DAYZERO_TEST_WHEELS names")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == digest, f"{path} is not the pinned wheel"
    return path


def _site(wheel: Path) -> Path:
    target = cache_folder() / "test-sites" / wheel.stem
    if not target.is_dir():
        unfinished = target.with_name(f"{target.name}.{os.getpid()}")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unfinished)
        unfinished.rename(target)
    return target


@pytest.fixture(scope="session")
def embedded_engine() -> EmbeddedEngine:
    """Give the pinned builds of xllamacpp, or skip where their wheels are not at hand."""
    wheel, old_wheel = _wheel(*_WHEEL), _wheel(*_OLD_WHEEL)
    return EmbeddedEngine(wheel=wheel, old_wheel=old_wheel, site=_site(wheel), old_site=_site(old_wheel))
