"""What a deploy target offers. ``tests/contracts/test_targets.py`` is the suite that each one passes."""

from dataclasses import dataclass
from typing import Protocol

from dayzero.core.errors import InputError
from dayzero.core.launch import Commands, Delta, LaunchSpec


class NotCarriedError(InputError):
    """This kind of deploy file has no place for this kind of launch (several nodes, say); another kind has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validator:
    """A program of somebody else's that says whether a deploy file is well formed.

    Attributes:
        command: Its words, the program first; the path of the deploy file is added at the end.
        folder_variable: Environment variable that names the file's folder instead, for a program that reads whole folders.
        beside_the_point: Regular expression of the output lines that say nothing about the file itself, ``""`` for none.
        folder: True where the program takes the folder that holds the file.
    """

    command: tuple[str, ...]
    folder_variable: str = ""
    beside_the_point: str = ""
    folder: bool = False

    @property
    def name(self) -> str:
        """Name of the program."""
        return self.command[0]


class Target(Protocol):
    """One kind of deploy file: render a launch and read the same launch back."""

    @property
    def name(self) -> str:
        """Name of the entry point."""
        ...

    @property
    def validators(self) -> tuple[Validator, ...]:
        """Programs that can check a rendered file, where they are installed."""
        ...

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the fields of :class:`~dayzero.core.launch.Site` that the file can hold."""
        ...

    def file_name(self, spec: LaunchSpec) -> str:
        """Name the file that is written; it may lie in one folder (``helm/values.yaml``)."""
        ...

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
        """Give the files that have to stand beside it, as (name, text); the launch's own files are not among them."""
        ...

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        """Declare how the file differs from the launch, and why; nothing else may differ."""
        ...

    def render(self, spec: LaunchSpec) -> str:
        """Write the file: the same text for the same launch, byte for byte.

        Raises:
            NotCarriedError: This kind of file cannot carry this kind of launch.
            InputError: The file cannot carry the launch word for word.
        """
        ...

    def parse(self, text: str) -> Commands:
        """Read a rendered file with a parser of the format's own.

        Raises:
            InputError: The text is not a file of this target.
        """
        ...
