"""``vllm bench serve``: one JSON object a run (``--save-result``); with ``--save-detailed`` every request and gap."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from dayzero.bench.foreign.fields import Object, items, looks_like, number, numbers, text, whole
from dayzero.bench.foreign.model import Asked, Definition, Files, Finding, Printed, Reading, Sample, Tool
from dayzero.bench.foreign.timing import Timing, after, rows

_NAME: Final = "vllm bench serve"
_NS_PER_S: Final = 1_000_000_000
_MS_PER_S: Final = 1000
_STATISTIC: Final = re.compile(r"(mean|median|p[0-9]+(?:\.[0-9]+)?)_(ttft|tpot|itl|e2el)_ms")

_DEFINITIONS: Final = (
    Definition(
        printed="ttft",
        ours="ttft_ms",
        agreement="differs",
        formula="first chunk with a choice - sent (to 0.32); first chunk with text - sent (from 0.33)",
        why="to 0.32 a chunk that only names the role counts as the first token; from 0.33 delta.reasoning_content does not count",
    ),
    Definition(
        printed="tpot",
        ours="tpot_ms",
        agreement="differs",
        formula="(latency - ttft) / (output tokens - 1)",
        why="equal to ours where each chunk is one token and ttft is the first text",
    ),
    Definition(
        printed="itl",
        ours="chunk_gap_ms",
        agreement="differs",
        formula="gaps between chunks, of all requests pooled",
        why="a gap between chunks, whatever they hold; to 0.32 the role chunk opens one too",
    ),
    Definition(
        printed="e2el",
        ours="e2e_ms",
        agreement="differs",
        formula="last chunk with a token - sent",
        why="ends with the text, ours when the response is complete",
    ),
    Definition(
        printed="output_throughput",
        ours="output_tok_s",
        agreement="differs",
        formula="all output tokens / duration of the run",
        why="ours counts what came while the load was full",
    ),
)


def _recognises(files: Files) -> bool:
    return any(_is_one(looks_like(raw)) for raw in files.values())


def _is_one(result: Object) -> bool:
    return "total_input_tokens" in result and "output_throughput" in result and "burstiness" in result


def _read(files: Files) -> tuple[Reading, ...]:
    return tuple(_reading(result) for result in map(looks_like, files.values()) if _is_one(result))


def _reading(result: Object) -> Reading:
    timings = _timings(result)
    extra = _role_chunks(result)
    streams = whole(result, "max_concurrency")
    return Reading(
        tool=_NAME,
        version="",
        label="" if streams is None else f"concurrency {streams}",
        asked=Asked(concurrency=number(result, "max_concurrency")),
        printed=_printed(result),
        samples=_samples(result),
        rows=rows(_without_role(timings) if extra else timings),
        stamps="every chunk" if timings else "none",
        completed=whole(result, "completed") or 0,
        failed=whole(result, "failed") or 0,
        prompt_tokens=tuple(map(round, numbers(result, "input_lens"))),
        clock="monotonic",
        quantile="linear",
        tolerance=1e-6,
        findings=_findings(timings, extra=extra),
    )


def _printed(result: Object) -> tuple[Printed, ...]:
    found: list[Printed] = []
    for key in result:
        matched, value = _STATISTIC.fullmatch(key), number(result, key)
        if matched and value is not None:
            statistic = "p50" if matched[1] == "median" else matched[1]
            found.append(Printed(name=matched[2], statistic=statistic, value=value, unit="ms"))
    rate = number(result, "output_throughput")
    if rate is not None:
        found.append(Printed(name="output_throughput", statistic="total", value=rate, unit="tok/s"))
    order = [definition.printed for definition in _DEFINITIONS]
    return tuple(sorted(found, key=lambda printed: order.index(printed.name)))


def _samples(result: Object) -> dict[str, Sample]:
    first, gaps, tokens = numbers(result, "ttfts"), items(result, "itls"), numbers(result, "output_lens")
    if not len(first) == len(gaps) == len(tokens) or not first:
        return {}
    errors = [text(error) for error in items(result, "errors")] or [""] * len(first)
    good = [place for place, error in enumerate(errors) if not error]
    latency = numbers(result, "latencies") or tuple(
        one + sum(numbers(gap)) for one, gap in zip(first, gaps, strict=True)
    )
    per_token = [(latency[place] - first[place]) / (tokens[place] - 1) for place in good if tokens[place] > 1]
    return {
        "ttft": Sample(values=tuple(first[place] * _MS_PER_S for place in good)),
        "tpot": Sample(values=tuple(value * _MS_PER_S for value in per_token)),
        "itl": Sample(values=tuple(gap * _MS_PER_S for place in good for gap in numbers(gaps[place]))),
        "e2el": Sample(values=tuple(latency[place] * _MS_PER_S for place in good)),
    }


def _timings(result: Object) -> tuple[Timing, ...]:
    first, starts = numbers(result, "ttfts"), numbers(result, "start_times")
    if not first or len(first) != len(starts):
        return ()
    return tuple(_timing(result, place) for place in range(len(first)))


def _timing(result: Object, place: int) -> Timing:
    start = round((number(result, "start_times", place) or 0) * _NS_PER_S)
    gaps = (number(result, "ttfts", place) or 0, *numbers(result, "itls", place))
    error = text(result, "errors", place)
    content = () if error else after(start, [gap * _MS_PER_S for gap in gaps])
    latency = number(result, "latencies", place)
    return Timing(
        sent_ns=start,
        content_ns=content,
        end_ns=max(content, default=start) if latency is None else start + round(latency * _NS_PER_S),
        prompt_tokens=whole(result, "input_lens", place),
        output_tokens=whole(result, "output_lens", place),
        error=error,
    )


def _role_chunks(result: Object) -> bool:
    """Say whether every answer has exactly one chunk more than tokens: the chunk that only names the role."""
    timings = [timing for timing in _timings(result) if not timing.error]
    return bool(timings) and all(
        timing.output_tokens and len(timing.content_ns) == timing.output_tokens + 1 for timing in timings
    )


def _without_role(timings: Sequence[Timing]) -> tuple[Timing, ...]:
    return tuple(replace(timing, content_ns=timing.content_ns[1:]) for timing in timings)


def _findings(timings: Sequence[Timing], *, extra: bool) -> tuple[Finding, ...]:
    found = [
        Finding(
            "version-not-said",
            "the file does not name the client's version, and ttft and itl changed between 0.32 and 0.33",
        )
    ]
    chunks = sum(len(timing.content_ns) for timing in timings if not timing.error)
    tokens = sum(timing.output_tokens or 0 for timing in timings if not timing.error)
    if extra:
        found.append(
            Finding(
                "role-chunk",
                f"every answer has one chunk more than tokens ({chunks} chunks, {tokens} tokens): the first is the role "
                "chunk, so its ttft is not the first token, and tpot and itl are too long",
                refutes=True,
            )
        )
    elif chunks and tokens > chunks:
        found.append(
            Finding(
                "gap-is-not-itl",
                f"{tokens} tokens came in {chunks} chunks: its itl is a gap between chunks, not between tokens",
                refutes=True,
            )
        )
    return tuple(found)


TOOL: Final = Tool(
    name=_NAME,
    seen="0.32.0, 0.33.0",
    files="the JSON result (`--save-result`, better with `--save-detailed`)",
    definitions=_DEFINITIONS,
    recognises=_recognises,
    read=_read,
)
