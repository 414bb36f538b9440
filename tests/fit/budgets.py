"""A simulated engine with a simple memory model, and the plans that it sizes."""

from collections.abc import Mapping

from dayzero.core.errors import InputError
from dayzero.core.hardware import System
from dayzero.core.parallelism import Parallelism
from dayzero.core.quantities import Bytes
from dayzero.fit.check import fit
from dayzero.fit.checkpoint import Basis, Checkpoint, Tensor
from dayzero.fit.memory_log import GIB
from dayzero.fit.model import Budget, Component, Figure, FitPlan, RankBudget, Report

CONTEXT = 65_536
_KV_TOKEN = 1 << 17
_HEADS = 8


def plan(
    *,
    weights_gib: float = 60,
    gpu_gib: int = 80,
    gpus: int = 1,
    flags: tuple[str, ...] = (),
    parallelism: Parallelism | None = None,
) -> FitPlan:
    """Plan to serve so many GiB of weights on so many GPUs."""
    tensor = Tensor(name="w", shape=(1,), dtype="BF16", stored=Bytes(int(weights_gib * GIB)))
    config: Mapping[str, object] = {}
    return FitPlan(
        checkpoint=Checkpoint(tensors=(tensor,), config=config, basis=Basis.CONFIG, source="config.json", shards=None),
        system=System(name=f"{gpus}xgpu", accelerator="gpu", accelerators=gpus, memory=Bytes(gpu_gib * GIB)),
        parallelism=parallelism or Parallelism(tp=gpus),
        version="1",
        flags=flags,
    )


def size(asked: FitPlan) -> Report:
    """Size a plan: weights are split, each token of the cache takes 128 KiB, half with ``--kv-cache-dtype=fp8``."""
    degrees = asked.parallelism
    if degrees.tp > _HEADS:
        raise InputError("tp does not divide the heads", hint="Take less.")
    ranks = degrees.tp * degrees.pp
    context = asked.context or CONTEXT
    weights = asked.checkpoint.size.count // ranks
    token = _KV_TOKEN // ranks // (2 if "--kv-cache-dtype=fp8" in asked.flags else 1)
    activations = GIB if "--max-num-seqs=64" in asked.flags else 4 * GIB
    free = asked.system.memory.count
    cache = max(free - weights - activations, 0)
    rank = RankBudget(
        rank=f"TP 0-{degrees.tp - 1}",
        count=ranks,
        figures=(
            figure(Component.WEIGHTS, weights),
            figure(Component.KV_CACHE, cache),
            figure(Component.ACTIVATIONS, activations),
            figure(Component.GRAPHS, 0),
            figure(Component.OTHER, 0),
        ),
        request=figure(Component.KV_CACHE, token * context),
        free=Bytes(free),
        free_source="the data sheet",
        budget=Bytes(free),
        limit_low=Bytes(free),
        limit_high=Bytes(free),
        late=Bytes(0),
        overcommitted=(Bytes(0), Bytes(0)),
    )
    tokens = cache // token
    budget = Budget(
        ranks=(rank,),
        context_tokens=context,
        kv_tokens=tokens,
        max_concurrency=tokens / context,
        stored=asked.checkpoint.size,
        replicated=Bytes(0),
        added=0,
    )
    return fit(budget)


def figure(component: Component, count: int) -> Figure:
    """Give a figure without an interval."""
    return Figure(
        component=component, size=Bytes(count), low=Bytes(count), high=Bytes(count), source="a rule", basis="computed"
    )
