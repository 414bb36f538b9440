"""What audit needs from outside: the files of a build, and readers that know one engine's or library's tables."""

from typing import Protocol

from dayzero.audit.model import Facts


class BuildFiles(Protocol):
    """The files of one build, read without importing or running any of them."""

    @property
    def artifact(self) -> str:
        """Name and version of what holds the files (``xllamacpp 2026.8.10229``)."""
        ...

    def names(self) -> tuple[str, ...]:
        """List all file paths inside the artifact."""
        ...

    def read(self, name: str) -> bytes:
        """Read one file whole."""
        ...


class EngineFacts(Protocol):
    """Reads one engine's tables from its build."""

    def read_architectures(self, files: BuildFiles) -> Facts:
        """Read which model architectures the build computes."""
        ...

    def read_settings(self, files: BuildFiles) -> Facts:
        """Read which settings the build takes, named as ``settings_in`` names them."""
        ...

    def settings_in(self, flags: tuple[str, ...]) -> tuple[str, ...]:
        """Name the settings that a command line sets."""
        ...


class KernelFacts(Protocol):
    """Reads one kernel library's tables from the build that carries it."""

    def read_tensor_types(self, files: BuildFiles) -> Facts:
        """Read which storage types the library computes with."""
        ...
