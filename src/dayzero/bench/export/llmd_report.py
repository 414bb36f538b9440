"""llm-d's benchmark report, schema version 0.2.1, one JSON file a cell.

Source: llm-d-benchmark, benchmark-report/llmd_benchmark_report/br_v0_2_1_json_schema.json, commit ef9208a. Its objects take no
further fields, so our definitions and reasons have no place in them: such a file is written of a valid run only.
"""

import hashlib
import json
from collections.abc import Sequence
from statistics import fmean
from typing import Final

from dayzero.bench.export.model import ExportFormat, MeasuredRun
from dayzero.bench.foreign.fields import items, number, text, whole
from dayzero.bench.model import Row

VERSION: Final = "0.2.1"
_NS_PER_S: Final = 1_000_000_000
_STATISTICS: Final = ("p50", "p90", "p99")
_LATENCIES: Final = (
    ("time_to_first_token", "ttft_ms", "ms"),
    ("time_per_output_token", "tpot_ms", "ms/token"),
    ("inter_token_latency", "itl_ms", "ms/token"),
    ("request_latency", "e2e_ms", "ms"),
)


def llmd_report(run: MeasuredRun, cell: object) -> dict[str, object]:
    """Write one cell as a benchmark report."""
    rows = run.measured(text(cell, "name"))
    elapsed_s = (
        max((row.end_ns for row in rows), default=0) - min((row.sent_ns for row in rows), default=0)
    ) / _NS_PER_S
    return {
        "version": VERSION,
        "run": {"uid": _uid(run, cell), "time": {"duration": f"PT{elapsed_s:.6f}S"}},
        "scenario": {"load": _load(run, cell)},
        "results": {
            "request_performance": {
                "aggregate": {
                    "requests": _requests(rows),
                    "latency": {
                        theirs: found
                        for theirs, name, unit in _LATENCIES
                        if (found := _statistics(cell, name, unit)) is not None
                    },
                    "throughput": _throughput(cell, rows, elapsed_s),
                }
            }
        },
    }


def _uid(run: MeasuredRun, cell: object) -> str:
    """Name the report by what it says: the same run exports to the same name."""
    content = json.dumps([run.document, cell], sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def _load(run: MeasuredRun, cell: object) -> dict[str, object]:
    return {
        "metadata": {"description": f"dayzero cell {text(cell, 'name')}"},
        "standardized": {
            "tool": "dayzero",
            "tool_version": run.version,
            "source": "random",
            "input_seq_len": {"distribution": "fixed", "value": whole(cell, "input_tokens") or 0},
            "output_seq_len": {"distribution": "fixed", "value": whole(cell, "output_tokens") or 0},
            "rate_qps": number(cell, "load", "rate_per_s"),
            "concurrency": whole(cell, "concurrency"),
        },
        "native": {"config": {"seed": whole(run.document, "seed")}},
    }


def _requests(rows: Sequence[Row]) -> dict[str, object]:
    counted = [row.usage for row in rows if row.ok and row.usage]
    found: dict[str, object] = {"total": len(rows), "failures": sum(not row.ok for row in rows)}
    if counted:
        found["input_length"] = {"units": "count", "mean": fmean(usage.prompt_tokens for usage in counted)}
        found["output_length"] = {"units": "count", "mean": fmean(usage.completion_tokens for usage in counted)}
    return found


def _statistics(cell: object, name: str, unit: str) -> dict[str, object] | None:
    mean = number(cell, "metrics", name, "mean")
    if mean is None:
        return None
    given = {p: number(cell, "metrics", name, p) for p in _STATISTICS}
    return {"units": unit, "mean": mean, **{p: value for p, value in given.items() if value is not None}}


def _throughput(cell: object, rows: Sequence[Row], elapsed_s: float) -> dict[str, object]:
    rates = (
        ("output_token_rate", "tokens/s", number(cell, "metrics", "output_tok_s")),
        ("request_rate", "queries/s", sum(row.ok for row in rows) / elapsed_s if elapsed_s > 0 else None),
    )
    return {name: {"units": unit, "mean": value} for name, unit, value in rates if value is not None}


def _files(run: MeasuredRun) -> tuple[tuple[str, bytes], ...]:
    return tuple(
        (
            f"benchmark_report-{text(cell, 'name')}.json",
            json.dumps(llmd_report(run, cell), indent=2, ensure_ascii=False).encode() + b"\n",
        )
        for cell in items(run.document, "cells")
    )


FORMAT: Final = ExportFormat(
    name="llm-d", title=f"llm-d's benchmark report {VERSION}, one file a cell", figures=True, files=_files
)
