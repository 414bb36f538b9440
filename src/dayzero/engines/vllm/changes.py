"""What can be changed about a ``vllm serve`` so that it takes less memory, the cheapest change first."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from dayzero.engines.vllm.memory.flags import Flags, read_flags
from dayzero.fit.cheapest import Change
from dayzero.fit.model import FitPlan

_NAMED = {
    "tp": "tensor-parallel-size",
    "pp": "pipeline-parallel-size",
    "dp": "data-parallel-size",
    "context": "max-model-len",
}
_FREE = "nothing but traffic between the GPUs"
_SEQUENCES = "requests that run at once"
_BATCH = "longer prompts take more steps"
_EAGER = "decoding without CUDA graphs is slower"
_PRECISION = "accuracy, to be measured"
_ROOM = "room for other processes on the GPU"
_WASTE = "memory that the cache could use"

_FLAGS = (
    ("--gpu-memory-utilization=0.95", _ROOM),
    ("--gpu-memory-utilization=0.85", _WASTE),
    ("--max-num-seqs=256", _SEQUENCES),
    ("--max-num-seqs=64", _SEQUENCES),
    ("--max-num-batched-tokens=4096", _BATCH),
    ("--max-num-batched-tokens=2048", _BATCH),
    ("--enforce-eager", _EAGER),
    ("--kv-cache-dtype=fp8", _PRECISION),
)


def spread_in(flags: tuple[str, ...]) -> tuple[Mapping[str, int], tuple[str, ...]]:
    """Read how a command line spreads the model, and its longest request; give the other flags.

    Raises:
        InputError: A degree or the context is no whole number.
    """
    read = read_flags(flags)
    named = {name: value for name, flag in _NAMED.items() if (value := _whole(read, flag)) is not None}
    if read.on("enable-expert-parallel"):
        named["ep"] = 1
    told = {*(flag for name, flag in _NAMED.items() if name in named), "enable-expert-parallel"}
    return named, tuple(f"--{name}={value}" for name, value in read.values.items() if name not in told)


def _whole(read: Flags, flag: str) -> int | None:
    return None if read.text(flag, "") in {"auto", "-1"} else read.whole(flag)


def changes(plan: FitPlan) -> tuple[Change, ...]:
    """List the changes that may help; which of them does is for the memory model to say."""
    return tuple(_changes(plan))


def _changes(plan: FitPlan) -> Iterator[Change]:
    spread = plan.parallelism
    if not spread.ep and spread.tp * spread.dp > 1:
        yield Change(words="--enable-expert-parallel", costs=_FREE, apply=_expert_parallel)
    for flag, costs in _FLAGS:
        yield Change(words=flag, costs=costs, apply=_added(flag))


def _expert_parallel(plan: FitPlan) -> FitPlan:
    return replace(plan, parallelism=replace(plan.parallelism, ep=True))


def _added(flag: str) -> Callable[[FitPlan], FitPlan]:
    def apply(plan: FitPlan) -> FitPlan:
        return replace(plan, flags=(*plan.flags, flag))

    return apply
