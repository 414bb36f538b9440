"""Compare two imports, or two labels of one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dayzero.adapters.perf_database.duck import DuckRows
from dayzero.core.errors import InputError
from dayzero.perfdb.diff import Difference, Side, compare
from dayzero.perfdb.model import Family
from dayzero.wiring.perfdb import Database, open_database


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What was compared, and how the lanes differ.

    Attributes:
        first: What was compared with.
        second: What was compared.
        differences: Lanes that both measured.
        untouched: Tables whose rows are the same file on both sides.
        alone: Tables that one side alone has.
    """

    first: Database
    second: Database
    differences: tuple[Difference, ...]
    untouched: tuple[str, ...]
    alone: tuple[str, ...]


def compare_databases(
    paths: tuple[Path, Path], labels: tuple[str, str], imports: tuple[str, str], tables: Sequence[str]
) -> Compared:
    """Compare two sides.

    Args:
        paths: The databases; they can be one.
        labels: ``ENGINE/VERSION`` of each side, or ``""`` on both: then each version is compared with itself.
        imports: First digits of each side's import, or ``""``.
        tables: Tables to compare; all without one.

    Raises:
        InputError: Only one side has a label, or a table is not there.
    """
    if bool(labels[0]) != bool(labels[1]) or any(label and "/" not in label for label in labels):
        raise InputError("both sides need a label, or none", hint="Give --label and --other as ENGINE/VERSION.")
    first, second = (open_database(path, digits, tables) for path, digits in zip(paths, imports, strict=True))
    sides = Side(prefix="a_", label=labels[0]), Side(prefix="b_", label=labels[1])
    pairs, alone = _pairs(first, second, tables)
    same = [one.table for one, other in pairs if one.sha256 == other.sha256 and not labels[0]]
    todo = [(one, other) for one, other in pairs if one.table not in same]
    views = [(f"a_{one.table}", first.folder.whole_rows(one)) for one, _ in todo]
    views += [(f"b_{other.table}", second.folder.whole_rows(other)) for _, other in todo]
    rows = DuckRows(views)
    return Compared(
        first=first,
        second=second,
        differences=tuple(d for one, other in todo for d in compare(_shared(one, other), *sides, rows)),
        untouched=tuple(same),
        alone=alone,
    )


def _pairs(
    first: Database, second: Database, tables: Sequence[str]
) -> tuple[list[tuple[Family, Family]], tuple[str, ...]]:
    one = {f.table: f for f in first.made.families if not tables or f.table in tables}
    other = {f.table: f for f in second.made.families if not tables or f.table in tables}
    return [(one[t], other[t]) for t in one if t in other], tuple(sorted(one.keys() ^ other.keys()))


def _shared(one: Family, other: Family) -> Family:
    """Give a table with the lane and shape columns that both sides have."""
    names = dict(other.columns)
    return replace(one, lane=tuple(n for n in one.lane if n in names), shape=tuple(n for n in one.shape if n in names))
