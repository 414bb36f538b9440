"""MLPerf Endpoints: ``result_summary.json`` or ``report.txt`` (what it printed) and ``events.jsonl`` (stamps of every request)."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from dayzero.bench.foreign.fields import Object, at, documents, looks_like, number, text, whole
from dayzero.bench.foreign.model import Asked, Definition, Files, Finding, Printed, Reading, Sample, Tool
from dayzero.bench.foreign.timing import Timing, rows

_NAME: Final = "MLPerf Endpoints"
_NS_PER_MS: Final = 1_000_000
_SUMMARY: Final = "n_samples_issued"
_REPORT: Final = "Total samples issued:"
_SHOWN: Final = ("p50", "p90", "p95", "p99")
_SECTION: Final[Mapping[str, str]] = {"TTFT": "ttft", "TPOT": "tpot", "Latency": "latency"}
_ASKED_TOKENS: Final = re.compile(rb"^\s*max_new_tokens:\s*([0-9]+)", re.MULTILINE)
_ASKED_STREAMS: Final = re.compile(rb"^\s*target_concurrency:\s*([0-9]+)", re.MULTILINE)
_ASKED_SEED: Final = re.compile(rb"^\s*dataloader_random_seed:\s*([0-9]+)", re.MULTILINE)
_ASKED_WARMUP: Final = re.compile(rb"^\s*warmup:\s*\n\s*enabled:\s*(true|false)", re.MULTILINE)

_DEFINITIONS: Final = (
    Definition(
        printed="ttft",
        ours="ttft_ms",
        agreement="differs",
        formula="first chunk received - sample issued",
        why="starts when the sample is handed to a worker process, ours when the bytes go out",
    ),
    Definition(
        printed="tpot",
        ours="tpot_ms",
        agreement="differs",
        formula="(complete - first chunk) / tokens of the text after the first chunk",
        why="tokens are its own tokenizer's, and ends with the response; ours takes the server's count and ends with the text",
    ),
    Definition(
        printed="latency",
        ours="e2e_ms",
        agreement="differs",
        formula="complete - sample issued",
        why="starts when the sample is handed to a worker process, ours when the bytes go out",
    ),
    Definition(
        printed="tps",
        ours="output_tok_s",
        agreement="differs",
        formula="all output tokens / duration",
        why="by its own tokenizer, which never sees delta.reasoning_content; ours counts what came while the load was full",
    ),
)


def _recognises(files: Files) -> bool:
    return any(_SUMMARY in looks_like(raw) or _REPORT.encode() in raw for raw in files.values())


def _read(files: Files) -> tuple[Reading, ...]:
    summaries = [found for found in map(looks_like, files.values()) if _SUMMARY in found]
    reports = [raw.decode(errors="replace") for raw in files.values() if _REPORT.encode() in raw]
    events = [documents(name, raw) for name, raw in files.items() if name.endswith("events.jsonl")]
    config = next((raw for name, raw in files.items() if name.endswith("config.yaml")), b"")
    figures = _from_summary(summaries[0]) if summaries else _from_report(reports[0])
    version = text(summaries[0], "version") if summaries else _line(reports[0], "Version")
    failed = whole(summaries[0], "n_samples_failed") if summaries else _count(reports[0], "failed")
    done = whole(summaries[0], "n_samples_completed") if summaries else _count(reports[0], "completed")
    timings = _timings(events[0]) if events else ()
    asked = _asked(config)
    return (
        Reading(
            tool=_NAME,
            version=version,
            label="" if asked.concurrency is None else f"concurrency {asked.concurrency:g}",
            asked=asked,
            printed=figures,
            samples=_samples([timing for timing in timings if not timing.error]),
            rows=rows(timings),
            stamps="first and last" if timings else "none",
            completed=done or 0,
            failed=failed or 0,
            prompt_tokens=(),
            clock="monotonic",
            quantile="linear",
            tolerance=0.01,  # its percentiles come out of a histogram
            findings=_findings(summaries[0] if summaries else {}, asked),
        ),
    )


def _from_summary(summary: Object) -> tuple[Printed, ...]:
    found: list[Printed] = []
    for name in _SECTION.values():
        figure = at(summary, name)
        shown = {_statistic(key): number(figure, "percentiles", key) for key in _keys(at(figure, "percentiles"))}
        wanted = (("mean", number(figure, "avg")), *((p, shown.get(p)) for p in _SHOWN))
        found += [
            Printed(name=name, statistic=statistic, value=value / _NS_PER_MS, unit="ms")
            for statistic, value in wanted
            if value is not None
        ]
    rate = number(summary, "tps")
    return (*found, *(() if rate is None else (Printed(name="tps", statistic="total", value=rate, unit="tok/s"),)))


def _from_report(report: str) -> tuple[Printed, ...]:
    found: list[Printed] = []
    for title, name in _SECTION.items():
        section = re.search(rf"^{title}:\n(.*?)(?:\n\s*\n\S|\Z)", report, re.MULTILINE | re.DOTALL)
        lines = section[1] if section else ""
        values = [
            ("mean" if key == "Avg." else _statistic(key), value)
            for key, value in re.findall(r"^\s*([\w.]+): +([0-9.]+) ms", lines, re.MULTILINE)
        ]
        found += [
            Printed(name=name, statistic=statistic, value=float(value), unit="ms")
            for statistic, value in values
            if statistic in {"mean", *_SHOWN}
        ]
    rate = _line(report, "TPS")
    return (
        *found,
        *(
            (Printed(name="tps", statistic="total", value=float(rate), unit="tok/s"),)
            if re.fullmatch(r"[0-9.]+", rate)
            else ()
        ),
    )


def _statistic(key: str) -> str:
    """Turn ``99.0`` and ``99`` into ``p99``."""
    return f"p{float(key):g}" if re.fullmatch(r"[0-9]+(\.[0-9]+)?", key) else key


def _keys(value: object) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, dict) else ()


def _line(report: str, name: str) -> str:
    found = re.search(rf"^{name}: (\S+)", report, re.MULTILINE)
    return found[1] if found else ""


def _count(report: str, what: str) -> int:
    found = re.search(rf"^Total samples {what}: ([0-9]+)", report, re.MULTILINE)
    return int(found[1]) if found else 0


def _asked(config: bytes) -> Asked:
    tokens, streams, seed = (pattern.search(config) for pattern in (_ASKED_TOKENS, _ASKED_STREAMS, _ASKED_SEED))
    warmup = _ASKED_WARMUP.search(config)
    return Asked(
        concurrency=float(streams[1]) if streams else None,
        output_tokens=float(tokens[1]) if tokens else None,
        warmup=None if warmup is None else float(warmup[1] == b"true"),
        seed=int(seed[1]) if seed else None,
    )


def _timings(events: Sequence[Object]) -> tuple[Timing, ...]:
    """Join the events of each sample that was issued while performance was tracked."""
    issued: dict[str, int] = {}
    chunks: dict[str, list[int]] = {}
    ended: dict[str, tuple[int, str]] = {}
    tracking = False
    for event in events:
        kind, sample, stamp = text(event, "event_type"), text(event, "sample_uuid"), whole(event, "timestamp_ns") or 0
        match kind:
            case "session.start_performance_tracking" | "session.stop_performance_tracking":
                tracking = kind.startswith("session.start")
            case "sample.issued" if tracking:
                issued[sample] = stamp
            case "sample.recv_first" | "sample.recv_non_first":
                chunks.setdefault(sample, []).append(stamp)
            case "sample.complete":
                ended.setdefault(sample, (stamp, ""))
            case _ if kind.startswith("error.") and sample:
                ended[sample] = (stamp, text(event, "data", "error_message") or text(event, "data", 1) or kind)
            case _:
                pass
    return tuple(
        _timing(start, chunks.get(sample, []), ended.get(sample, (0, "never completed")))
        for sample, start in issued.items()
    )


def _timing(start: int, arrivals: Sequence[int], ended: tuple[int, str]) -> Timing:
    return Timing(sent_ns=start, content_ns=tuple(sorted(arrivals)), end_ns=ended[0], error=ended[1])


def _samples(timings: Sequence[Timing]) -> dict[str, Sample]:
    first = tuple((timing.content_ns[0] - timing.sent_ns) / _NS_PER_MS for timing in timings if timing.content_ns)
    whole_ones = tuple((timing.end_ns - timing.sent_ns) / _NS_PER_MS for timing in timings)
    return {name: Sample(values=values) for name, values in (("ttft", first), ("latency", whole_ones)) if values}


def _findings(summary: Object, asked: Asked) -> tuple[Finding, ...]:
    found: list[Finding] = []
    counted = number(summary, "output_sequence_lengths", "avg")
    if counted is not None and asked.output_tokens is not None and counted < asked.output_tokens:
        found.append(
            Finding(
                "tokens-missing",
                f"{asked.output_tokens:g} tokens were allowed and {counted:g} were counted on average: answers ended early, or "
                "they hold reasoning in delta.reasoning_content, which it does not read; then tpot is too long and tps too low",
            )
        )
    if summary and at(summary, "complete") is not True:
        found.append(Finding("ended-early", "the tool marks its report as not complete", refutes=True))
    return tuple(found)


TOOL: Final = Tool(
    name=_NAME,
    seen="0.1.0",
    files="`result_summary.json` or `report.txt`, `events.jsonl`, `config.yaml`",
    definitions=_DEFINITIONS,
    recognises=_recognises,
    read=_read,
)
