"""Read a row's columns as what they are, or say which row is not there."""

from dayzero.market.errors import RefusedError
from dayzero.market.model import Value, Values
from dayzero.market.ports import Desk


def text(row: Values, column: str) -> str:
    """Read a text; ``""`` where the column is empty."""
    value = row[column]
    return "" if value is None else str(value)


def number(row: Values, column: str) -> int:
    """Read a whole number; 0 where the column is empty."""
    return int(row[column] or 0)


def known(desk: Desk, table: str, what: str, /, **equal: Value) -> Values:
    """Read the row that has these values.

    Args:
        desk: The transaction.
        table: Where.
        what: What to call it when it is not there.
        equal: The values.

    Raises:
        RefusedError: There is none (``unknown``).
    """
    row = desk.one(table, **equal)
    if row is None:
        raise RefusedError("unknown", f"there is no {what}", hint="Check the name; nothing was recorded.")
    return row
