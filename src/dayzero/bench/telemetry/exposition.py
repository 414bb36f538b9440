"""Prometheus text expositions, and the few series in them that matter to a measurement."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Final

from dayzero.bench.telemetry.model import Sample

# What each series is called, by engine; several names where versions differ. Sources: the recorded answers of llama.cpp b11549 and
# vLLM 0.32.0 (tests/engines/*/answers/metrics.txt); sglang 0.5.23, srt/observability/metrics_collector.py:365-2134;
# text-generation-inference 3: backends/v3/src/{backend,queue}.rs (batch and queue), router/src/validation.rs (input length) and
# router/src/server.rs (generated tokens), the last two histograms. The engine's own dialect goes before them.
KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "requests_running": (
        "vllm:num_requests_running",
        "sglang:num_running_reqs",
        "llamacpp:requests_processing",
        "tgi_batch_current_size",
    ),
    "requests_waiting": (
        "vllm:num_requests_waiting",
        "sglang:num_queue_reqs",
        "llamacpp:requests_deferred",
        "tgi_queue_size",
    ),
    "prompt_tokens": (
        "vllm:prompt_tokens_total",
        "sglang:prompt_tokens_total",
        "llamacpp:prompt_tokens_total",
        "tgi_request_input_length_sum",
    ),
    "generated_tokens": (
        "vllm:generation_tokens_total",
        "sglang:generation_tokens_total",
        "llamacpp:tokens_predicted_total",
        "tgi_request_generated_tokens_sum",
    ),
    "cached_tokens": (
        "vllm:prefix_cache_hits_total",
        "sglang:cached_tokens_total",
        "llamacpp:prompt_tokens_cached_total",
    ),
    "preemptions": ("vllm:num_preemptions_total", "sglang:num_retracted_requests_total"),
    "kv_used": ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"),
}
GAUGES: Final = frozenset({"requests_running", "requests_waiting", "kv_used"})
_SHARES: Final = frozenset(
    {"kv_used"}
)  # of one rank's memory: several have no sum, and the fullest one holds the others up
_PARTS: Final = (
    "priority"  # sglang's label of a part of a count whose total stands beside it (metrics_collector.py:1417)
)

_LINE = re.compile(r'(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>(?:[^"}]|"(?:\\.|[^"\\])*")*)\})?\s+(?P<value>\S+)')
_LABEL = re.compile(r'(\w+)\s*=\s*"((?:\\.|[^"\\])*)"')
_ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


def exposition(text: str) -> Iterator[Sample]:
    """Read a Prometheus text exposition; comments and lines that are none of its samples are passed over."""
    for line in text.split("\n"):
        match = _LINE.match(line)
        value = _number(match["value"]) if match else None
        if match and value is not None:
            labels = tuple((key, _unescape(raw)) for key, raw in _LABEL.findall(match["labels"] or ""))
            yield Sample(name=match["name"], labels=labels, value=value)


def series_names(dialect: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    """Give the names that each series may have: the dialect's own first.

    Args:
        dialect: The engine's names; empty where the engine is not known.
    """
    return {
        series: tuple(dict.fromkeys((*([dialect[series]] if series in dialect else []), *known)))
        for series, known in KNOWN.items()
    }


def pick(text: str, names: Mapping[str, tuple[str, ...]]) -> Mapping[str, float]:
    """Take each series out of an exposition: summed over its labels, of a share the largest. What is not a number is not given."""
    values: dict[str, list[float]] = {}
    for sample in exposition(text):
        if math.isfinite(sample.value) and not dict(sample.labels).get(_PARTS):
            values.setdefault(sample.name, []).append(sample.value)
    found = ((series, next((name for name in spelt if name in values), "")) for series, spelt in names.items())
    return {series: (max if series in _SHARES else sum)(values[name]) for series, name in found if name}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _unescape(raw: str) -> str:
    return re.sub(r'\\[\\"n]', lambda match: _ESCAPES[match[0]], raw)
