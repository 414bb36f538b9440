"""What a deploy target offers. ``tests/contracts/test_targets.py`` is the suite that each one passes."""

from dataclasses import dataclass
from typing import Protocol

from dayzero.core.launch import Command, Delta, LaunchSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Validator:
    """A program of somebody else's that says whether a deploy file is well formed.

    Attributes:
        command: Its words, the program first; the path of the deploy file is added at the end.
        beside_the_point: Regular expression of the output lines that say nothing about the file itself, ``""`` for none.
    """

    command: tuple[str, ...]
    beside_the_point: str = ""

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

    def file_name(self, spec: LaunchSpec) -> str:
        """Name the file that is written."""
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
            InputError: The file cannot carry the launch word for word.
        """
        ...

    def parse(self, text: str) -> Command:
        """Read a rendered file with a parser of the format's own.

        Raises:
            InputError: The text is not a file of this target.
        """
        ...
