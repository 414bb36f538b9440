"""One kind of rank: its figures with their intervals, and what they may take."""

from dataclasses import dataclass

from dayzero.core.accelerators import Accelerator, Span, taken_at_start
from dayzero.core.quantities import Bytes
from dayzero.engines.vllm.memory.facts import measured
from dayzero.engines.vllm.memory.kv_cache import CacheLayout
from dayzero.engines.vllm.memory.runtime import (
    MIB,
    Batch,
    activation_peak,
    encoder_peak,
    expert_workspace,
    graph_memory,
    latent_workspace,
    sampler_counts,
    split_workspace,
    state_workspace,
)
from dayzero.engines.vllm.memory.settings import Settings
from dayzero.engines.vllm.memory.shape import Shape
from dayzero.engines.vllm.memory.weights import Share
from dayzero.fit.model import Component, Figure, FigureBasis, FitPlan, RankBudget

_LOADER_SLACK = 0.002  # torch hands out whole blocks of 2 MiB


@dataclass(frozen=True, slots=True, kw_only=True)
class RankWork:
    """What one kind of rank holds and does.

    Attributes:
        name: Which ranks, in words.
        count: How many.
        stage: Their pipeline stage.
        experts: Experts of a layer that they hold, under expert parallelism.
        weights: What they hold.
        first: Their first layer.
        layers: How many layers.
        cache: How their cache is cut.
        batch: The work of one step.
    """

    name: str
    count: int
    stage: int
    experts: int
    weights: Share
    first: int
    layers: int
    cache: CacheLayout
    batch: Batch


def rank_budget(work: RankWork, plan: FitPlan, shape: Shape, settings: Settings, gpu: Accelerator) -> RankBudget:
    """Put the figures of one kind of rank together; measured ones stand in for the computed ones."""
    late, other = _other(work, plan, shape, settings)
    graphs = _graphs(work, settings)
    figures = {
        figure.component: figure
        for figure in (_weights(work, plan), _activations(work, shape, plan, settings), graphs, other, *plan.measured)
    }
    cached = figures.pop(Component.KV_CACHE, None)
    uncounted = late + (0 if settings.graphs_counted else figures[Component.GRAPHS].size.count)
    budget = _scaled(gpu.total, settings.utilisation)
    taken, taken_source = taken_at_start(plan.parallelism.ranks - 1)
    free = Span(
        low=Bytes(gpu.total.low.count - taken.high.count),
        size=Bytes(gpu.total.size.count - taken.size.count),
        high=Bytes(gpu.total.high.count - taken.low.count),
    )
    used = {name: sum(getattr(f, name).count for f in figures.values()) for name in ("low", "size", "high")}
    cache = cached or _cache(work, settings, budget.size.count - used["size"] + uncounted)
    if settings.cache_bytes:
        budget = free
    return RankBudget(
        rank=work.name,
        count=work.count,
        figures=(figures[Component.WEIGHTS], cache, *(f for c, f in figures.items() if c is not Component.WEIGHTS)),
        request=_exact(
            Component.KV_CACHE, work.cache.request_bytes, f"{work.cache.request_blocks} blocks a request", "computed"
        ),
        free=free.size,
        free_source=f"{gpu.source}; {taken_source}",
        budget=budget.size,
        late=Bytes(uncounted),
        stated=bool(settings.blocks or settings.cache_bytes),
        limit_low=Bytes(min(free.low.count, budget.low.count + uncounted)),
        limit_high=Bytes(min(free.high.count, budget.high.count + uncounted)),
        overcommitted=_overcommitted(
            cache, used, free, asked=work.cache.request_bytes if uncounted or settings.cache_bytes else None
        ),
    )


def _overcommitted(cache: Figure, used: dict[str, int], free: Span, *, asked: int | None) -> tuple[Bytes, Bytes]:
    """Say by how much, least and likeliest, everything exceeds what is free where the engine takes the cache it works out.

    Args:
        cache: What it takes.
        used: The other components together: least, likeliest, most.
        free: What is there.
        asked: The cache of one request; ``None`` where all that the engine allocates is within its budget.
    """
    if asked is None or cache.size.count < asked:
        return Bytes(0), Bytes(0)
    return (
        Bytes(max(used["low"] + cache.low.count - free.high.count, 0)),
        Bytes(max(used["size"] + cache.size.count - free.size.count, 0)),
    )


def _weights(work: RankWork, plan: FitPlan) -> Figure:
    size = work.weights.rank
    return Figure(
        component=Component.WEIGHTS,
        size=Bytes(size),
        low=Bytes(work.weights.low),
        high=Bytes(round(size * (1 + _LOADER_SLACK)) + 16 * MIB),
        source=f"{plan.checkpoint.source} ({plan.checkpoint.basis.value}), placed as vllm {plan.version} places it",
        basis="computed",
    )


def _activations(work: RankWork, shape: Shape, plan: FitPlan, settings: Settings) -> Figure:
    fitted = measured("activations")
    size, widest = activation_peak(shape, work.batch)
    seen = encoder_peak(shape, work.batch) if settings.towers else 0
    experts = 0 if settings.counts_counted else expert_workspace(shape, work.batch)
    return Figure(
        component=Component.ACTIVATIONS,
        size=Bytes(size + experts),
        low=Bytes(round(size * fitted["low"])),
        high=Bytes(
            max(round((size + experts) * fitted["high"]) + fitted["slack_mib"] * MIB, round(seen * fitted["high"]))
        ),
        source=f"{widest} at {work.batch.tokens} tokens and {work.batch.seqs} requests (vllm {plan.version}; {fitted['source']})",
        basis="estimated",
    )


def _graphs(work: RankWork, settings: Settings) -> Figure:
    fitted = measured("graphs")
    if not settings.graphs:
        return _exact(Component.GRAPHS, 0, "graphs are switched off", "computed")
    size = graph_memory(work.layers, settings.seqs, settings.tokens)
    return Figure(
        component=Component.GRAPHS,
        size=Bytes(size),
        low=Bytes(round(size * fitted["low"])),
        high=Bytes(round(size * fitted["high"])),
        source=fitted["source"],
        basis="estimated",
    )


def _other(work: RankWork, plan: FitPlan, shape: Shape, settings: Settings) -> tuple[int, Figure]:
    """Size what is neither weights, cache, activations nor graphs, and say what of it the engine does not count."""
    fitted, batch, several = measured("other"), work.batch, plan.parallelism.ranks > 1
    counts = sampler_counts(shape, batch) if settings.second_runner else 0
    kept = expert_workspace(shape, batch) if settings.counts_counted else 0
    states = state_workspace(shape, batch)
    reserved = latent_workspace(shape, batch) + split_workspace(shape, batch) + states
    late = reserved + (0 if settings.counts_counted else counts)
    named = kept + counts + reserved
    hybrid = fitted["hybrid_mib"] * MIB if shape.hybrid else 0
    peers = min(plan.parallelism.ranks - 1, 7)
    base = (fitted["size_mib"] + (fitted["peer_mib"] * peers if several else 0)) * MIB + hybrid
    figure = Figure(
        component=Component.OTHER,
        size=Bytes(named + base),
        low=Bytes(named - states // 2 + fitted["low_mib"] * MIB),
        high=Bytes(named + hybrid + (fitted["high_mib"] + fitted["peer_high_mib"] * peers) * MIB),
        source=fitted["source"],
        basis="estimated",
    )
    return late, figure


def _cache(work: RankWork, settings: Settings, available: int) -> Figure:
    """Say what the engine sets aside: whole blocks of what its budget leaves."""
    blocks = settings.blocks or work.cache.blocks(settings.cache_bytes or available)
    why = "as stated" if settings.blocks or settings.cache_bytes else "what the budget leaves"
    source = f"{blocks} blocks of {work.cache.block_bytes} bytes, {why}"
    return _exact(Component.KV_CACHE, blocks * work.cache.block_bytes, source, "computed")


def _exact(component: Component, size: int, source: str, basis: FigureBasis) -> Figure:
    return Figure(component=component, size=Bytes(size), low=Bytes(size), high=Bytes(size), source=source, basis=basis)


def _scaled(span: Span, part: float) -> Span:
    return Span(
        low=Bytes(int(span.low.count * part)),
        size=Bytes(int(span.size.count * part)),
        high=Bytes(int(span.high.count * part)),
    )
