"""Rows of series that take the same time at every size."""

from dayzero.perfdb.model import Family
from dayzero.perfdb.rules.rule import Rule
from dayzero.perfdb.rules.series import axis_of, series_key

_GROWTH, _POINTS, _RATIO = 1024, 6, 1.05


def _matched(family: Family) -> str | None:
    axis, key = axis_of(family), series_key(family)
    if not axis:
        return None
    flat = (
        f"SELECT {key} AS _key, max(latency_us) / min(latency_us) AS told FROM {family.table} WHERE latency_us > 0 GROUP BY 1 "  # noqa: S608
        f'HAVING count(*) >= {_POINTS} AND max("{axis}")::DOUBLE >= {_GROWTH} * greatest(min("{axis}"), 1)::DOUBLE '
        f"AND max(latency_us) < {_RATIO} * min(latency_us)"
    )
    return (
        f"SELECT t.* EXCLUDE (_key), f.told FROM (SELECT *, {key} AS _key FROM {family.table}) t "  # noqa: S608
        f"JOIN ({flat}) f ON t._key = f._key WHERE latency_us > 0"
    )


RULE = Rule(
    name="flat-in-size@1",
    question="Does a series take the same time at every size?",
    severity="note",
    threshold=f"slowest within {_RATIO:g} times the fastest over {_POINTS} sizes or more that grow {_GROWTH}-fold",
    groups=("system", "engine", "dir_version", "kernel_label"),
    matched=_matched,
    unit="slowest over fastest",
)
