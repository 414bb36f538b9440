"""Compare a budget with what is there."""

from dayzero.core.hardware import HostMemory
from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Place, Proven, Refuted, Undecided, Verdict
from dayzero.fit.model import Report, Term


def fit(terms: tuple[Term, ...], memory: HostMemory) -> Report:
    """Say whether the terms fit into the memory that is available now, with the margin.

    Args:
        terms: What one instance allocates; none at all leaves the answer undecided.
        memory: The machine's memory.
    """
    needed = Bytes(sum(term.size.count for term in terms))
    return Report(terms=terms, memory=memory, verdict=_verdict(terms, needed, memory))


def _verdict(terms: tuple[Term, ...], needed: Bytes, memory: HostMemory) -> Verdict:
    place = (Place(artifact="", file=memory.source),)
    if not terms:
        return Undecided("the engine's memory model gave no term", place)
    if needed > memory.available:
        short = Bytes(needed.count - memory.available.count)
        return Refuted(f"needs {needed}, {memory.available} available: {short} short", place)
    spare = Bytes(memory.available.count - needed.count)
    return Proven(f"needs {needed} of {memory.available} available, {spare} to spare", place)
