"""What perfdb needs from outside: something that answers questions over rows."""

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
