"""What can be changed about an SGLang server so that it takes less memory, the cheapest change first."""

from collections.abc import Callable
from dataclasses import replace

from dayzero.fit.cheapest import Change
from dayzero.fit.model import FitPlan

_FLAGS = (
    ("--mem-fraction-static=0.9", "room for activations and graphs"),
    ("--mem-fraction-static=0.94", "room for activations and graphs"),
    ("--mem-fraction-static=0.8", "memory that the cache could use"),
    ("--cuda-graph-max-bs=32", "larger batches are decoded without graphs"),
    ("--chunked-prefill-size=2048", "longer prompts take more steps"),
    ("--max-running-requests=64", "requests that run at once"),
    ("--disable-cuda-graph", "decoding without CUDA graphs is slower"),
    ("--kv-cache-dtype=fp8_e4m3", "accuracy, to be measured"),
)


def changes() -> tuple[Change, ...]:
    """List the changes that may help; which of them does is for the memory model to say."""
    return tuple(Change(words=flag, costs=costs, apply=_added(flag)) for flag, costs in _FLAGS)


def _added(flag: str) -> Callable[[FitPlan], FitPlan]:
    def apply(plan: FitPlan) -> FitPlan:
        return replace(plan, flags=(*plan.flags, flag))

    return apply
