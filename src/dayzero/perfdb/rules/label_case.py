"""Rows whose engine is spelled unlike most rows spell it."""

from dayzero.perfdb.model import Family
from dayzero.perfdb.rules.rule import Rule

# How most rows spell each engine. Source: the framework columns of aiconfigurator-core 0.12.0.
_SPELLINGS = ("SGLang", "TRTLLM", "VLLM")


def _matched(family: Family) -> str:
    usual = ", ".join(f"'{name}'" for name in _SPELLINGS)
    lower = ", ".join(f"'{name.lower()}'" for name in _SPELLINGS)
    return (
        f"SELECT *, NULL::DOUBLE AS told FROM {family.table} WHERE lower(framework) IN ({lower}) "  # noqa: S608
        f"AND framework NOT IN ({usual})"
    )


RULE = Rule(
    name="label-case@1",
    question="Is one engine spelled in several ways?",
    severity="note",
    threshold=f"the spelling of most rows: {', '.join(_SPELLINGS)}",
    groups=("engine", "framework"),
    matched=_matched,
)
