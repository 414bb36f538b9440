"""A build's files, in memory."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class BuildInMemory:
    """Implements ``audit.ports.BuildFiles``."""

    files: Mapping[str, bytes]
    artifact: str = "xllamacpp 2.0"

    def names(self) -> tuple[str, ...]:
        return tuple(self.files)

    def read(self, name: str) -> bytes:
        return self.files[name]
