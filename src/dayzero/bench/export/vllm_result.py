"""The JSON result of ``vllm bench serve --save-result --save-detailed``, one file a cell, for scripts that plot those."""

import json
from itertools import pairwise
from typing import Final

from dayzero.bench.export.model import ExportFormat, MeasuredRun
from dayzero.bench.foreign.fields import items, number, text, whole
from dayzero.bench.model import Row

_NS_PER_S: Final = 1_000_000_000
_STATISTICS: Final = (("mean", "mean"), ("median", "p50"), ("p90", "p90"), ("p99", "p99"))
_METRICS: Final = (("ttft", "ttft_ms"), ("tpot", "tpot_ms"), ("itl", "itl_ms"))


def vllm_result(run: MeasuredRun, cell: object) -> dict[str, object]:
    """Write one cell.

    A figure that is undecided is null: gaps between chunks are never given as ``itl``. ``e2el`` is left out: ours ends with the
    response, theirs with the text.
    """
    rows = run.measured(text(cell, "name"))
    good = [row for row in rows if row.ok]
    elapsed_s = (
        max((row.end_ns for row in rows), default=0) - min((row.sent_ns for row in rows), default=0)
    ) / _NS_PER_S
    prompt = sum(row.usage.prompt_tokens for row in good if row.usage)
    output = sum(row.usage.completion_tokens for row in good if row.usage)
    return {
        "backend": "openai",
        "endpoint_type": "openai",
        "label": f"dayzero {run.version}",
        "model_id": text(run.document, "model"),
        "tokenizer_id": None,
        "num_prompts": len(rows),
        "request_rate": number(cell, "load", "rate_per_s") or "inf",
        "burstiness": 1.0,
        "max_concurrency": whole(cell, "concurrency"),
        "duration": elapsed_s,
        "completed": len(good),
        "failed": len(rows) - len(good),
        "total_input_tokens": prompt,
        "total_output_tokens": output,
        "request_throughput": _rate(len(good), elapsed_s),
        "request_goodput": None,
        "output_throughput": number(cell, "metrics", "output_tok_s"),
        "total_token_throughput": _rate(prompt + output, elapsed_s),
        **_detail(rows),
        **{
            f"{theirs}_{metric}_ms": number(cell, "metrics", name, ours)
            for metric, name in _METRICS
            for theirs, ours in _STATISTICS
        },
    }


def _detail(rows: tuple[Row, ...]) -> dict[str, object]:
    return {
        "input_lens": [row.usage.prompt_tokens if row.usage else 0 for row in rows],
        "output_lens": [row.usage.completion_tokens if row.usage else 0 for row in rows],
        "ttfts": [(row.content_ns[0] - row.sent_ns) / _NS_PER_S if row.content_ns else 0.0 for row in rows],
        "itls": [[(later - earlier) / _NS_PER_S for earlier, later in pairwise(row.content_ns)] for row in rows],
        "start_times": [row.sent_ns / _NS_PER_S for row in rows],
        "errors": [row.error for row in rows],
    }


def _rate(count: int, elapsed_s: float) -> float | None:
    return count / elapsed_s if elapsed_s > 0 else None


def _files(run: MeasuredRun) -> tuple[tuple[str, bytes], ...]:
    return tuple(
        (f"vllm-{text(cell, 'name')}.json", json.dumps(vllm_result(run, cell)).encode() + b"\n")
        for cell in items(run.document, "cells")
    )


FORMAT: Final = ExportFormat(
    name="vllm", title="the JSON result of vllm bench serve, one file a cell", figures=True, files=_files
)
