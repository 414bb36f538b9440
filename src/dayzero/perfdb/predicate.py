"""Name rows by what their columns say. A predicate is data: it is checked, written out as SQL by us, and never run as it came."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.perfdb.model import Family

_TERM = re.compile(r"([a-z_][a-z0-9_]*)(!=|<=|>=|=|<|>)(.*)", re.DOTALL)
_HINT = "Write COLUMN=VALUE, with =, !=, <, <=, > or >=, as in kernel_label=causal_conv1d_fn_qkv3."
NULL = "null"
_REAL = frozenset({"DOUBLE", "FLOAT"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One comparison; the value ``null`` stands for a column without value."""

    column: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f"{self.column}{self.operator}{self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """Rows of one table for which all terms hold."""

    table: str
    terms: tuple[Term, ...]

    def sql(self, family: Family) -> str:
        """Write it as a SQL condition, each value as a literal of its column's type.

        Raises:
            InputError: The table has no such column, or the value is not of its type.
        """
        kinds = dict(family.columns)
        return " AND ".join(_condition(term, kinds, family.table) for term in self.terms) or "true"


def parse_terms(words: Sequence[str]) -> tuple[Term, ...]:
    """Read terms as they are typed.

    Raises:
        InputError: One is no term.
    """
    return tuple(_term(word) for word in words)


def _term(word: str) -> Term:
    found = _TERM.fullmatch(word.strip())
    if found is None or not found[3]:
        raise InputError(f"not a condition on a column: {word!r}", hint=_HINT)
    return Term(column=found[1], operator=found[2], value=found[3])


def _condition(term: Term, kinds: Mapping[str, str], table: str) -> str:
    kind = kinds.get(term.column)
    if kind is None:
        raise InputError(f"{table} has no column {term.column!r}", hint=f"It has {', '.join(kinds)}.")
    if term.value == NULL:
        if term.operator not in {"=", "!="}:
            raise InputError(f"nothing is {term.operator} null", hint=_HINT)
        return f'"{term.column}" IS {"NOT " if term.operator == "!=" else ""}NULL'
    return f'"{term.column}" {term.operator} {_literal(term, kind)}'


def _literal(term: Term, kind: str) -> str:
    if kind == "VARCHAR":
        return "'" + term.value.replace("'", "''") + "'"
    try:
        return _real(term.value) if kind in _REAL else _whole(term.value, kind)
    except ValueError as error:
        raise InputError(f"{term.column} is {kind}, and {term.value!r} is not", hint=_HINT) from error


def _real(text: str) -> str:
    """Write a number; infinity and what is none are no literals of SQL, and no latency."""
    if not math.isfinite(float(text)):
        raise ValueError
    return repr(float(text))


def _whole(text: str, kind: str) -> str:
    if kind == "BOOLEAN":
        return str(["false", "true"].index(text)).replace("0", "false").replace("1", "true")
    return str(int(text))
