"""One kind of rank: its figures with their intervals, and what they may take."""

from dataclasses import dataclass

from dayzero.core.accelerators import Accelerator, Span
from dayzero.core.quantities import Bytes
from dayzero.engines.sglang.memory.facts import measured
from dayzero.engines.sglang.memory.pool import Held, Pool, asked_by, held_by, taken_by
from dayzero.engines.sglang.memory.settings import Settings
from dayzero.engines.vllm.memory.runtime import Batch, activation_peak, expert_workspace
from dayzero.engines.vllm.memory.shape import Shape
from dayzero.engines.vllm.memory.weights import Share
from dayzero.fit.model import Component, Figure, FigureBasis, FitPlan, RankBudget

_MIB = 1024**2
_MOST_REQUESTS, _FEWEST_REQUESTS = 4096, 2048
_SIZES = ("low", "size", "high")


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
        pool: How their cache is cut.
        batch: The work of one step.
        peers: Other GPUs of the instance.
    """

    name: str
    count: int
    stage: int
    experts: int
    weights: Share
    first: int
    layers: int
    pool: Pool
    batch: Batch
    peers: int


@dataclass(frozen=True, slots=True)
class Ranked:
    """A rank's budget, and what its pools hold."""

    budget: RankBudget
    held: Held


def rank_budget(work: RankWork, plan: FitPlan, shape: Shape, settings: Settings, gpu: Accelerator) -> Ranked:
    """Put the figures of one kind of rank together; measured ones stand in for the computed ones.

    What is left beside the weights is sized as SGLang does: from what is free before they load, not from the GPU's whole memory.
    Activations, graphs and the rest come from what the fraction leaves over: whatever they take, the fraction is held to by weights
    and cache alone, so that the limit rises with what they need.
    """
    free = _free(gpu, work.peers)
    budget = Span(**{name: Bytes(int(getattr(free, name).count * settings.fraction)) for name in _SIZES})
    given = {figure.component: figure for figure in plan.measured}
    weights = given.pop(Component.WEIGHTS, None) or _weights(work, plan)
    held = held_by(budget.size.count - weights.size.count - settings.modalities_bytes, work.pool, settings)
    cache = given.pop(Component.KV_CACHE, None) or _cache(held, work.pool, settings)
    late = {
        figure.component: figure
        for figure in (_activations(work, shape, plan), _graphs(work, settings), _other(work, settings, held))
    } | given
    after = {name: sum(getattr(figure, name).count for figure in late.values()) for name in _SIZES}
    return Ranked(
        RankBudget(
            rank=work.name,
            count=work.count,
            figures=(weights, cache, *late.values()),
            request=_request(work.pool, settings),
            free=free.size,
            free_source=f"{gpu.source}; {measured('taken')['source']}",
            budget=budget.size,
            late=Bytes(after["size"]),
            limit_low=Bytes(min(free.low.count, budget.low.count + after["high"])),
            limit_high=Bytes(min(free.high.count, budget.high.count + after["low"])),
            overcommitted=_overcommitted(weights, cache, after, free) if held.tokens else (Bytes(0), Bytes(0)),
        ),
        held,
    )


def _free(gpu: Accelerator, peers: int) -> Span:
    """Give what is free when the weights begin to load: the driver's context and the communicator are taken by then."""
    taken = measured("taken")
    low, size, high = (
        (taken[f"{name}_mib"] + peers * taken[f"peer{suffix}_mib"]) * _MIB
        for name, suffix in (("low", "_low"), ("size", ""), ("high", "_high"))
    )
    total = gpu.total
    return Span(
        low=Bytes(total.low.count - high), size=Bytes(total.size.count - size), high=Bytes(total.high.count - low)
    )


def _overcommitted(weights: Figure, cache: Figure, after: dict[str, int], free: Span) -> tuple[Bytes, Bytes]:
    """Say by how much, least and likeliest, everything exceeds what is free with the cache that SGLang takes."""
    least = weights.low.count + cache.low.count + after["low"] - free.high.count
    likeliest = weights.size.count + cache.size.count + after["size"] - free.size.count
    return Bytes(max(least, 0)), Bytes(max(likeliest, 0))


def _weights(work: RankWork, plan: FitPlan) -> Figure:
    fitted, size = measured("weights"), work.weights.rank
    return Figure(
        component=Component.WEIGHTS,
        size=Bytes(round(size * fitted["size"])),
        low=Bytes(work.weights.low),
        high=Bytes(round(size * fitted["high"]) + fitted["slack_mib"] * _MIB),
        source=f"{plan.checkpoint.source} ({plan.checkpoint.basis.value}), placed as sglang {plan.version} places it",
        basis="computed",
    )


def _cache(held: Held, pool: Pool, settings: Settings) -> Figure:
    size = taken_by(held, pool, settings) if held.tokens else 0
    states = f" and {held.states} recurrent states of {pool.state_bytes:,} bytes" if pool.state_bytes else ""
    source = (
        f"{held.tokens:,} tokens of {pool.token_bytes:,.0f} bytes{states}, what the fraction leaves beside the weights"
    )
    return _exact(Component.KV_CACHE, size, source, "computed")


def _request(pool: Pool, settings: Settings) -> Figure:
    tokens = settings.context if settings.context_stated else settings.page
    why = (
        "tokens of the context asked for" if settings.context_stated else "tokens of one page, with which SGLang starts"
    )
    return _exact(Component.KV_CACHE, asked_by(tokens, pool, settings), f"{why}: {tokens:,}", "computed")


def _activations(work: RankWork, shape: Shape, plan: FitPlan) -> Figure:
    fitted = measured("activations")
    peak, widest = activation_peak(shape, work.batch)
    size = peak + expert_workspace(shape, work.batch)
    return Figure(
        component=Component.ACTIVATIONS,
        size=Bytes(size),
        low=Bytes(round(size * fitted["low"])),
        high=Bytes(round(size * fitted["high"]) + fitted["slack_mib"] * _MIB),
        source=f"{widest} at {work.batch.tokens} tokens of a prefill chunk (sglang {plan.version}; {fitted['source']})",
        basis="estimated",
    )


def _graphs(work: RankWork, settings: Settings) -> Figure:
    fitted, number = measured("graphs"), settings.batches + settings.prefills
    if not number:
        return _exact(Component.GRAPHS, 0, "graphs are switched off", "computed")
    size = fresh_graphs(settings) * work.layers * fitted["layer_mib"] * _MIB
    return Figure(
        component=Component.GRAPHS,
        size=Bytes(round(size)),
        low=Bytes(round(size * fitted["low"])),
        high=Bytes(round(size * fitted["high"])),
        source=f"{number} sizes of {work.layers} layers ({fitted['source']})",
        basis="estimated",
    )


def fresh_graphs(settings: Settings) -> float:
    """Count the captured sizes that take memory of their own."""
    beside: float = measured("graphs")["beside_prefills"] if settings.prefills else 1
    return settings.batches * beside + settings.prefills


def _other(work: RankWork, settings: Settings, held: Held) -> Figure:
    fitted, table = measured("other"), request_table(held, settings)
    size, low, high = (fitted[f"{name}_mib"] * _MIB + table for name in ("size", "low", "high"))
    return Figure(
        component=Component.OTHER,
        size=Bytes(size),
        low=Bytes(low),
        high=Bytes(high + work.peers * measured("taken")["peer_mib"] * _MIB),
        source=f"a table of {most_requests(held, settings):,} requests, and {fitted['source']}",
        basis="estimated",
    )


def most_requests(held: Held, settings: Settings) -> int:
    """Say how many requests may run at once (sglang 0.5.10, srt/model_executor/model_runner_kv_cache_mixin.py:650-675)."""
    estimated = max(min(int(held.tokens / settings.context * 512), _MOST_REQUESTS), _FEWEST_REQUESTS)
    most = min(settings.running or estimated, estimated, max(held.tokens // 2, 1))
    return min(most, max(held.states // settings.states.of_request, 1)) if held.states else most


def request_table(held: Held, settings: Settings) -> int:
    """Size the table from request and place to cache slot: 4 bytes for each token that each request may have."""
    return most_requests(held, settings) * (settings.context + 4) * 4


def _exact(component: Component, size: int, source: str, basis: FigureBasis) -> Figure:
    return Figure(component=component, size=Bytes(size), low=Bytes(size), high=Bytes(size), source=source, basis=basis)
