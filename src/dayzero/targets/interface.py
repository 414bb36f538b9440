"""What a deploy target offers. ``tests/contracts/test_targets.py`` is the suite that each one passes."""

from typing import Protocol

from dayzero.core.launch import Command, Delta, LaunchSpec


class Target(Protocol):
    """One kind of deploy file: render a launch and read the same launch back."""

    @property
    def name(self) -> str:
        """Name of the entry point."""
        ...

    def file_name(self, spec: LaunchSpec) -> str:
        """Name the file that is written."""
        ...

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        """Declare how the file differs from the launch, and why; nothing else may differ."""
        ...

    def render(self, spec: LaunchSpec) -> str:
        """Write the file: the same text for the same launch, byte for byte."""
        ...

    def parse(self, text: str) -> Command:
        """Read a rendered file with a parser of the format's own.

        Raises:
            InputError: The text is not a file of this target.
        """
        ...
