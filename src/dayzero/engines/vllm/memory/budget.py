"""The budget of every rank of one plan, from the checkpoint's tensors."""

from dataclasses import replace

from dayzero.core.accelerators import Accelerator
from dayzero.core.errors import InputError
from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Place
from dayzero.engines.vllm.memory.explained import formulas, placements
from dayzero.engines.vllm.memory.facts import fact, measured, release
from dayzero.engines.vllm.memory.flags import Flags, check_degrees, read_flags
from dayzero.engines.vllm.memory.kv_cache import CacheLayout, CachePlan, cache_layout
from dayzero.engines.vllm.memory.placement import Group, Part, Split, groups_of
from dayzero.engines.vllm.memory.ranks import RankWork, rank_budget
from dayzero.engines.vllm.memory.runtime import Batch
from dayzero.engines.vllm.memory.settings import Settings, settle
from dayzero.engines.vllm.memory.shape import Attention, Shape, shape_of
from dayzero.engines.vllm.memory.unmodelled import ONLINE, not_counted, not_modelled
from dayzero.engines.vllm.memory.weights import (
    Share,
    WeightPlan,
    check_split,
    experts_per_rank,
    layered,
    stage_layers,
    stage_weights,
)
from dayzero.fit.checkpoint import Basis, Unknown
from dayzero.fit.gpu import gpu_of
from dayzero.fit.model import Budget, Component, FitPlan, RankBudget

_FIRST_READ = (0, 6)
_LAST_READ = (0, 33)


def budget(plan: FitPlan) -> Budget | Unknown:
    """Size every component on every kind of rank; see :class:`dayzero.fit.ports.MemoryModel`."""
    flags = read_flags(plan.flags)
    check_degrees(flags, plan.parallelism)
    gpu = gpu_of(plan)
    shape = shape_of(plan.checkpoint)
    if isinstance(shape, Unknown):
        return shape
    if plan.checkpoint.basis is Basis.INDEX:
        place = Place(artifact="", file=plan.checkpoint.source)
        return Unknown(
            reason="an index names tensors without their sizes, which placing them on ranks needs", place=place
        )
    missing = not_modelled(plan, flags)
    if missing is not None:
        return missing
    shape = _as_cached(shape, plan, flags)
    settings = settle(plan, flags, shape, gpu)
    placed = _weight_plan(plan, flags, shape, settings)
    check_split(shape, placed)
    groups = groups_of(plan.checkpoint)
    works = _works(groups, shape, placed, settings, gpu)
    ranks = tuple(rank_budget(work, plan, shape, settings, gpu) for work in works)
    if plan.explain:
        ranks = _explained(ranks, works, (groups, shape, placed), settings)
    kinds = len(works) // placed.pp
    held = sum((work.weights for work in works[::kinds]), start=Share())  # each stage once
    blocks = _blocks(ranks, works)
    concurrency = min((work.cache.concurrency(blocks) for work in works if work.cache.request_blocks), default=0.0)
    starts = concurrency >= 1
    return Budget(
        ranks=ranks,
        context_tokens=settings.context,
        kv_tokens=_tokens(works, blocks, concurrency, settings) if starts else None,
        max_concurrency=concurrency if starts else None,
        stored=Bytes(held.stored),
        replicated=Bytes(held.repeated),
        added=held.added,
        notes=_notes(plan, groups, shape, settings),
        advisories=_advisories(flags, shape, placed, ranks),
        uncounted=not_counted(flags, shape),
    )


def _tokens(works: tuple[RankWork, ...], blocks: int, concurrency: float, settings: Settings) -> int:
    """Give what the log calls the tokens of the cache."""
    if settings.tokens_by_requests:
        return int(concurrency * settings.context)
    return min(work.cache.tokens(blocks) for work in works if work.cache.block_bytes)


def _as_cached(shape: Shape, plan: FitPlan, flags: Flags) -> Shape:
    """Take over what flags and versions make of the cache: the type of recurrent states, latents as keys and values."""
    word = flags.text("mamba-ssm-cache-dtype", "auto")
    if shape.state is not None and word != "auto":
        shape = replace(shape, state=replace(shape.state, float32=word == "float32"))
    padded = fact("latent_cache", plan.version)["padded_head"]
    if plan.env.get("VLLM_MLA_DISABLE") == "1":
        padded = fact("latent_cache", "0")["padded_head"]
    if not padded or Attention.LATENT not in shape.kinds:
        return shape
    kinds = tuple(Attention.FULL if kind is Attention.LATENT else kind for kind in shape.kinds)
    return replace(shape, kinds=kinds, latent=0, latent_rank=0, absorbed=0, kv_heads=shape.heads, head_size=padded)


def _weight_plan(plan: FitPlan, flags: Flags, shape: Shape, settings: Settings) -> WeightPlan:
    degrees = plan.parallelism
    ep = (degrees.ep or flags.on("enable-expert-parallel")) and shape.experts > 0
    partition = plan.env.get("VLLM_PP_LAYER_PARTITION", "")
    if partition and not all(word.strip().isdigit() for word in partition.split(",")):
        raise InputError(f"VLLM_PP_LAYER_PARTITION is {partition!r}", hint="Name the layers of each stage, as 24,24.")
    mega = flags.text("moe-backend", "") == "deep_gemm_mega_moe"
    return WeightPlan(
        tp=degrees.tp,
        pp=degrees.pp,
        dp=degrees.dp,
        ep=ep,
        redundant=settings.redundant,
        model_bytes=settings.model_bytes,
        online_fp8=flags.text("quantization", "") in ONLINE and not shape.quantisation,
        towers=settings.towers,
        tower_replicated=flags.text("mm-encoder-tp-mode", "weights") == "data",
        drafts=bool(flags.table("speculative-config")),
        pad_experts=shape.quantisation == "mxfp4",
        replicate_shared=ep and degrees.tp > 1 and (degrees.dp > 1 or mega),
        partition=tuple(int(word) for word in partition.split(",")) if partition else (),
        rest_last=bool(fact("left_over_layers", plan.version)["last"]),
    )


def _works(
    groups: tuple[Group, ...], shape: Shape, placed: WeightPlan, settings: Settings, gpu: Accelerator
) -> tuple[RankWork, ...]:
    works = []
    kinds = tuple(
        (experts, ranks, layered(groups, shape, placed, experts)) for experts, ranks in experts_per_rank(shape, placed)
    )
    for stage, (first, last) in enumerate(stage_layers(shape, placed)):
        cache = cache_layout(shape, _cache_plan(placed, settings), first, last)
        for experts, ranks, held in kinds:
            works.append(
                RankWork(
                    name=_name(placed, stage, experts, shape),
                    count=ranks,
                    stage=stage,
                    experts=experts,
                    weights=stage_weights(held, shape, placed, stage),
                    first=first,
                    layers=last - first,
                    cache=cache,
                    batch=_batch(placed, settings, gpu, cache, on_last=stage == placed.pp - 1),
                )
            )
    return tuple(works)


def _name(placed: WeightPlan, stage: int, experts: int, shape: Shape) -> str:
    """Name the ranks that hold the same."""
    parts = ["TP 0" if placed.tp == 1 else f"TP 0-{placed.tp - 1}"]
    if placed.pp > 1:
        parts.append(f"PP {stage}")
    if placed.dp > 1:
        parts.append(f"DP 0-{placed.dp - 1}")
    if placed.ep and (shape.experts + placed.redundant) % (placed.tp * placed.dp):
        parts.append(f"{experts} experts")
    return ", ".join(parts)


def _cache_plan(placed: WeightPlan, settings: Settings) -> CachePlan:
    return CachePlan(
        tp=placed.tp,
        value_bytes=settings.value_bytes,
        model_bytes=settings.model_bytes,
        packed_latent=settings.packed_latent,
        block=settings.block,
        block_multiple=settings.block_multiple,
        in_flight=settings.in_flight,
        speculative=settings.speculative,
        checkpoints=settings.checkpoints,
        hybrid_groups=settings.hybrid_groups,
        chunk_groups=settings.chunk_groups,
        even_groups=settings.even_groups,
        context=settings.context,
    )


def _batch(placed: WeightPlan, settings: Settings, gpu: Accelerator, cache: CacheLayout, *, on_last: bool) -> Batch:
    return Batch(
        tokens=settings.tokens,
        seqs=settings.seqs,
        context=settings.context,
        block=cache.block_tokens,
        tp=placed.tp,
        ep=placed.ep,
        dp=placed.dp,
        model_bytes=settings.model_bytes,
        compute_units=gpu.compute_units,
        split_decode=settings.split_decode,
        last_stage=on_last,
        sampler_bytes=settings.sampler_bytes,
        hidden_copies=settings.hidden_copies,
    )


def _blocks(ranks: tuple[RankBudget, ...], works: tuple[RankWork, ...]) -> int:
    """Count the blocks that every rank has."""
    caches = (
        (rank.figure(Component.KV_CACHE).size.count, work.cache.block_bytes)
        for rank, work in zip(ranks, works, strict=True)
    )
    return min((size // block for size, block in caches if block), default=0)


def _explained(
    ranks: tuple[RankBudget, ...],
    works: tuple[RankWork, ...],
    way: tuple[tuple[Group, ...], Shape, WeightPlan],
    settings: Settings,
) -> tuple[RankBudget, ...]:
    groups, shape, placed = way
    sources = measured("split_sources")
    return tuple(
        replace(
            rank,
            formulas=formulas(rank, work, shape, settings),
            placements=placements(groups, shape, placed, (work.stage, work.experts), sources),
        )
        for rank, work in zip(ranks, works, strict=True)
    )


def _notes(plan: FitPlan, groups: tuple[Group, ...], shape: Shape, settings: Settings) -> tuple[str, ...]:
    notes = []
    version = release(plan.version)[:2]
    if not _FIRST_READ <= version <= _LAST_READ:
        notes.append(
            f"vLLM {plan.version} was not read; its rules are taken to be those of the nearest version that was"
        )
    unplaced = sorted(
        {
            group.module
            for group in groups
            if group.split is Split.UNKNOWN and group.part in {Part.LAYER, Part.SHARED_EXPERT, Part.LAST}
        }
    )
    if unplaced:
        notes.append(
            f"how vLLM splits {', '.join(unplaced)} is not known: counted whole, and at the least split evenly"
        )
    if settings.towers and any(group.part is Part.TOWER for group in groups):
        notes.append("the encoder's own activations count only in what the activations take at most")
    if shape.experts and plan.parallelism.dp > 1:
        notes.append("what the exchange between data-parallel experts buffers is not counted")
    return tuple(notes)


def _advisories(flags: Flags, shape: Shape, placed: WeightPlan, ranks: tuple[RankBudget, ...]) -> tuple[str, ...]:
    advice = []
    if "cpu-offload-gb" in flags.values:
        where = "experts stay on the GPU: " if shape.experts else ""
        advice.append(
            f"--cpu-offload-gb is not counted; {where}a run of Kimi-K3 with it allocated the same bytes as one without"
        )
    if any(rank.overcommitted[1].count for rank in ranks):
        advice.append(
            "part of what vLLM allocates comes after it has sized the cache: lower --max-num-seqs or --gpu-memory-utilization"
        )
    if placed.tp > shape.kv_heads and not shape.latent:
        advice.append(f"tp {placed.tp} repeats {shape.kv_heads} key-value heads: a rank caches at least one of them")
    return tuple(advice)
