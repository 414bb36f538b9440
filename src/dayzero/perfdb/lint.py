"""Hold all rows to the rules, and say of each finding which rows it is about."""

from collections.abc import Iterator, Sequence

from dayzero.core.errors import InputError
from dayzero.perfdb.model import Family, Finding, Import, Match
from dayzero.perfdb.ports import Rows, Value
from dayzero.perfdb.row_hash import hash_columns, hash_text
from dayzero.perfdb.rules import (
    backend_floor,
    batch_step,
    below_bound,
    duplicate_key,
    flat_series,
    label_case,
    link_bound,
    monotonicity,
    substitution,
    version_differs,
    wrong_device,
    zero_latency,
)
from dayzero.perfdb.rules.rule import Rule, columns

RULES = (
    version_differs.RULE,
    duplicate_key.RULE,
    wrong_device.RULE,
    label_case.RULE,
    backend_floor.RULE,
    batch_step.RULE,
    flat_series.RULE,
    monotonicity.RULE,
    below_bound.RULE,
    link_bound.RULE,
    substitution.RULE,
    zero_latency.RULE,
)


def lint(made: Import, rows: Rows, names: Sequence[str] = ()) -> tuple[Finding, ...]:
    """Hold the rows of an import to the rules.

    Args:
        made: The import.
        rows: Its rows.
        names: Rules to hold them to, with or without version; all where none is named.

    Returns:
        Findings by rule, then by table, those with most rows first.

    Raises:
        InputError: There is no such rule.
    """
    return tuple(
        finding for rule in chosen(names) for family in made.families for finding in _findings(rule, family, rows)
    )


def chosen(names: Sequence[str]) -> tuple[Rule, ...]:
    """Look rules up by name.

    Raises:
        InputError: There is no such rule.
    """
    known = {rule.name.split("@")[0]: rule for rule in RULES} | {rule.name: rule for rule in RULES}
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise InputError(f"no rule {unknown!r}", hint=f"There are {', '.join(rule.name for rule in RULES)}.")
    return tuple(known[name] for name in names) if names else RULES


def _findings(rule: Rule, family: Family, rows: Rows) -> Iterator[Finding]:
    matched = rule.matched(family)
    if matched is None:
        return
    first, second = hash_columns(family)
    sql = (
        f"SELECT {columns(rule.groups)}, count(*) AS n, {first}, {second}, median(told), min(told), max(told), "  # noqa: S608
        f"min((source::UBIGINT << 32) + row) FROM ({matched}) GROUP BY {columns(rule.groups)} ORDER BY n DESC"
    )
    for row in rows.ask(sql):
        yield _finding(rule, family, row)


def _told(rule: Rule, measured: tuple[str, str, str]) -> str:
    median, low, high = measured
    return f"{median} {rule.unit}" + (f", from {low} to {high}" if low != high else "")


def _finding(rule: Rule, family: Family, row: tuple[Value, ...]) -> Finding:
    groups = len(rule.groups)
    count, first, second, median, low, high, place = row[groups:]
    source, ordinal = divmod(int(str(place)), 2**32)
    where = tuple(
        f"{name}={'null' if value is None else value}" for name, value in zip(rule.groups, row[:groups], strict=True)
    )
    return Finding(
        rule=rule.name,
        severity=rule.severity,
        table=family.table,
        where=where,
        match=Match(rows=int(str(count)), hash=hash_text(first, second)),
        value="" if median is None else _told(rule, (f"{median:.4g}", f"{low:.4g}", f"{high:.4g}")),
        threshold=rule.threshold,
        example=f"{family.sources[source].path}, row {ordinal}",
    )
