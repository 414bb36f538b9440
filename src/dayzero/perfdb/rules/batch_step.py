"""Rows of one sequence that are far faster than half of two: work cannot explain that, a sequence that was skipped can."""

from dayzero.perfdb.model import Family
from dayzero.perfdb.rules.rule import Rule, columns

_BATCH = "batch_size"
_SERIES, _TENTH = 20, 0.1
_MOST = 2.0  # that work can explain: a second sequence costs what the first did


def _matched(family: Family) -> str | None:
    if _BATCH not in family.axes:
        return None
    lane = f"hash({columns(('system', 'engine', 'dir_version', 'op_name', 'kernel_label', *family.lane))})"
    key = f"hash(source, {columns([name for name in family.key if name != _BATCH])})"
    pairs = (
        f"SELECT {key} AS _key, any_value({lane}) AS _lane, "  # noqa: S608  (names of a table's own columns)
        f"median(latency_us) FILTER ({_BATCH} = 2) / median(latency_us) FILTER ({_BATCH} = 1) AS told "
        f"FROM {family.table} WHERE {_BATCH} IN (1, 2) AND latency_us > 0 GROUP BY 1 HAVING count(DISTINCT {_BATCH}) = 2"
    )
    steep = f"SELECT _lane FROM ({pairs}) GROUP BY 1 HAVING count(*) >= {_SERIES} AND quantile_cont(told, {_TENTH}) > {_MOST}"  # noqa: S608
    return (
        f"SELECT t.* EXCLUDE (_key), p.told FROM (SELECT *, {key} AS _key FROM {family.table} WHERE {_BATCH} = 1) t "  # noqa: S608
        f"JOIN ({pairs}) p ON t._key = p._key WHERE p.told > {_MOST} AND p._lane IN ({steep}) AND latency_us > 0"
    )


RULE = Rule(
    name="batch-step@1",
    question="Do two sequences take more than twice the time of one, all over a lane?",
    severity="warning",
    threshold=f"{_MOST:g} times the time of one sequence, exceeded in nine in ten of {_SERIES} series or more",
    groups=("system", "engine", "dir_version", "kernel_label"),
    matched=_matched,
    unit="times as long for two",
)
