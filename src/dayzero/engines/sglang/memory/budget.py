"""The budget of every rank of one plan, from the checkpoint's tensors."""

from dataclasses import replace

from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Place
from dayzero.engines.sglang.memory.explained import formulas
from dayzero.engines.sglang.memory.facts import measured, release
from dayzero.engines.sglang.memory.flags import read_flags
from dayzero.engines.sglang.memory.pool import pool_of
from dayzero.engines.sglang.memory.ranks import Ranked, RankWork, rank_budget
from dayzero.engines.sglang.memory.settings import Settings, settle
from dayzero.engines.sglang.memory.unmodelled import not_counted, not_modelled
from dayzero.engines.vllm.memory.explained import placements
from dayzero.engines.vllm.memory.flags import Flags
from dayzero.engines.vllm.memory.placement import Group, Part, Split, groups_of
from dayzero.engines.vllm.memory.runtime import Batch
from dayzero.engines.vllm.memory.shape import Shape, shape_of
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
from dayzero.fit.model import Budget, FitPlan, RankBudget

_READ = ((0, 4, 6), (0, 4, 9), (0, 5, 10), (0, 5, 18))


def budget(plan: FitPlan) -> Budget | Unknown:
    """Size every component on every kind of rank; see :class:`dayzero.fit.ports.MemoryModel`."""
    flags, gpu = read_flags(plan.flags), gpu_of(plan)
    shape = shape_of(plan.checkpoint)
    if isinstance(shape, Unknown):
        return shape
    if plan.checkpoint.basis is Basis.INDEX:
        place = Place(artifact="", file=plan.checkpoint.source)
        reason = "an index names tensors without their sizes, which placing them on ranks needs"
        return Unknown(reason=reason, place=place)
    missing = not_modelled(plan, flags, shape)
    if missing is not None:
        return missing
    settings = settle(plan, flags, shape, gpu)
    placed = _weight_plan(plan, flags, shape, settings)
    check_split(shape, placed)
    groups = groups_of(plan.checkpoint)
    works = _works(groups, shape, placed, settings, plan)
    ranked = tuple(rank_budget(work, plan, shape, settings, gpu) for work in works)
    ranks = tuple(rank.budget for rank in ranked)
    if plan.explain:
        ways = _ways(groups, shape, placed)
        ranks = tuple(_explained(rank, work, settings, plan, ways) for rank, work in zip(ranked, works, strict=True))
    tokens = min(rank.held.tokens for rank in ranked)
    kinds = len(works) // placed.pp
    held = sum((work.weights for work in works[::kinds]), start=Share())  # each stage once
    return Budget(
        ranks=ranks,
        context_tokens=settings.context,
        kv_tokens=tokens or None,
        max_concurrency=tokens / settings.context if tokens else None,
        stored=Bytes(held.stored),
        replicated=Bytes(held.repeated),
        added=held.added,
        notes=_notes(plan, groups, shape, settings),
        advisories=_advisories(flags, shape, placed, settings, ranked),
        uncounted=not_counted(flags),
    )


def _weight_plan(plan: FitPlan, flags: Flags, shape: Shape, settings: Settings) -> WeightPlan:
    degrees = plan.parallelism
    exchange = flags.text("moe-a2a-backend", "none") != "none" or flags.on("enable-deepep-moe")
    return WeightPlan(
        tp=degrees.tp,
        pp=degrees.pp,
        dp=degrees.dp if settings.attention_parallel else 1,
        ep=(degrees.ep or exchange) and shape.experts > 0,
        redundant=settings.redundant,
        model_bytes=settings.model_bytes,
        online_fp8=flags.text("quantization", "") in {"fp8", "w8a8_fp8"} and not shape.quantisation,
        towers=settings.towers,
        tower_replicated=flags.on("mm-enable-dp-encoder"),
        drafts=settings.draft_layers > 0,
        pad_experts=shape.quantisation == "mxfp4",
        replicate_shared=exchange,
    )


def _works(
    groups: tuple[Group, ...], shape: Shape, placed: WeightPlan, settings: Settings, plan: FitPlan
) -> tuple[RankWork, ...]:
    works = []
    copies = 1 if settings.attention_parallel else plan.parallelism.dp
    for stage, (first, last) in enumerate(stage_layers(shape, placed)):
        for experts, ranks in experts_per_rank(shape, placed):
            works.append(
                RankWork(
                    name=_name(plan, stage, experts, spread=len(experts_per_rank(shape, placed)) > 1),
                    count=ranks * copies,
                    stage=stage,
                    experts=experts,
                    weights=_placed(groups, shape, placed, stage, experts),
                    first=first,
                    layers=last - first,
                    pool=pool_of(shape, settings, placed.tp, first, last),
                    batch=_batch(placed, settings, on_last=stage == placed.pp - 1),
                    peers=placed.tp * placed.pp * placed.dp - 1,
                )
            )
    return tuple(works)


def _name(plan: FitPlan, stage: int, experts: int, *, spread: bool) -> str:
    """Name the ranks that hold the same."""
    degrees = plan.parallelism
    parts = ["TP 0" if degrees.tp == 1 else f"TP 0-{degrees.tp - 1}"]
    parts += [f"PP {stage}"] if degrees.pp > 1 else []
    parts += [f"DP 0-{degrees.dp - 1}"] if degrees.dp > 1 else []
    return ", ".join([*parts, *([f"{experts} experts"] if spread else [])])


def _batch(placed: WeightPlan, settings: Settings, *, on_last: bool) -> Batch:
    return Batch(
        tokens=settings.chunk,
        seqs=min(settings.largest_batch, settings.running or settings.largest_batch),
        context=settings.context,
        block=settings.page,
        tp=placed.tp,
        ep=placed.ep,
        dp=placed.dp,
        model_bytes=settings.model_bytes,
        compute_units=0,
        split_decode=False,
        last_stage=on_last,
    )


def _placed(groups: tuple[Group, ...], shape: Shape, placed: WeightPlan, stage: int, experts: int) -> Share:
    """Add up one rank's weights; with data-parallel attention the rest of the model is split over all ranks.

    Source: sglang 0.5.18, srt/models/deepseek_v2.py and srt/layers/vocab_parallel_embedding.py: the embedding is whole on each rank
    then, the dense MLP and the head are split over tp as SGLang counts it.
    """
    return sum(
        (
            stage_weights(layered(some, of, way, experts), of, way, stage)
            for some, of, way in _ways(groups, shape, placed)
        ),
        start=Share(),
    )


def _ways(
    groups: tuple[Group, ...], shape: Shape, placed: WeightPlan
) -> tuple[tuple[tuple[Group, ...], Shape, WeightPlan], ...]:
    """Give the groups that are spread alike, each with the model and the plan by which they are."""
    if placed.dp == 1:
        return ((groups, shape, placed),)
    ranks, rest = placed.tp * placed.dp, replace(shape, absorbed=0)
    parts: dict[str, list[Group]] = {"attention": [], "everywhere": [], "alone": []}
    for group in groups:
        parts[_where(group)].append(group)
    return (
        (tuple(parts["attention"]), shape, placed),
        (tuple(parts["everywhere"]), rest, replace(placed, tp=ranks, dp=1)),
        (tuple(parts["alone"]), rest, replace(placed, tp=1, dp=ranks)),
    )


def _explained(
    rank: Ranked,
    work: RankWork,
    settings: Settings,
    plan: FitPlan,
    ways: tuple[tuple[tuple[Group, ...], Shape, WeightPlan], ...],
) -> RankBudget:
    sources, at = measured("split_sources"), (work.stage, work.experts)
    rows = [row for groups, shape, placed in ways for row in placements(groups, shape, placed, at, sources)]
    return replace(
        rank.budget,
        formulas=formulas(rank, work, ways[0][1], settings, plan.version),
        placements=tuple(sorted(rows, key=lambda row: -row.held.count)),
    )


def _where(group: Group) -> str:
    if group.part is Part.EMBEDDING:
        return "alone"
    if group.part in {Part.EXPERT, Part.SHARED_EXPERT, Part.HEAD} or ".mlp." in group.stem:
        return "everywhere"
    return "attention"


def _notes(plan: FitPlan, groups: tuple[Group, ...], shape: Shape, settings: Settings) -> tuple[str, ...]:
    notes = []
    if release(plan.version)[:3] not in _READ:
        notes.append(
            f"SGLang {plan.version} was not read; its rules are taken to be those of the version before that was"
        )
    parts = {Part.LAYER, Part.SHARED_EXPERT, Part.LAST}
    unplaced = sorted({group.module for group in groups if group.split is Split.UNKNOWN and group.part in parts})
    if unplaced:
        notes.append(f"how {', '.join(unplaced)} is split is not known: counted whole, and at the least split evenly")
    if settings.towers and any(group.part is Part.TOWER for group in groups):
        notes.append("the encoder's own activations are not counted")
    if settings.draft_layers:
        notes.append("a draft model with weights of its own is counted only where the checkpoint holds it")
    if shape.experts and plan.parallelism.dp > 1:
        notes.append("what the exchange between experts buffers is not counted")
    return tuple(notes)


def _advisories(
    flags: Flags, shape: Shape, placed: WeightPlan, settings: Settings, ranked: tuple[Ranked, ...]
) -> tuple[str, ...]:
    advice, tokens = [], min(rank.held.tokens for rank in ranked)
    if 0 < tokens < settings.context:
        advice.append(
            f"the cache holds {tokens:,} tokens, the context is {settings.context:,}: SGLang starts and refuses longer requests"
        )
    if not tokens:
        advice.append(
            "nothing is left for the cache: SGLang ends with `Not enough memory` and asks for a larger --mem-fraction-static"
        )
    if any(rank.budget.overcommitted[1].count for rank in ranked):
        advice.append(
            "graphs and activations need more than is left: lower --mem-fraction-static, --cuda-graph-max-bs or the prefill chunk"
        )
    if "cpu-offload-gb" in flags.values:
        advice.append("--cpu-offload-gb is not counted")
    if placed.tp > shape.kv_heads > 0 and not shape.latent:
        advice.append(f"tp {placed.tp} repeats {shape.kv_heads} key-value heads: a rank caches at least one of them")
    return tuple(advice)
