"""Compare a budget with what is there."""

from dayzero.core.hardware import HostMemory
from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Place, Proven, Refuted, Undecided, Verdict
from dayzero.fit.checkpoint import Unknown
from dayzero.fit.model import Budget, Component, Figure, HostReport, RankBudget, Report, State, Term


def fit(budget: Budget | Unknown) -> Report:
    """Say whether every rank of a plan holds its weights, one request of the whole context, and what serving it takes."""
    if isinstance(budget, Unknown):
        return Report(
            verdict=Undecided(budget.reason, (budget.place,)),
            state=State.UNKNOWN,
            ranks=(),
            kv_tokens=None,
            context_tokens=0,
            max_concurrency=None,
            headroom=0,
        )
    tightest = min(budget.ranks, key=lambda rank: rank.headroom)
    answers = tuple(_rank_verdict(rank) for rank in budget.ranks)
    refuted = next((answer for answer in answers if isinstance(answer, Refuted)), None)
    undecided = next((answer for answer in answers if isinstance(answer, Undecided)), None)
    found = refuted or undecided or _rank_verdict(tightest)
    verdict = _short_of_proof(found, budget.uncounted)
    return Report(
        verdict=verdict,
        state=_state(verdict, budget.ranks[answers.index(found)]),
        ranks=budget.ranks,
        kv_tokens=None if isinstance(verdict, Refuted) else budget.kv_tokens,
        context_tokens=budget.context_tokens,
        max_concurrency=None if isinstance(verdict, Refuted) else budget.max_concurrency,
        headroom=tightest.headroom,
        notes=budget.notes,
        advisories=budget.advisories,
    )


def fit_host(terms: tuple[Term, ...], memory: HostMemory) -> HostReport:
    """Say whether the terms fit into the host memory that is available now, with the margin.

    Args:
        terms: What one instance allocates; none at all leaves the answer undecided.
        memory: The machine's memory.
    """
    needed = Bytes(sum(term.size.count for term in terms))
    return HostReport(terms=terms, memory=memory, verdict=_host_verdict(terms, needed, memory))


def _host_verdict(terms: tuple[Term, ...], needed: Bytes, memory: HostMemory) -> Verdict:
    place = (Place(artifact="", file=memory.source),)
    if not terms:
        return Undecided("the engine's memory model gave no term", place)
    if needed > memory.available:
        short = Bytes(needed.count - memory.available.count)
        return Refuted(f"needs {needed}, {memory.available} available: {short} short", place)
    spare = Bytes(memory.available.count - needed.count)
    return Proven(f"needs {needed} of {memory.available} available, {spare} to spare", place)


def _rank_verdict(rank: RankBudget) -> Verdict:
    (low, _, high), place = rank.needed, (Place(artifact="", file=rank.free_source),)
    if low > rank.limit_high:
        short = Bytes(low.count - rank.limit_high.count)
        at_least = "" if low == high else "at least "
        return Refuted(f"{rank.rank} needs {at_least}{low} and may use {rank.limit_high}: {short} short", place)
    cache = rank.figure(Component.KV_CACHE).size
    if rank.stated and cache < rank.request.size:
        return Refuted(
            f"{rank.rank} sets {cache} aside for the cache, and one request takes {rank.request.size}", place
        )
    least, likeliest = rank.overcommitted
    why = f"the engine sets {rank.figure(Component.KV_CACHE).size} aside for its cache, and allocates {rank.late} afterwards"
    if least.count:
        return Refuted(f"{rank.rank} runs out by at least {least} of {rank.free}: {why}", place)
    if likeliest.count:
        return Undecided(f"{rank.rank} may run out, by the likely values {likeliest} of {rank.free}: {why}", place)
    if high <= rank.limit_low:
        spare = Bytes(rank.limit_low.count - high.count)
        most = "" if low == high else "at most "
        return Proven(f"{rank.rank} needs {most}{high} and may use {rank.limit_low}: {spare} to spare", place)
    margin = Bytes(abs(rank.headroom))
    side = "to spare" if rank.headroom >= 0 else "short"
    return Undecided(
        f"{rank.rank} needs {low} to {high} and may use {_span(rank)}: by the likely values {margin} {side}",
        place,
    )


def _short_of_proof(verdict: Verdict, uncounted: tuple[str, ...]) -> Verdict:
    """Take a proof back where something is not counted."""
    if not isinstance(verdict, Proven) or not uncounted:
        return verdict
    return Undecided(f"not counted: {', '.join(uncounted)}; without it, {verdict.reason}", verdict.places)


def _span(rank: RankBudget) -> str:
    if rank.limit_low == rank.limit_high:
        return str(rank.limit)
    low, high = sorted((rank.limit_low, rank.limit_high))
    return f"{low} to {high}"


def _state(verdict: Verdict, rank: RankBudget) -> State:
    weights = rank.figure(Component.WEIGHTS)
    match verdict:
        case Proven():
            return State.MEASURED_FITS if _all_measured(rank.figures) else State.COMPUTED_FITS
        case Refuted() if weights.low > rank.limit_high:
            return _does_not_fit(measured=weights.basis == "measured")
        case Refuted():
            return _does_not_fit(measured=_all_measured(rank.figures))
        case Undecided():
            return State.UNKNOWN


def _does_not_fit(*, measured: bool) -> State:
    return State.MEASURED_DOES_NOT_FIT if measured else State.COMPUTED_DOES_NOT_FIT


def _all_measured(figures: tuple[Figure, ...]) -> bool:
    """Say whether all that is not the cache was measured; the cache is sized by rule from the rest."""
    return all(figure.basis == "measured" for figure in figures if figure.component is not Component.KV_CACHE)
