"""How each figure of a rank comes about, with the numbers put in, and where every kind of tensor goes."""

from collections.abc import Iterator, Mapping

from dayzero.core.quantities import Bytes
from dayzero.engines.vllm.memory.facts import measured
from dayzero.engines.vllm.memory.placement import Group, Part, Split
from dayzero.engines.vllm.memory.ranks import RankWork
from dayzero.engines.vllm.memory.runtime import (
    activation_peak,
    captured_graphs,
    expert_workspace,
    latent_rows,
    latent_workspace,
    sampler_counts,
    split_workspace,
    splits_of,
    state_workspace,
)
from dayzero.engines.vllm.memory.settings import Settings
from dayzero.engines.vllm.memory.shape import Attention, Shape
from dayzero.engines.vllm.memory.weights import WeightPlan, absorbed_bytes, parts_of, share_of, times_held
from dayzero.fit.model import Component, Formula, Placement, RankBudget

_SPLIT = {
    Split.COLUMN: "by output rows",
    Split.ROW: "by input columns",
    Split.KEYS: "by key-value heads",
    Split.FUSED: "by heads",
    Split.VOCABULARY: "by tokens of the vocabulary",
}


def placements(
    groups: tuple[Group, ...], shape: Shape, plan: WeightPlan, at: tuple[int, int], sources: Mapping[str, str]
) -> tuple[Placement, ...]:
    """Say of every kind of tensor what is stored of it for a rank's stage, what the rank holds, and how it is split.

    Args:
        groups: All groups of the checkpoint.
        shape: The model.
        plan: How it is spread.
        at: The rank's pipeline stage, and the experts of a layer that it holds.
        sources: Where in the engine each split is written, by the name of the split.
    """
    stage, experts = at
    rows = []
    for group in groups:
        number = times_held(group.part, group.layers, shape, plan, stage)
        share = share_of(group, shape, plan, experts).times(number)
        key = "expert" if group.part is Part.EXPERT else group.split.value
        row = Placement(
            name=group.stem.replace(".*.", ".").removeprefix("language_model.").removeprefix("model."),
            number=number * group.count,
            stored=Bytes(share.stored),
            held=Bytes(share.rank),
            how=_how(group, shape, plan, experts),
            source=sources[key],
        )
        rows += [row] if number else []
    absorbed, latents = absorbed_bytes(shape, plan, stage)
    if absorbed:
        again = Placement(
            name="kv_b_proj, again for decoding",
            number=latents,
            stored=Bytes(0),
            held=Bytes(absorbed),
            how=f"in {plan.tp} by heads" if plan.tp > 1 else "whole",
            source=sources["absorbed"],
        )
        rows.append(again)
    return tuple(sorted(rows, key=lambda row: -row.held.count))


def _how(group: Group, shape: Shape, plan: WeightPlan, experts: int) -> str:
    ranks = plan.tp * plan.dp
    if group.part is Part.EXPERT:
        if plan.ep:
            return f"experts: {experts} of {shape.experts + plan.redundant}"
        return f"each expert in {ranks}" if ranks > 1 else "whole"
    if group.split is Split.UNKNOWN:
        return "not known: counted whole"
    parts = parts_of(group, shape, plan)
    copies = f", each part on {plan.tp // parts} ranks" if parts < plan.tp else ""
    return f"in {parts} {_SPLIT[group.split]}{copies}" if parts > 1 else "whole"


def formulas(rank: RankBudget, work: RankWork, shape: Shape, settings: Settings) -> tuple[Formula, ...]:
    """Write the formulas of one kind of rank; each one's expression comes to its value."""
    reserved = tuple(_of_workspaces(work, shape, settings))
    in_peak = 0 if settings.counts_counted else expert_workspace(shape, work.batch)
    rows = (
        *_of_cache(work, shape, settings),
        _of_activations(work, shape, in_peak),
        *reserved,
        *_of_other(rank, sum(size for _, _, size, _ in reserved) - in_peak),
        *_of_budget(rank, work, settings),
    )
    return tuple(
        Formula(name=name, expression=expression, value=Bytes(value), source=source)
        for name, expression, value, source in rows
        if value
    )


_Row = tuple[str, str, int, str]


def _of_cache(work: RankWork, shape: Shape, settings: Settings) -> Iterator[_Row]:
    tp, each = work.batch.tp, settings.value_bytes
    kinds = shape.kinds[work.first : work.first + work.layers]
    latents = kinds.count(Attention.LATENT)
    source = "vllm 0.27.1, v1/kv_cache_interface.py:155-170 and 410-431"
    if latents and settings.packed_latent:
        yield "a token", f"{latents} layers x {settings.packed_latent} B", latents * settings.packed_latent, source
    elif latents:
        yield "a token", f"{latents} layers x {shape.latent} x {each} B", latents * shape.latent * each, source
    indexer = shape.indexer + shape.indexer // 128 * 4 if latents else 0
    numbers = f"{latents} layers x ({shape.indexer} + {shape.indexer // 128} x 4) B"
    yield "a token's indexer key", numbers, latents * indexer, source
    for name, kind in (
        ("a token", Attention.FULL),
        ("a token in a window", Attention.WINDOW),
        ("a token in a chunk", Attention.CHUNK),
    ):
        number = kinds.count(kind)
        heads, held = max(shape.kv_heads // tp, 1), f"{shape.kv_heads} heads / {tp} ranks"
        if shape.kv_heads < tp:
            held = "1 repeated head"
        numbers = f"2 x {number} layers x {held} x {shape.head_size} x {each} B"
        yield name, numbers, 2 * number * heads * shape.head_size * each, source
    yield from _of_states(work, shape, settings)
    cache = work.cache
    yield (
        f"cache of one request, in blocks of {cache.block_tokens} tokens",
        f"{cache.request_blocks:,} blocks x {cache.block_bytes:,} B",
        cache.request_bytes,
        "vllm 0.27.1, v1/core/kv_cache_utils.py:1890-1950",
    )


def _of_states(work: RankWork, shape: Shape, settings: Settings) -> Iterator[_Row]:
    tp, kinds = work.batch.tp, shape.kinds[work.first : work.first + work.layers]
    state = shape.state
    if state is not None and kinds.count(Attention.STATE):
        number, kept = kinds.count(Attention.STATE), state.conv_tokens + settings.speculative
        recurrent = 4 if state.float32 else settings.model_bytes
        numbers = (
            f"{number} layers x ({state.conv_channels:,} channels / {tp} ranks x {kept} x {settings.model_bytes} B"
            f" + {state.recurrent:,} numbers / {tp} ranks x {recurrent} B)"
        )
        size = state.conv_channels // tp * kept * settings.model_bytes + state.recurrent // tp * recurrent
        yield (
            "recurrent states of a request",
            numbers,
            number * size,
            "vllm 0.27.1, model_executor/layers/mamba/mamba_utils.py:141-294",
        )


def _of_activations(work: RankWork, shape: Shape, experts: int) -> _Row:
    batch, each = work.batch, work.batch.model_bytes
    size, widest = activation_peak(shape, batch)
    rows = min(batch.seqs, batch.tokens)
    hidden = f"{batch.tokens:,} tokens x {shape.hidden:,} x {each} B"
    numbers = f"{rows:,} requests x {shape.vocabulary:,} x {batch.sampler_bytes} B + 2 x {hidden}"
    if widest != "the sampler":
        width = size // (batch.tokens * each) - batch.hidden_copies * shape.hidden
        numbers = f"{batch.tokens:,} tokens x ({width:,} + {batch.hidden_copies} x {shape.hidden:,}) x {each} B"
    numbers += f" + {experts:,} expert workspace" if experts else ""
    return f"activations, {widest}", numbers, size + experts, measured("activations")["source"]


def _of_workspaces(work: RankWork, shape: Shape, settings: Settings) -> Iterator[_Row]:
    batch, each = work.batch, work.batch.model_bytes
    inner = shape.expert_mlp if batch.ep else -(-shape.expert_mlp // (batch.tp * batch.dp))
    outer = shape.expert_hidden
    rooms = f"(max({inner:,}, {outer:,}) + max({2 * inner:,}, {outer:,}))"
    yield (
        "expert workspace",
        f"{batch.tokens * batch.dp:,} tokens x {shape.top_k} experts x {rooms} x {each} B",
        expert_workspace(shape, batch),
        "vllm 0.27.1, model_executor/layers/fused_moe/experts/marlin_moe.py:735-765",
    )
    yield (
        "sampler's counts",
        f"{batch.seqs:,} requests x ({shape.vocabulary:,} x 4 B + {-(-shape.vocabulary // 32):,} x 4 B)",
        sampler_counts(shape, batch) if settings.second_runner else 0,
        "vllm 0.27.1, v1/worker/gpu/sample/penalties.py:32-45",
    )
    yield (
        "latent workspace",
        f"{latent_rows(batch):,} rows x {shape.latent} x {each} B",
        latent_workspace(shape, batch),
        "vllm 0.27.1, model_executor/layers/attention/mla_attention.py:1803-1831",
    )
    yield (
        "split-decode workspace",
        f"{batch.seqs:,} requests x {shape.heads // batch.tp} heads x {splits_of(batch)} splits x ({shape.latent_rank} + 1) x 4 B",
        split_workspace(shape, batch),
        "vllm 0.27.1, v1/attention/backends/mla/triton_mla.py:67-92",
    )
    if shape.state is not None:
        yield (
            "recurrent states of a prefill",
            f"2 x {min(batch.seqs, batch.tokens):,} requests x {shape.state.recurrent // batch.tp:,} x 4 B",
            state_workspace(shape, batch),
            "vllm 0.27.1, models/kimi_k3/nvidia/kda.py:193-195",
        )


def _of_other(rank: RankBudget, reserved: int) -> Iterator[_Row]:
    other = rank.figure(Component.OTHER)
    if other.basis == "estimated":
        rest = f"{reserved:,} named above + {other.size.count - reserved:,} beside torch"
        yield "other", rest, other.size.count, measured("other")["source"]


def _of_budget(rank: RankBudget, work: RankWork, settings: Settings) -> Iterator[_Row]:
    graphs, fitted = rank.figure(Component.GRAPHS), measured("graphs")
    if settings.graphs and graphs.basis == "estimated":
        number = captured_graphs(settings.seqs, settings.tokens)
        numbers = f"{number} graphs x ({fitted['fixed_mib']} + {fitted['layer_mib']} x {work.layers} layers) MiB"
        yield "graphs", numbers, graphs.size.count, fitted["source"]
    total = round(rank.budget.count / settings.utilisation)
    source = "vllm 0.27.1, v1/worker/utils.py:409-429"
    if not settings.cache_bytes:
        yield "what vLLM may use", f"{settings.utilisation:g} x {total:,} B", rank.budget.count, source
    used = {
        figure.component: figure.size.count for figure in rank.figures if figure.component is not Component.KV_CACHE
    }
    named = " - ".join(f"{size:,} {component.value}" for component, size in used.items() if size)
    blocks = rank.figure(Component.KV_CACHE).size.count // work.cache.block_bytes if work.cache.block_bytes else 0
    late = f" + {rank.late.count:,} allocated later" if rank.late.count else ""
    if not settings.cache_bytes and not settings.blocks:
        left = rank.budget.count - sum(used.values()) + rank.late.count
        yield "left for the cache", f"{rank.budget.count:,} - {named}{late}", max(left, 0), source
    yield (
        "cache",
        f"{blocks:,} blocks x {work.cache.block_bytes:,} B",
        blocks * work.cache.block_bytes,
        "vllm 0.27.1, v1/core/kv_cache_utils.py:937 and 1781-1850",
    )
