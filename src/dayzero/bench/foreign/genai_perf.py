"""genai-perf: ``*_genai_perf.json`` (what it printed) and ``profile_export.json`` (each response with its stamp)."""

from collections.abc import Mapping, Sequence
from typing import Final

from dayzero.bench.foreign.fields import Object, at, items, looks_like, number, text, whole
from dayzero.bench.foreign.model import Asked, Definition, Files, Reading, Sample, Tool
from dayzero.bench.foreign.summary import printed_figures
from dayzero.bench.foreign.timing import Timing, rows

_NAME: Final = "genai-perf"
_NS_PER_MS: Final = 1_000_000
_UNITS: Final[Mapping[str, str]] = {"tokens/sec": "tok/s", "requests/sec": "req/s"}
_TEXT: Final = ("content", "reasoning", "reasoning_content", "tool_calls")

_DEFINITIONS: Final = (
    Definition(
        printed="time_to_first_token",
        ours="ttft_ms",
        agreement="same",
        formula="first response with text - request start",
        why="",
    ),
    Definition(
        printed="inter_token_latency",
        ours="tpot_ms",
        agreement="differs",
        formula="(last response with text - first) / (output tokens - 1)",
        why="a time per output token, not a gap; tokens are its own tokenizer's. Equal to ours where each chunk is one token",
    ),
    Definition(
        printed="request_latency",
        ours="e2e_ms",
        agreement="differs",
        formula="last response with text - request start",
        why="ends with the text, ours when the response is complete",
    ),
    Definition(
        printed="output_token_throughput",
        ours="output_tok_s",
        agreement="differs",
        formula="all output tokens / (last response - first request)",
        why="ours counts what came while the load was full, by the server's own counts",
    ),
)


def _recognises(files: Files) -> bool:
    return any(map(_is_summary, map(looks_like, files.values())))


def _is_summary(document: Object) -> bool:
    return "input_config" in document and "aiperf_version" not in document and "request_throughput" in document


def _read(files: Files) -> tuple[Reading, ...]:
    found = [looks_like(raw) for raw in files.values()]
    summaries = [document for document in found if _is_summary(document)]
    records = [document for document in found if "experiments" in document]
    paired = records[0] if len(records) == len(summaries) == 1 else {}
    return tuple(_reading(summary, paired) for summary in summaries)


def _reading(summary: Object, records: Object) -> Reading:
    timings = [_timing(request) for request in items(records, "experiments", 0, "requests")]
    streams = number(summary, "input_config", "perf_analyzer", "stimulus", "concurrency")
    return Reading(
        tool=_NAME,
        version="",
        label="" if streams is None else f"concurrency {streams:g}",
        asked=Asked(
            concurrency=streams,
            input_tokens=number(summary, "input_config", "input", "synthetic_tokens", "mean"),
            output_tokens=number(summary, "input_config", "input", "output_tokens", "mean"),
            warmup=number(summary, "input_config", "perf_analyzer", "warmup_request_count"),
            seed=whole(summary, "input_config", "input", "random_seed"),
        ),
        printed=printed_figures(summary, _DEFINITIONS, _UNITS),
        samples=_samples([timing for timing in timings if not timing.error]),
        rows=rows(timings),
        stamps="every chunk" if timings else "none",
        completed=whole(summary, "request_count", "avg") or 0,
        failed=sum(bool(timing.error) for timing in timings),
        prompt_tokens=(),
        clock="wall",
        quantile="linear",
        tolerance=1e-6,
    )


def _samples(timings: Sequence[Timing]) -> dict[str, Sample]:
    if not timings:
        return {}
    first = tuple((timing.content_ns[0] - timing.sent_ns) / _NS_PER_MS for timing in timings)
    last = tuple((timing.content_ns[-1] - timing.sent_ns) / _NS_PER_MS for timing in timings)
    return {"time_to_first_token": Sample(values=first), "request_latency": Sample(values=last)}


def _timing(request: object) -> Timing:
    arrivals = [whole(request, "response_timestamps", place) or 0 for place in range(len(_responses(request)))]
    content = tuple(
        arrival for arrival, response in zip(arrivals, _responses(request), strict=True) if _has_text(response)
    )
    return Timing(
        sent_ns=whole(request, "timestamp") or 0,
        content_ns=content,
        end_ns=max(arrivals, default=0),
        error="" if content else "no text came",
    )


def _responses(request: object) -> tuple[str, ...]:
    return tuple(text(response, "response") for response in items(request, "response_outputs"))


def _has_text(response: str) -> bool:
    """Say whether one of the events in a response carries text."""
    for line in response.splitlines():
        choice = at(looks_like(line.removeprefix("data:").encode()), "choices", 0)
        if at(choice, "text") or any(at(choice, "delta", key) for key in _TEXT):
            return True
    return False


TOOL: Final = Tool(
    name=_NAME,
    seen="0.0.16",
    files="`profile_export_genai_perf.json`, `profile_export.json`",
    definitions=_DEFINITIONS,
    recognises=_recognises,
    read=_read,
)
