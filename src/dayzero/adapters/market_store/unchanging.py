"""Rows that were read once and never change: what is on offer, and who is here."""

from typing import TypeAlias

from dayzero.market.model import Value, Values

Question: TypeAlias = tuple[str, frozenset[tuple[str, Value]]]
_UNCHANGING = frozenset(
    {"account", "ledger_account", "package_version", "price_tier", "product", "terms", "terms_affirmation"}
)
_KEPT = 4096


class Unchanging:
    """Answers that stay as they are, shared between transactions."""

    def __init__(self) -> None:
        self._answers: dict[Question, tuple[Values, ...]] = {}

    def find(self, question: Question) -> tuple[Values, ...]:
        """Answer a question; nothing where it was not asked yet, or its answer might change."""
        return self._answers.get(question, ())

    def keep(self, table: str, equal: Values, found: tuple[Values, ...]) -> None:
        """Keep an answer, where it stays as it is."""
        if found and lasting(table, equal):
            if len(self._answers) >= _KEPT:
                self._answers.clear()
            self._answers[named(table, equal)] = found


def named(table: str, equal: Values) -> Question:
    """Name a question: the table, and the values that its rows have."""
    return (table, frozenset(equal.items()))


def lasting(table: str, equal: Values) -> bool:
    """Say whether what is read stays as it is: one row by its name, or the affirmations of terms, which come with them."""
    if table == "terms_affirmation":
        return equal.keys() == {"terms_id"}
    return table in _UNCHANGING and ("id" in equal or equal.keys() == {"owner_id", "kind", "provider", "currency"})
