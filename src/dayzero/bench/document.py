"""Write a report as a JSON document, schema ``dayzero/bench/v2``. The format: docs/reference/bench.md."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

from dayzero.bench.metrics import DEFINITIONS, METRICS, RATES, Definition, Figure, Summary, percentile
from dayzero.bench.model import ClientLoad, Environment
from dayzero.bench.report import CellReport, Report
from dayzero.bench.validity import Judgement
from dayzero.core.verdict import Undecided, verdict_word
from dayzero.core.workload import Cell, Replay

SCHEMA: Final = "dayzero/bench/v2"

_DECIMALS: Final = 6
_NS_PER_MS: Final = 1_000_000
_PER_1K: Final = 1000


def of_report(
    report: Report, *, model: str, engine: str, rows_file: str, notes: Sequence[str] = ()
) -> dict[str, object]:
    """Write the whole report.

    Args:
        report: What was measured.
        model: Model that was asked for.
        engine: Engine that answered, ``""`` when none was recognised.
        rows_file: Where the rows stand.
        notes: Notes besides the report's own.
    """
    cells = [of_cell(cell) for cell in report.cells]
    return {
        "schema": SCHEMA,
        "valid": report.valid,
        "invalid_because": list(report.invalid_because),
        "model": model,
        "engine": engine,
        "seed": report.seed,
        # The figures of a run of one cell stand where a script looks for them first.
        **({"metrics": cells[0]["metrics"]} if len(cells) == 1 else {}),
        "cells": cells,
        "client": of_client(report.client, report.environment, tokens=report.tokens),
        "definitions": DEFINITIONS,
        "validity": [of_judgement(judgement) for judgement in report.judgements],
        "notes": [*notes, *report.notes],
        "rows": rows_file,
    }


def of_client(client: ClientLoad, environment: Environment, *, tokens: int) -> dict[str, object]:
    """Write what measured, and what that cost.

    Args:
        client: What measuring cost.
        environment: Where the client ran.
        tokens: Tokens that were generated for it, both phases.
    """
    return {
        "name": environment.client,
        "sha256": environment.client_sha256,
        "stamps": environment.stamps,
        "cores": environment.cores,
        "kept_on_core": environment.core,
        "load_average_before": round(environment.load_before, 2),
        "load_average_after": round(environment.load_after, 2),
        "lag_ms": lag(client.lag_ms),
        "window_s": round(client.window_s, 3),
        "cpu_s": round(client.cpu_s, 3),
        "waited_s": round(client.waited_s, 3),
        "cpu_s_per_1k_tokens": round(client.cpu_s / tokens * _PER_1K, 5) if tokens else None,
        "total_cpu_s": round(client.total_cpu_s, 3),
        "total_cpu_s_per_1k_tokens": round(client.total_cpu_s / tokens * _PER_1K, 5) if tokens else None,
        "memory_bytes": client.memory_bytes,
        "connections": client.connections,
        "clock_moved_ms": round(client.clock_moved_ns / _NS_PER_MS, 3),
    }


def of_judgement(judgement: Judgement) -> dict[str, object]:
    """Write one rule and what it found."""
    return {
        "rule": judgement.rule,
        "cell": judgement.cell,
        "asks": judgement.sentence,
        "bound": judgement.bound,
        "measured": judgement.measured,
        "verdict": verdict_word(judgement.verdict),
        "reason": "" if verdict_word(judgement.verdict) == "proven" else judgement.verdict.reason,
    }


def definitions() -> list[dict[str, object]]:
    """Write the table of definitions."""
    entries: tuple[Definition, ...] = (*METRICS, *RATES)
    return [
        {"name": entry.name, "unit": entry.unit, "formula": entry.formula, "stamps": list(entry.stamps)}
        for entry in entries
    ]


def lag(ordered: Sequence[float]) -> dict[str, object]:
    """Summarise how late the client was, from sorted samples in milliseconds."""
    if not ordered:
        return {"p50": None, "p90": None, "p99": None, "max": None, "n": 0}
    figures: dict[str, object] = {f"p{p}": round(percentile(ordered, p), 3) for p in (50, 90, 99)}
    return figures | {"max": round(ordered[-1], 3), "n": len(ordered)}


def of_plan(cell: Cell) -> dict[str, object]:
    """Write a cell as it was planned; of a trace only how much it holds."""
    load: Mapping[str, object] = (
        {"requests": len(cell.load.arrivals), "speed": cell.load.speed}
        if isinstance(cell.load, Replay)
        else asdict(cell.load)
    )
    return {
        "name": cell.name,
        "load": {"kind": type(cell.load).__name__, **load},
        "concurrency": cell.concurrency,
        "requests": cell.requests,
        "warmup_requests": cell.warmup_requests,
        "input_tokens": cell.input_tokens,
        "output_tokens": cell.output_tokens,
        "turns": cell.turns,
        "think_s": cell.think_s,
        "shared_prefix_tokens": cell.shared_prefix_tokens,
        "slos": [asdict(slo) for slo in cell.slos],
    }


def of_cell(cell: CellReport) -> dict[str, object]:
    """Write one cell: its plan, its figures, and the reasons of those that are missing."""
    metrics: dict[str, object] = {summary.metric.name: _of_summary(summary) for summary in cell.summaries}
    metrics |= {rate.name: _number(figure) for rate, figure in cell.rates}
    return {
        **of_plan(cell.cell),
        "measured": cell.measured,
        "failed": cell.failed,
        "in_flight": round(cell.in_flight, 3),
        "metrics": metrics,
        "undecided": {rate.name: figure.reason for rate, figure in cell.rates if isinstance(figure, Undecided)},
        "invalid_because": list(cell.invalid_because),
    }


def _of_summary(summary: Summary) -> dict[str, object]:
    undecided = {name: figure.reason for name, figure in summary.figures if isinstance(figure, Undecided)}
    return {
        "unit": summary.metric.unit,
        **{name: _number(figure) for name, figure in summary.figures},
        "n": summary.requests,
        "values": summary.values,
        "unsure": summary.unsure,
        "left_out": summary.left_out,
        "undecided": undecided,
    }


def _number(figure: Figure) -> float | None:
    if isinstance(figure, Undecided) or not math.isfinite(figure):
        return None
    return round(figure, _DECIMALS)
