"""Rows over a floor: the fastest of them is far slower than the fastest of another backend or build of the same kernel."""

from collections.abc import Sequence

from dayzero.perfdb.model import Family
from dayzero.perfdb.rules.rule import Rule, columns

_FACTOR, _ROWS = 10, 20
_MODEL = frozenset({"model", "model_name", "architecture"})  # names of models are not part of what a kernel does


def _matched(family: Family) -> str:
    names = ("op_name", "kernel_label", *(name for name in family.lane if name not in _MODEL))
    lane = columns(names)
    on = _equal("a", "b", ("system", *names))
    back = _equal("t", "f", ("system", "engine", "dir_version", *names))
    return (
        f"WITH g AS (SELECT system, engine, dir_version, {lane}, min(latency_us) AS low, count(*) AS n FROM {family.table} "  # noqa: S608
        f"WHERE latency_us > 0 GROUP BY ALL HAVING n >= {_ROWS}), "
        f"f AS (SELECT a.* EXCLUDE (low, n), a.low / b.low AS told FROM g a JOIN g b ON {on} AND a.low > {_FACTOR} * b.low "
        f"QUALIFY row_number() OVER (PARTITION BY a.system, a.engine, a.dir_version, {columns(names, 'a.')} ORDER BY b.low) = 1) "
        f"SELECT t.*, f.told FROM {family.table} t JOIN f ON {back}"
    )


def _equal(left: str, right: str, names: Sequence[str]) -> str:
    return " AND ".join(f'{left}."{name}" IS NOT DISTINCT FROM {right}."{name}"' for name in names)


RULE = Rule(
    name="backend-floor@1",
    question="Is the fastest row of a kernel far above that of the same kernel on the same system elsewhere?",
    severity="error",
    threshold=f"{_FACTOR} times the fastest row of another backend or build, each with at least {_ROWS} rows",
    groups=("system", "engine", "dir_version", "kernel_label"),
    matched=_matched,
    unit="times the other's fastest row",
)
