"""Rows that took no time at all."""

from dayzero.perfdb.model import Family
from dayzero.perfdb.rules.rule import Rule


def _matched(family: Family) -> str:
    return f"SELECT *, latency_us AS told FROM {family.table} WHERE latency_us = 0"  # noqa: S608


RULE = Rule(
    name="zero-latency@1",
    question="Are there rows that took no time, such as differences and calibrations that do not say so?",
    severity="note",
    threshold="more than 0 us",
    groups=("engine", "dir_version", "op_name"),
    matched=_matched,
    unit="us",
)
