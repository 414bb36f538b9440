"""Rows that take much less time than the next smaller size of the same series."""

from dayzero.perfdb.model import Family
from dayzero.perfdb.rules.rule import Rule
from dayzero.perfdb.rules.series import axis_of, series_key

_FACTOR = (
    2.0  # ten times the 90th percentile of the spread between duplicates, about 4 %, and well above a change of kernel
)


def _matched(family: Family) -> str | None:
    axis, key = axis_of(family), series_key(family)
    if not axis:
        return None
    return (
        f"SELECT * EXCLUDE (_key, _before, _less, _was), _was / latency_us AS told FROM (SELECT *, {key} AS _key, "  # noqa: S608
        f'lag({key}) OVER () AS _before, lag("{axis}") OVER () AS _less, lag(latency_us) OVER () AS _was FROM {family.table}) '
        f'WHERE _key = _before AND "{axis}" > _less AND latency_us > 0 AND _was > {_FACTOR} * latency_us'
    )


RULE = Rule(
    name="not-monotone@1",
    question="Is a larger size much faster than the next smaller one?",
    severity="warning",
    threshold=f"{_FACTOR:g} times faster than the row before it along the table's finest axis",
    groups=("system", "engine", "dir_version"),
    matched=_matched,
    unit="times faster than a smaller size",
)
