"""Figures that need the server's own token counts."""

from collections.abc import Sequence
from typing import Final

from dayzero.bench.model import Row
from dayzero.core.verdict import Undecided

NO_USAGE: Final = "the server reports no usage: token rates are undecided"


def no_usage(rows: Sequence[Row]) -> Undecided | None:
    """Refuse rows without counts."""
    return Undecided(NO_USAGE) if any(row.usage is None for row in rows) else None
