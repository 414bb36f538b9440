"""Rows that report another version than the folder which they lie in."""

from dayzero.perfdb.model import Family
from dayzero.perfdb.rules.rule import Rule


def _matched(family: Family) -> str:
    # The public part of a development version is how such folders are named, and no contradiction (dayzero.perfdb.builds).
    same = "split_part(row_version, '+', 1) = dir_version AND contains(row_version, '.dev')"
    return (
        f"SELECT *, NULL::DOUBLE AS told FROM {family.table} WHERE row_version IS DISTINCT FROM dir_version "  # noqa: S608  (our names)
        f"AND NOT coalesce({same}, false)"
    )


RULE = Rule(
    name="version-differs@1",
    question="Do rows report another version than their folder?",
    severity="warning",
    threshold="the folder's version, or a development version of which it is the public part",
    groups=("engine", "dir_version", "row_version"),
    matched=_matched,
)
