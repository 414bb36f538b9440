"""Write an answer as plain values, for JSON (schema ``dayzero/fit/v2``)."""

from decimal import Decimal

from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Proven, Refuted, Undecided, Verdict
from dayzero.fit.cheapest import Remedy
from dayzero.fit.compare import Comparison, Row
from dayzero.fit.memory_log import GIB
from dayzero.fit.model import Component, RankBudget, Report
from dayzero.fit.sweep import Swept

_DIGITS = 4


def verdict_name(verdict: Verdict) -> str:
    """Say the answer in the words of this question."""
    match verdict:
        case Proven():
            return "fits"
        case Refuted():
            return "does-not-fit"
        case Undecided():
            return "undecided"


def of_report(report: Report) -> dict[str, object]:
    """Write the answer, one entry for each kind of rank."""
    return {
        "verdict": verdict_name(report.verdict),
        "state": report.state.value,
        "reason": report.verdict.reason,
        "places": [str(place) for place in report.verdict.places],
        "headroom_gib": gib(report.headroom) if report.ranks else None,
        "headroom_tokens": headroom_tokens(report),
        "kv_tokens": report.kv_tokens,
        "context_tokens": report.context_tokens or None,
        "max_concurrency": report.max_concurrency,
        "per_gpu": [_rank(rank) for rank in report.ranks],
        "notes": list(notes(report)),
        "advisories": list(report.advisories),
    }


def notes(report: Report) -> tuple[str, ...]:
    """Give the notes of an answer; with one on what an engine reports when the weights alone are more than is free."""
    over = next((rank for rank in report.ranks if rank.figure(Component.WEIGHTS).low > rank.free), None)
    if over is None:
        return report.notes
    weights, free = over.figure(Component.WEIGHTS).size, over.free
    said = (
        f"such a start runs out while it loads: what it then reports as allocated is close to the {free} that were free"
    )
    return (*report.notes, f"{said}, not the {weights} that the weights need")


def headroom_tokens(report: Report) -> int | None:
    """Give the tokens that the cache holds beyond one request of the whole context; ``None`` where it is not known."""
    return None if report.kv_tokens is None else report.kv_tokens - report.context_tokens


def of_formulas(report: Report) -> list[dict[str, object]]:
    """Write every formula with its numbers."""
    return [
        {
            "rank": rank.rank,
            "name": formula.name,
            "expression": formula.expression,
            "bytes": formula.value.count,
            "source": formula.source,
        }
        for rank in report.ranks
        for formula in rank.formulas
    ]


def of_placements(report: Report) -> list[dict[str, object]]:
    """Write where every kind of tensor goes."""
    return [
        {
            "rank": rank.rank,
            "name": placement.name,
            "number": placement.number,
            "stored_bytes": placement.stored.count,
            "held_bytes": placement.held.count,
            "how": placement.how,
            "source": placement.source,
        }
        for rank in report.ranks
        for placement in rank.placements
    ]


def of_comparison(comparison: Comparison, name: str) -> dict[str, object]:
    """Write predicted beside actual.

    Args:
        comparison: The rows.
        name: How the log is called.
    """
    log, stated = comparison.log, comparison.log.stated
    return {
        "log": name,
        "engine": log.engine,
        "version": stated.version or None,
        "model": stated.model or None,
        "flags": list(stated.flags),
        "parallelism": dict(stated.parallelism),
        "started_line": log.started,
        "shortage": None if log.shortage is None else {"line": log.shortage.line, "text": log.shortage.text},
        "verdict": {"fits": "within-tolerance", "does-not-fit": "off"}.get(
            verdict_name(comparison.verdict), "undecided"
        ),
        "reason": comparison.verdict.reason,
        "rows": [_row(row) for row in comparison.rows],
    }


def of_remedies(remedies: tuple[Remedy, ...]) -> list[dict[str, object]]:
    """Write the changes that make it fit, the cheapest first."""
    return [
        {
            "change": remedy.words,
            "costs": remedy.costs,
            "flags": list(remedy.plan.flags),
            "system": remedy.plan.system.name,
            "context_tokens": remedy.report.context_tokens,
            "headroom_gib": gib(remedy.report.headroom),
            "kv_tokens": remedy.report.kv_tokens,
            "max_concurrency": remedy.report.max_concurrency,
        }
        for remedy in remedies
    ]


def of_swept(rows: tuple[Swept, ...]) -> list[dict[str, object]]:
    """Write a sweep."""
    return [
        {
            "system": row.plan.system.name,
            "tp": row.plan.parallelism.tp,
            "pp": row.plan.parallelism.pp,
            "dp": row.plan.parallelism.dp,
            "ep": row.plan.parallelism.ep,
            "gpus": row.plan.parallelism.ranks,
            "cost_gib": gib(row.cost),
            "verdict": verdict_name(row.report.verdict),
            "reason": row.report.verdict.reason,
            "weights_gib": row.weights_gib,
            "headroom_gib": gib(row.report.headroom) if row.report.ranks else None,
            "kv_tokens": row.report.kv_tokens,
            "max_concurrency": row.report.max_concurrency,
        }
        for row in rows
    ]


def gib(size: int | Bytes) -> float:
    """Write bytes in GiB."""
    return round((size.count if isinstance(size, Bytes) else size) / GIB, _DIGITS)


def _rank(rank: RankBudget) -> dict[str, object]:
    low, _, high = rank.needed
    return {
        "rank": rank.rank,
        "count": rank.count,
        **{f"{figure.component.value}_gib": gib(figure.size) for figure in rank.figures},
        "request_gib": gib(rank.request.size),
        "free_gib": gib(rank.free),
        "budget_gib": gib(rank.budget),
        "overcommitted_gib": gib(rank.overcommitted[1]),
        "headroom_gib": gib(rank.headroom),
        "needed_gib": [gib(low), gib(high)],
        "interval_gib": {figure.component.value: [gib(figure.low), gib(figure.high)] for figure in rank.figures},
        "basis": {figure.component.value: figure.basis for figure in rank.figures},
        "source": {
            **{figure.component.value: figure.source for figure in rank.figures},
            "request": rank.request.source,
            "free": rank.free_source,
        },
    }


def _row(row: Row) -> dict[str, object]:
    unit = "count" if row.counted else "gib"
    return {
        "name": row.name,
        "unit": unit,
        "predicted": _value(row.predicted, counted=row.counted),
        "actual": _value(row.actual, counted=row.counted),
        "line": row.line,
        "error_percent": None if row.error is None else round(float(row.error) * 100, 2),
        "tolerance": _value(row.tolerance, counted=row.counted),
        "within": row.within,
    }


def _value(value: Decimal | None, *, counted: bool) -> float | None:
    if value is None:
        return None
    return round(float(value if counted else value / GIB), _DIGITS)
