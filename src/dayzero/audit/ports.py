"""What audit needs from outside: the files of a build, and readers that know one engine's or library's tables."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Protocol, runtime_checkable

from dayzero.audit.model import Facts, HalfSurvey, KeptSurvey


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


@runtime_checkable
class DigestedFiles(BuildFiles, Protocol):
    """The files of a build that are told from any other by a digest."""

    @property
    def digest(self) -> str:
        """Digest of all that is asked of them by the modules they hold: their names, and the bytes of the Python files."""
        ...


@runtime_checkable
class SearchedFiles(DigestedFiles, Protocol):
    """The files of a wheel or sdist, whose Python files can be searched without reading each; reading one again is cheap, too."""

    def holding(self, word: bytes) -> AbstractSet[str]:
        """Name the Python files that hold a word, and those that cannot be read."""
        ...


class Surveys(Protocol):
    """Keeps what surveys of files came to."""

    def recall(self, key: str) -> KeptSurvey | None:
        """Give what is kept under a key; ``None`` where nothing is, or nothing that can be believed."""
        ...

    def keep(self, key: str, survey: KeptSurvey) -> None:
        """Keep what a survey came to."""
        ...


class Aside(Protocol):
    """Lets one piece of work be done beside another."""

    def begin(self, work: Callable[[], HalfSurvey]) -> Callable[[], HalfSurvey] | None:
        """Begin, and give what waits for the outcome; ``None`` where there is nobody beside."""
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
