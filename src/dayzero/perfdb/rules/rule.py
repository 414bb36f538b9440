"""What a rule is: a name, and a SELECT of the rows that it finds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dayzero.perfdb.model import Family

Severity: TypeAlias = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule.

    Attributes:
        name: Its name and version; a changed rule gets a new version.
        question: What it asks, in a sentence.
        severity: ``error`` where the rows should not be used, ``warning`` where it depends, ``note`` for the rest.
        threshold: What it holds rows against, in words.
        groups: Columns by which findings are told apart.
        matched: Writes the SELECT of a table's matched rows with all their columns and a number ``told``, what was measured on
            each; ``None`` where the rule does not concern the table.
        unit: What ``told`` is, as it is printed after it.
    """

    name: str
    question: str
    severity: Severity
    threshold: str
    groups: tuple[str, ...]
    matched: Callable[[Family], str | None]
    unit: str = ""


def columns(names: Sequence[str], prefix: str = "") -> str:
    """Write a list of columns."""
    return ", ".join(f'{prefix}"{name}"' for name in names) or "0"
