"""OpenMetrics text: the figures of a run as gauges, for a text-file collector or a push gateway."""

from collections.abc import Iterator, Sequence
from typing import Final

from dayzero.bench.export.model import ExportFormat, MeasuredRun
from dayzero.bench.foreign.fields import items, number, text

_MS_PER_S: Final = 1000
_STATISTICS: Final = ("p50", "p90", "p99", "mean")
_LATENCIES: Final = (
    ("ttft", "ttft_ms", "Time to first token"),
    ("itl", "itl_ms", "Gap between tokens"),
    ("tpot", "tpot_ms", "Time per output token after the first"),
    ("e2e", "e2e_ms", "Time from the request to the end of the response"),
)


def openmetrics(run: MeasuredRun) -> str:
    """Write the exposition. Whether the run is valid is always in it; figures only where it is, and only those that are decided."""
    cells = items(run.document, "cells")
    lines = [
        "# TYPE dayzero_bench_valid gauge",
        "# HELP dayzero_bench_valid 1 where nothing speaks against the figures.",
        f"dayzero_bench_valid{_labels(model=text(run.document, 'model'))} {int(run.valid)}",
        *_counts(cells),
    ]
    if run.valid:
        for short, name, words in _LATENCIES:
            lines += _family(f"dayzero_bench_{short}_seconds", "seconds", words, list(_latency(cells, name)))
        rates = [
            (_labels(cell=text(cell, "name")), rate)
            for cell in cells
            if (rate := number(cell, "metrics", "output_tok_s")) is not None
        ]
        lines += _family("dayzero_bench_output_tokens_per_second", "", "Tokens generated in a second", rates)
    return "\n".join([*lines, "# EOF", ""])


def _counts(cells: Sequence[object]) -> list[str]:
    found: list[str] = []
    for field, words in (("measured", "Requests of the measured phase"), ("failed", "Requests of it that failed")):
        samples = [
            (_labels(cell=text(cell, "name")), count) for cell in cells if (count := number(cell, field)) is not None
        ]
        found += _family(f"dayzero_bench_requests_{field}", "", words, samples)
    return found


def _latency(cells: Sequence[object], name: str) -> Iterator[tuple[str, float]]:
    for cell in cells:
        for statistic in _STATISTICS:
            value = number(cell, "metrics", name, statistic)
            if value is not None:
                yield _labels(cell=text(cell, "name"), statistic=statistic), value / _MS_PER_S


def _family(name: str, unit: str, words: str, samples: Sequence[tuple[str, float]]) -> list[str]:
    if not samples:
        return []
    unit_line = [f"# UNIT {name} {unit}"] if unit else []
    head = [f"# TYPE {name} gauge", *unit_line, f"# HELP {name} {words}."]
    return [*head, *(f"{name}{labels} {value!r}" for labels, value in samples)]


def _labels(**values: str) -> str:
    escaped = {
        name: value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for name, value in values.items()
    }
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped.items()) + "}"


FORMAT: Final = ExportFormat(
    name="openmetrics",
    title="bench.prom, the figures as gauges",
    figures=False,
    files=lambda run: (("bench.prom", openmetrics(run).encode()),),
)
