"""A memory budget and the answer it gives."""

from dataclasses import dataclass

from dayzero.core.hardware import HostMemory
from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One part of the budget: what takes the memory, how much, and where the figure comes from."""

    name: str
    size: Bytes
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The budget of one recipe on one machine."""

    terms: tuple[Term, ...]
    memory: HostMemory
    verdict: Verdict

    @property
    def needed(self) -> Bytes:
        """Sum of all terms."""
        return Bytes(sum(term.size.count for term in self.terms))
