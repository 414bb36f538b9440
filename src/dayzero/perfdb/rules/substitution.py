"""Rows whose kernel label says that something else was measured in their place."""

from dayzero.perfdb.model import Family
from dayzero.perfdb.rules.rule import Rule


def _matched(family: Family) -> str:
    return f"SELECT *, NULL::DOUBLE AS told FROM {family.table} WHERE substitution IS NOT NULL"  # noqa: S608


RULE = Rule(
    name="substituted@1",
    question="Was something else measured in place of what the row stands for?",
    severity="warning",
    threshold="a kernel label that ends in _X_as_Y: Y was measured for X",
    groups=("system", "engine", "dir_version", "substitution"),
    matched=_matched,
)
