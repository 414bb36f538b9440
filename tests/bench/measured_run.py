"""A run as the exports and the report page get it: rows of a server that answers by a known rule, and their result."""

import random
from dataclasses import replace
from typing import Any

from dayzero.bench.metrics import METRICS, Figure, Summary, output_tok_s, summarise
from dayzero.bench.model import Row, Usage
from dayzero.core.verdict import Undecided

MS = 1_000_000


def rows(  # noqa: PLR0913  (all have a default)
    *, cell: str = "c4", streams: int = 4, warmup: int = 4, requests: int = 64, tokens: int = 16, seed: int = 7
) -> tuple[Row, ...]:
    """Simulate a closed loop: 50 ms to the first token, 10 ms a token, and a little noise."""
    dice = random.Random(seed)  # noqa: S311  (no secret)
    free, found = [stream * MS for stream in range(streams)], []
    for number in range(warmup + requests):
        stream = min(range(streams), key=free.__getitem__)
        sent = 1_000 * MS + free[stream]
        first = sent + round((50 + dice.expovariate(1)) * MS)
        content = [first]
        for _ in range(tokens - 1):
            content.append(content[-1] + round(dice.gauss(10, 0.2) * MS))
        planned = {"cell": cell, **_place(number, warmup)}
        found.append(_row(number, sent, tuple(content), dice, **planned))
        free[stream] = content[-1] + MS - 1_000 * MS
    return tuple(found)


def _place(number: int, warmup: int) -> dict[str, Any]:
    warm = number < warmup
    return {"phase": "warmup" if warm else "measured", "index": number if warm else number - warmup}


def _row(number: int, sent: int, content: tuple[int, ...], dice: random.Random, **planned: Any) -> Row:
    return Row(
        number=number,
        **planned,
        input_tokens=32,
        output_tokens=len(content),
        due_ns=sent,
        sent_ns=sent,
        sent_by_ns=sent + 20_000,
        first_byte_ns=content[0],
        first_event_ns=content[0],
        content_ns=content,
        answer_ns=content[0],
        censored=(),
        end_ns=content[-1] + MS // 2,
        lag_ns=round(dice.expovariate(1) * 60_000),
        new_connection=number < 4,
        status=200,
        usage=Usage(prompt_tokens=32, completion_tokens=len(content), cached_tokens=0),
        error="",
    )


def failed(row: Row, error: str = "connection reset") -> Row:
    return replace(row, content_ns=(), answer_ns=0, usage=None, error=error)


def document(measured: tuple[Row, ...], *, reasons: tuple[str, ...] = (), concurrency: int = 4) -> dict[str, object]:
    """Write the result of rows as ``dayzero bench --output-format json`` does."""
    names = list(dict.fromkeys(row.cell for row in measured))
    return {
        "schema": "dayzero/bench",
        "valid": not reasons,
        "invalid_because": list(reasons),
        "model": "tiny <model>",
        "engine": "llamacpp",
        "seed": 7,
        "cells": [_cell(name, [row for row in measured if row.cell == name], concurrency) for name in names],
        "client": {"name": "dayzero 0.1.0", "lag_ms": {"p50": 0.04, "p99": 0.31, "max": None}, "cores": 2},
        "notes": [],
    }


def _cell(name: str, of_cell: list[Row], concurrency: int) -> dict[str, Any]:
    measured = [row for row in of_cell if row.phase == "measured"]
    summaries = [summarise(metric, measured) for metric in METRICS]
    return {
        "name": name,
        "concurrency": concurrency,
        "input_tokens": 32,
        "output_tokens": 16,
        "measured": len(measured),
        "failed": sum(not row.ok for row in measured),
        "metrics": {
            **{summary.metric.name: _metric(summary) for summary in summaries},
            "output_tok_s": _value(output_tok_s(measured)),
        },
    }


def _metric(summary: Summary) -> dict[str, Any]:
    undecided = {name: figure.reason for name, figure in summary.figures if isinstance(figure, Undecided)}
    figures = {name: _value(figure) for name, figure in summary.figures}
    return {"unit": summary.metric.unit, **figures, "n": summary.requests, "undecided": undecided}


def _value(figure: Figure) -> float | None:
    return None if isinstance(figure, Undecided) else figure
