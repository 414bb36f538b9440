"""Rows of one file that measure what a row before them measures already."""

from dayzero.perfdb.model import Family
from dayzero.perfdb.rules.rule import Rule, columns


def _matched(family: Family) -> str:
    key = f"hash(source, {columns(family.key)})"
    # Rows lie sorted by file and key, so that equal keys are neighbours and no sort is needed.
    return (
        f"SELECT * EXCLUDE (_key, _before, _was), greatest(latency_us / _was, _was / latency_us) AS told FROM (SELECT *, "  # noqa: S608
        f"{key} AS _key, lag({key}) OVER () AS _before, lag(latency_us) OVER () AS _was FROM {family.table}) "
        "WHERE _key = _before"
    )


RULE = Rule(
    name="duplicate-key@1",
    question="Does a file measure one shape of one lane more than once?",
    severity="warning",
    threshold="one row for each operator, kernel, lane and shape of a file; the rows beyond the first are matched",
    groups=("system", "engine", "dir_version"),
    matched=_matched,
    unit="times the row before it",
)
