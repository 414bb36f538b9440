"""Recompute what another tool printed, out of its own records, and say what can be said of it."""

import math
from collections.abc import Sequence

from dayzero.bench.foreign.findings import shared_findings
from dayzero.bench.foreign.model import Comparison, Definition, Finding, Judged, Printed, Reading, Sample, Tool
from dayzero.bench.metrics import METRICS, output_tok_s, percentile, sample, statistic
from dayzero.core.verdict import Refuted, Undecided

_WHOLE = 100
_ENDS_ONLY = frozenset({"itl_ms", "chunk_gap_ms"})
_NEED_TOKENS = frozenset({"itl_ms", "tpot_ms", "output_tok_s"})
_NO_TOKENS = Undecided("the files keep no token counts of single requests")
_NOT_KEPT = Undecided("the files keep no records of it")
_NO_EQUAL = Undecided("no such figure of ours")


def judge(tool: Tool, reading: Reading) -> Judged:
    """Compare every printed figure, look for what speaks against them, and reach a verdict.

    The verdict is on the statement that the figures can be believed. It is never proven: what happened on the wire and in
    the client is not in the files.
    """
    known = {definition.printed: definition for definition in tool.definitions}
    comparisons = tuple(_compare(printed, known[printed.name], reading) for printed in reading.printed)
    found = (*reading.findings, *_contradictions(comparisons, reading), *shared_findings(reading))
    ordered = tuple(sorted(found, key=lambda finding: not finding.refutes))
    against = [finding for finding in ordered if finding.refutes]
    verdict = Refuted("; ".join(finding.sentence for finding in against)) if against else Undecided(_unknown(reading))
    return Judged(reading=reading, comparisons=comparisons, findings=ordered, verdict=verdict)


def recomputed(kept: Sample, name: str, *, nearest: bool) -> float:
    """Compute a statistic by another tool's own rule.

    Args:
        kept: Its values, at least one.
        name: ``mean``, or a percentile written ``pN``.
        nearest: Pick the smallest value that enough weight does not exceed, instead of interpolating.
    """
    weights = kept.weights or (1,) * len(kept.values)
    pairs = sorted(zip(kept.values, weights, strict=True))
    total = sum(weights)
    if name == "mean":
        return math.fsum(value * weight for value, weight in pairs) / total
    p = float(name.removeprefix("p"))
    if not nearest:
        return percentile([value for value, _ in pairs], p)
    reached = 0
    for value, weight in pairs:
        reached += weight
        if reached >= p / _WHOLE * total - 1e-9:  # the sum of the tool's floats reaches a bound that it should meet
            return value
    return pairs[-1][0]


def _compare(printed: Printed, definition: Definition, reading: Reading) -> Comparison:
    kept = reading.samples.get(printed.name)
    records: float | Undecided = _NOT_KEPT
    if kept is not None and kept.values and sum(kept.weights or (1,)):
        records = recomputed(kept, printed.statistic, nearest=reading.quantile == "nearest")
    return Comparison(
        printed=printed, definition=definition, records=records, ours=_ours(definition, printed.statistic, reading)
    )


def _ours(definition: Definition, name: str, reading: Reading) -> float | Undecided:
    if definition.agreement == "none":
        return _NO_EQUAL
    if not reading.rows:
        return Undecided("the files keep no stamps of single requests")
    if definition.ours in _NEED_TOKENS and all(row.usage is None for row in reading.rows):
        return _NO_TOKENS
    if definition.ours == "output_tok_s":
        return output_tok_s(reading.rows)
    if definition.ours in _ENDS_ONLY and reading.stamps != "every chunk":
        return Undecided("the files keep the first and last stamp of a request only")
    metric = next(metric for metric in METRICS if metric.name == definition.ours)
    refusal = metric.refusal(tuple(row for row in reading.rows if row.ok))
    return statistic(name, sample(metric, reading.rows)) if refusal is None else refusal


def _contradictions(comparisons: Sequence[Comparison], reading: Reading) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            "records-contradict",
            f"{reading.tool} printed {_named(comparison.printed)} {comparison.printed.value:.6g} {comparison.printed.unit}; "
            f"from its own records it is {comparison.records:.6g}",
            refutes=True,
        )
        for comparison in comparisons
        if not isinstance(comparison.records, Undecided)
        and not math.isclose(comparison.printed.value, comparison.records, rel_tol=reading.tolerance, abs_tol=0.005)
    )


def _named(printed: Printed) -> str:
    return f"{printed.name} {printed.statistic}"


def _unknown(reading: Reading) -> str:
    clock = ", on a clock that can step" if reading.clock == "wall" else ""
    return (
        "nothing in the files contradicts the figures, and nothing in them can prove these: stamps are the client's own"
        f"{clock}, so how late it was is not recorded"
    )
