"""guidellm: one JSON report with every request (``--output kind=json``)."""

from collections.abc import Sequence
from typing import Final

from dayzero.bench.foreign.fields import Object, at, items, looks_like, number, text, whole
from dayzero.bench.foreign.model import Asked, Definition, Files, Finding, Printed, Reading, Sample, Tool
from dayzero.bench.foreign.timing import Timing, between, rows

_NAME: Final = "guidellm"
_NS_PER_S: Final = 1_000_000_000
_MS_PER_S: Final = 1000
_PERCENTILES: Final = ("p50", "p90", "p95", "p99")
_LATENCY: Final = "request_latency"
_RATE: Final = "output_tokens_per_second"

_DEFINITIONS: Final = (
    Definition(
        printed="time_to_first_token_ms",
        ours="ttft_ms",
        agreement="same",
        formula="first chunk with text (reasoning too) - the request's headers are written",
        why="stamps are wall-clock time, which can step",
    ),
    Definition(
        printed="inter_token_latency_ms",
        ours="tpot_ms",
        agreement="differs",
        formula="(last chunk with text - first) / (output tokens - 1) of each request, weighted by its tokens",
        why="a time per output token, not a gap. Equal to ours, but for the weights, where each chunk is one token",
    ),
    Definition(
        printed="time_per_output_token_ms",
        ours="tpot_ms",
        agreement="differs",
        formula="(last chunk with text - request start) / output tokens",
        why="includes the time to first token",
    ),
    Definition(
        printed=_LATENCY,
        ours="e2e_ms",
        agreement="same",
        formula="response ended - request start",
        why="it stops reading at the stream's end mark and drops the connection; ours reads the response to its end",
    ),
    Definition(
        printed=_RATE,
        ours="output_tok_s",
        agreement="differs",
        formula="mean over time of the rate in each interval between token arrivals",
        why="ours counts what came while the load was full, over that time",
    ),
)


def _recognises(files: Files) -> bool:
    return any(text(looks_like(raw), "metadata", "guidellm_version") for raw in files.values())


def _read(files: Files) -> tuple[Reading, ...]:
    found: list[Reading] = []
    for raw in files.values():
        report = looks_like(raw)
        if version := text(report, "metadata", "guidellm_version"):
            found += [_reading(report, benchmark, version) for benchmark in items(report, "benchmarks")]
    return tuple(found)


def _reading(report: Object, benchmark: object, version: str) -> Reading:
    kept = items(benchmark, "requests", "successful")
    broken = [request for kind in ("errored", "incomplete") for request in items(benchmark, "requests", kind)]
    strategy = at(benchmark, "config", "strategy")
    streams = whole(strategy, "streams")
    return Reading(
        tool=_NAME,
        version=version,
        label=text(strategy, "type_") + ("" if streams is None else f"@{streams}"),
        asked=_asked(report, benchmark),
        printed=_printed(benchmark),
        samples=_samples(kept) if len(kept) == whole(benchmark, "metrics", "request_totals", "successful") else {},
        rows=rows([_timing(request) for request in (*kept, *broken)]),
        stamps="first and last",
        completed=whole(benchmark, "metrics", "request_totals", "successful") or 0,
        failed=(whole(benchmark, "metrics", "request_totals", "errored") or 0)
        + (whole(benchmark, "metrics", "request_totals", "incomplete") or 0),
        prompt_tokens=tuple(
            tokens for tokens in (whole(request, "prompt_tokens") for request in kept) if tokens is not None
        ),
        clock="wall",
        quantile="nearest",
        tolerance=1e-6,
        findings=_findings(benchmark, kept),
    )


def _asked(report: Object, benchmark: object) -> Asked:
    data = at(report, "config", "spec", "data", 0)
    config = at(benchmark, "config")
    warmup = number(config, "warmup", "value") or number(config, "warmup", "percent") or 0
    return Asked(
        concurrency=number(config, "strategy", "streams"),
        input_tokens=number(data, "prompt_tokens"),
        output_tokens=number(data, "output_tokens"),
        warmup=warmup,
        seed=whole(report, "config", "spec", "seed", "value")
        if text(report, "config", "spec", "seed", "kind") == "static"
        else None,
    )


def _printed(benchmark: object) -> tuple[Printed, ...]:
    found: list[Printed] = []
    for definition in _DEFINITIONS:
        figure = at(benchmark, "metrics", definition.printed, "successful")
        scale = _MS_PER_S if definition.printed == _LATENCY else 1
        unit = "tok/s" if definition.printed == _RATE else "ms"
        wanted = (("mean", number(figure, "mean")), *((p, number(figure, "percentiles", p)) for p in _PERCENTILES))
        found += [
            Printed(name=definition.printed, statistic=statistic, value=value * scale, unit=unit)
            for statistic, value in wanted
            if value is not None
            # Percentiles of a rate are over time, not over requests: nothing of ours stands beside them.
            and (statistic == "mean" or definition.printed != _RATE)
        ]
    return tuple(found)


def _samples(kept: Sequence[object]) -> dict[str, Sample]:
    found: dict[str, Sample] = {}
    for name, scale in (
        ("time_to_first_token_ms", 1),
        (_LATENCY, _MS_PER_S),
        ("inter_token_latency_ms", 1),
        ("time_per_output_token_ms", 1),
    ):
        pairs = [
            (value * scale, _weight(name, whole(request, "output_tokens") or 0))
            for request in kept
            if (value := number(request, name)) is not None
        ]
        found[name] = Sample(values=tuple(value for value, _ in pairs), weights=tuple(weight for _, weight in pairs))
    return found


def _weight(name: str, tokens: int) -> int:
    """Say how often a request counts in the printed figure of guidellm 0.8.1."""
    return {"inter_token_latency_ms": tokens - 1, "time_per_output_token_ms": tokens}.get(name, 1)


def _timing(request: object) -> Timing:
    timings = at(request, "info", "timings")
    failed = text(request, "info", "error") or (
        "" if text(request, "info", "status") == "completed" else "not completed"
    )
    return Timing(
        sent_ns=_ns(timings, "request_start"),
        content_ns=between(
            _ns(timings, "first_token_iteration"),
            _ns(timings, "last_token_iteration"),
            whole(timings, "token_iterations") or 0,
        ),
        end_ns=_ns(timings, "request_end"),
        prompt_tokens=whole(request, "prompt_tokens"),
        output_tokens=whole(request, "output_tokens"),
        error=failed,
    )


def _ns(timings: object, name: str) -> int:
    return round((number(timings, name) or 0) * _NS_PER_S)


def _findings(benchmark: object, kept: Sequence[object]) -> tuple[Finding, ...]:
    found = [
        Finding("own-warning", f"the tool itself warns: {text(warning, 'message')} {text(warning, 'note')}".strip())
        for warning in items(benchmark, "warnings")
    ]
    with_first = number(benchmark, "metrics", "time_per_output_token_ms", "successful", "mean")
    without = number(benchmark, "metrics", "inter_token_latency_ms", "successful", "mean")
    if with_first is not None and without is not None:
        found.append(
            Finding(
                "tpot-includes-ttft",
                f"its time per output token ({with_first:.2f} ms) includes the time to first token; without it: {without:.2f} ms",
            )
        )
    if len(kept) != whole(benchmark, "metrics", "request_totals", "successful"):
        found.append(
            Finding("records-sampled", f"the file keeps {len(kept)} of its requests: no figure can be recomputed")
        )
    return tuple(found)


TOOL: Final = Tool(
    name=_NAME,
    seen="0.8.1",
    files="the JSON report (`--output kind=json`)",
    definitions=_DEFINITIONS,
    recognises=_recognises,
    read=_read,
)
