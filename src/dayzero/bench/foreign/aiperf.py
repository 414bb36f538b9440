"""aiperf: ``profile_export_aiperf.json`` (what it printed) and ``profile_export.jsonl`` (one record a request)."""

from collections.abc import Mapping, Sequence
from typing import Final

from dayzero.bench.foreign.fields import Object, at, documents, items, looks_like, number, numbers, text, whole
from dayzero.bench.foreign.model import Asked, Definition, Files, Finding, Reading, Sample, Tool
from dayzero.bench.foreign.summary import printed_figures
from dayzero.bench.foreign.timing import Timing, after, rows

_NAME: Final = "aiperf"
_SUMMARY: Final = "aiperf_version"
_GAPS: Final = "inter_chunk_latency"
_PER_REQUEST: Final = (
    "time_to_first_token",
    "inter_token_latency",
    _GAPS,
    "request_latency",
    "output_token_throughput_per_user",
)
_UNITS: Final[Mapping[str, str]] = {"tokens/sec": "tok/s", "tokens/sec/user": "tok/s", "requests/sec": "req/s"}

_DEFINITIONS: Final = (
    Definition(
        printed="time_to_first_token",
        ours="ttft_ms",
        agreement="differs",
        formula="first chunk with text (reasoning too) - request start",
        why="its start is taken before the connection is opened, ours when the connection stands",
    ),
    Definition(
        printed="inter_token_latency",
        ours="tpot_ms",
        agreement="differs",
        formula="(last chunk with text - first) / (output tokens - tokens of the first chunk, 1 unless known)",
        why="one value a request: it is a time per output token, not a gap. Equal to ours where each chunk is one token",
    ),
    Definition(
        printed=_GAPS,
        ours="chunk_gap_ms",
        agreement="same",
        formula="gaps between chunks with text, of all requests pooled",
        why="",
    ),
    Definition(
        printed="request_latency",
        ours="e2e_ms",
        agreement="differs",
        formula="last chunk with text - request start",
        why="ends with the text, ours when the response is complete; starts before the connection is opened",
    ),
    Definition(
        printed="output_token_throughput",
        ours="output_tok_s",
        agreement="differs",
        formula="all output tokens / the time of the phase",
        why="ours counts what came while the load was full; the server counts its tokens only with --use-server-token-count",
    ),
    Definition(
        printed="output_token_throughput_per_user",
        ours="",
        agreement="none",
        formula="1 / inter_token_latency of each request",
        why="leaves the time to first token out; our output_tok_s_per_user is the cell's rate over its streams",
    ),
)


def _recognises(files: Files) -> bool:
    return any(_SUMMARY in document for document in map(looks_like, _json(files)))


def _json(files: Files) -> tuple[bytes, ...]:
    return tuple(raw for name, raw in files.items() if name.endswith(".json"))


def _read(files: Files) -> tuple[Reading, ...]:
    found = [document for document in map(looks_like, _json(files)) if _SUMMARY in document]
    lines = [documents(name, raw) for name, raw in files.items() if name.endswith("profile_export.jsonl")]
    # Records belong to the one summary that stands beside them; with several runs in one folder none can be told apart.
    records = lines[0] if len(lines) == len(found) == 1 else ()
    return tuple(_reading(summary, records) for summary in found)


def _reading(summary: Object, records: Sequence[Object]) -> Reading:
    measured = [record for record in records if text(record, "metadata", "benchmark_phase") in {"", "profiling"}]
    whole_ones = [record for record in measured if at(record, "error") is None]
    return Reading(
        tool=_NAME,
        version=text(summary, _SUMMARY),
        label=text(summary, "benchmark_id"),
        asked=_asked(summary),
        printed=printed_figures(summary, _DEFINITIONS, _UNITS),
        samples={name: Sample(values=values) for name in _PER_REQUEST if (values := _values(whole_ones, name))},
        rows=rows([_timing(record) for record in measured]),
        stamps="every chunk" if any(items(record, "metrics", _GAPS, "value") for record in measured) else "none",
        completed=whole(summary, "request_count", "avg") or 0,
        failed=whole(summary, "error_request_count", "avg") or 0,
        prompt_tokens=tuple(map(round, _values(whole_ones, "usage_prompt_tokens"))),
        # Each latency is a difference of perf_counter stamps; only the start that joins requests is wall-clock time.
        clock="monotonic",
        quantile="linear",
        tolerance=0.01 if (whole(summary, "request_count", "avg") or 0) > len(whole_ones) else 1e-6,
        findings=_findings(summary, whole_ones),
    )


def _asked(summary: Object) -> Asked:
    phases = items(summary, "input_config", "phases")
    main = next((phase for phase in phases if text(phase, "kind") == "profiling"), None)
    warm = [phase for phase in phases if text(phase, "kind") == "warmup"]
    prompts = at(summary, "input_config", "datasets", 0, "prompts")
    return Asked(
        concurrency=number(main, "concurrency"),
        input_tokens=number(prompts, "isl", "mean"),
        output_tokens=number(prompts, "osl", "mean"),
        warmup=sum(number(phase, "requests") or number(phase, "duration") or 1 for phase in warm) if phases else None,
        seed=whole(summary, "run_info", "random_seed"),
    )


def _values(records: Sequence[Object], name: str) -> tuple[float, ...]:
    found: list[float] = []
    for record in records:
        value = at(record, "metrics", name, "value")
        one = number(value)
        found += numbers(value) if one is None else (one,)
    return tuple(found)


def _timing(record: Object) -> Timing:
    start = whole(record, "metadata", "request_start_ns") or 0
    first = number(record, "metrics", "time_to_first_token", "value")
    tokens = whole(record, "metrics", "usage_completion_tokens", "value")
    error = at(record, "error")
    return Timing(
        sent_ns=start,
        content_ns=() if first is None else after(start, (first, *numbers(record, "metrics", _GAPS, "value"))),
        end_ns=whole(record, "metadata", "request_end_ns") or 0,
        prompt_tokens=whole(record, "metrics", "usage_prompt_tokens", "value"),
        output_tokens=whole(record, "metrics", "output_sequence_length", "value") if tokens is None else tokens,
        new_connection=number(record, "metrics", "http_req_connection_reused", "value") == 0,
        error="" if error is None else text(error, "message") or text(error, "type") or "failed",
    )


def _findings(summary: Object, records: Sequence[Object]) -> tuple[Finding, ...]:
    found: list[Finding] = []
    opened = sum(number(record, "metrics", "http_req_connection_reused", "value") == 0 for record in records)
    if opened:
        slowest = max(_values(records, "http_req_connecting"), default=0.0)
        found.append(
            Finding(
                "connect-in-latency",
                f"{opened} of {len(records)} requests opened a connection inside their latency, the slowest in {slowest:.2f} ms",
            )
        )
    if records and not _values(records, "usage_completion_tokens") and _values(records, "output_sequence_length"):
        found.append(Finding("client-token-count", "tokens were counted by the tool's tokenizer, not by the server"))
    if at(summary, "was_cancelled") is True or at(summary, "is_complete") is False:
        found.append(Finding("ended-early", "the run was cancelled or is not complete", refutes=True))
    return tuple(found)


TOOL: Final = Tool(
    name=_NAME,
    seen="0.13.0",
    files="`profile_export_aiperf.json`, `profile_export.jsonl`",
    definitions=_DEFINITIONS,
    recognises=_recognises,
    read=_read,
)
