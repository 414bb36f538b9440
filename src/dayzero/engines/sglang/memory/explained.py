"""How each figure of a rank comes about, with the numbers put in."""

from collections.abc import Iterator

from dayzero.core.quantities import Bytes
from dayzero.engines.sglang.memory.facts import fact, measured
from dayzero.engines.sglang.memory.ranks import Ranked, RankWork, fresh_graphs, most_requests, request_table
from dayzero.engines.sglang.memory.settings import Settings
from dayzero.engines.vllm.memory.shape import Attention, Shape
from dayzero.fit.model import Component, Formula

_Row = tuple[str, str, int, str]


def formulas(ranked: Ranked, work: RankWork, shape: Shape, settings: Settings, version: str) -> tuple[Formula, ...]:
    """Write the formulas of one kind of rank; each one's expression comes to its value."""
    return tuple(
        Formula(name=name, expression=expression, value=Bytes(value), source=source)
        for name, expression, value, source in (
            *_of_budget(ranked, settings, version),
            *_of_cache(ranked, work, shape, settings),
            *_of_runtime(ranked, work, settings),
        )
        if value
    )


def _of_budget(ranked: Ranked, settings: Settings, version: str) -> Iterator[_Row]:
    rank, source = ranked.budget, fact("static", version)["source"]
    name = "weights and cache may take"
    if settings.reserved:
        name = f"{name}, by default (reserved: {settings.reserved})"
    yield name, f"{settings.fraction:g} x {rank.free.count:,} B", rank.budget.count, source
    weights = rank.figure(Component.WEIGHTS).size.count
    kept = f" - {settings.modalities_bytes:,} for other modalities" if settings.modalities_bytes else ""
    left = rank.budget.count - weights - settings.modalities_bytes
    yield "left for the cache", f"{rank.budget.count:,} - {weights:,} weights{kept}", max(left, 0), source


def _of_cache(ranked: Ranked, work: RankWork, shape: Shape, settings: Settings) -> Iterator[_Row]:
    pool, held = work.pool, ranked.held
    yield "a token", pool.words, int(pool.token_bytes), "sglang 0.5.18, srt/model_executor/pool_configurator.py:216-330"
    states, tp = "", work.batch.tp
    if shape.state is not None and pool.state_bytes:
        layers = shape.kinds[work.first : work.first + work.layers].count(Attention.STATE)
        conv = f"{shape.state.conv_channels:,} channels / {tp} ranks x {shape.state.conv_tokens} x 2 B"
        numbers = f"{layers} layers x ({conv} + {shape.state.recurrent:,} numbers / {tp} ranks x {settings.states.value_bytes} B)"
        yield "recurrent states of a request", numbers, pool.state_bytes, "sglang 0.5.18, srt/configs/mamba_utils.py"
        states = f" + ({held.states} + {settings.states.padding}) states x {pool.state_bytes:,} B"
    yield (
        "cache",
        f"{held.tokens:,} tokens x {pool.token_bytes:,.1f} B{states}",
        ranked.budget.figure(Component.KV_CACHE).size.count,
        "sglang 0.5.18, srt/model_executor/pool_configurator.py:415-432",
    )


def _of_runtime(ranked: Ranked, work: RankWork, settings: Settings) -> Iterator[_Row]:
    held, graphs, fitted = ranked.held, ranked.budget.figure(Component.GRAPHS), measured("graphs")
    yield (
        "table of requests",
        f"{most_requests(held, settings):,} requests x {settings.context + 4:,} tokens x 4 B",
        request_table(held, settings),
        "sglang 0.5.10, srt/mem_cache/memory_pool.py, ReqToTokenPool",
    )
    if graphs.basis == "estimated":
        numbers = f"{fresh_graphs(settings):g} sizes x {work.layers} layers x {fitted['layer_mib']} MiB"
        yield "graphs", numbers, graphs.size.count, fitted["source"]
