"""What perfdb needs from outside: something that answers questions over rows, and the text of a build."""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

Value: TypeAlias = str | int | float | bool | None


class Rows(Protocol):
    """The rows of one import, one view a table, under the table's name."""

    def ask(self, sql: str) -> Sequence[tuple[Value, ...]]:
        """Answer one SELECT over the views.

        Raises:
            IntegrityError: A file is not the one that was imported.
        """
        ...


class BuildText(Protocol):
    """The files of one distribution, read without running any of them."""

    @property
    def artifact(self) -> str:
        """Name and version of what holds the files (``vllm 0.27.0``)."""
        ...

    def names(self) -> tuple[str, ...]:
        """List all file paths inside it."""
        ...

    def read(self, name: str) -> bytes:
        """Read one file whole.

        Raises:
            InputError: It cannot be read.
        """
        ...
