"""Write SELECTs along series: rows that differ in the table's finest axis alone, which lie next to each other, smallest first."""

from dayzero.perfdb.model import Family
from dayzero.perfdb.rules.rule import columns


def axis_of(family: Family) -> str:
    """Give the axis; ``""`` where the table has none."""
    return family.axes[-1] if family.axes else ""


def series_key(family: Family) -> str:
    """Write the hash that the rows of one series share."""
    return f"hash(source, {columns([name for name in family.key if name != axis_of(family)])})"
