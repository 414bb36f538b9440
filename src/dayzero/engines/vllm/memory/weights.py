"""The weights of one rank: each group of tensors split, repeated, padded and converted as vLLM loads it."""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate, pairwise

from dayzero.core.errors import InputError
from dayzero.engines.vllm.memory.placement import Group, Part, Split, is_transposed, stays_float32
from dayzero.engines.vllm.memory.shape import Attention, Shape

_FLOATS = {"BF16": 2, "F16": 2, "F32": 4, "F64": 8}
_VOCABULARY_PADDING = 64
_ONCE = {Part.EMBEDDING, Part.HEAD, Part.LAST, Part.TOWER, Part.DRAFT}


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightPlan:
    """What decides about the weights of a rank beside the model.

    Attributes:
        tp: Ranks of a tensor-parallel group.
        pp: Pipeline stages.
        dp: Replicas of the attention layers.
        ep: Experts are spread whole over the tp x dp ranks.
        redundant: Experts that are held twice, of each layer.
        model_bytes: Bytes of one number in the model's own type.
        online_fp8: Weights in a float type are quantised to 8 bits while they are loaded.
        towers: Encoders of other modalities are loaded.
        tower_replicated: Each rank holds a whole encoder.
        drafts: Heads of speculative decoding are loaded.
        pad_experts: Experts' sizes are rounded up to what the MXFP4 kernels take.
        replicate_shared: Shared experts are held whole by each rank.
        partition: Layers of each stage, where the user states them.
        rest_last: The last stage takes the layers that are left over.
    """

    tp: int
    pp: int
    dp: int
    ep: bool
    redundant: int
    model_bytes: int
    online_fp8: bool
    towers: bool
    tower_replicated: bool
    drafts: bool
    pad_experts: bool
    replicate_shared: bool
    partition: tuple[int, ...] = ()
    rest_last: bool = False


@dataclass(frozen=True, slots=True)
class Share:
    """Bytes of one rank, and of all ranks of its stage together, with what accounts for them.

    Attributes:
        rank: What the rank holds.
        low: No less than this, where it is not known how vLLM splits a tensor.
        stored: What the checkpoint stores of it.
        repeated: What the ranks of the stage hold more than once, as the checkpoint stores it.
        added: What the ranks of the stage hold beside, from padding, other types and copies; less than 0 where they hold less.
    """

    rank: int = 0
    low: int = 0
    stored: int = 0
    repeated: int = 0
    added: int = 0

    def __add__(self, other: "Share") -> "Share":
        return Share(
            self.rank + other.rank,
            self.low + other.low,
            self.stored + other.stored,
            self.repeated + other.repeated,
            self.added + other.added,
        )

    def times(self, number: int) -> "Share":
        """Take it as often as layers are alike."""
        return Share(
            self.rank * number, self.low * number, self.stored * number, self.repeated * number, self.added * number
        )


def stage_layers(shape: Shape, plan: WeightPlan) -> tuple[tuple[int, int], ...]:
    """Say which layers each pipeline stage holds, as (first, one past the last).

    Source: vllm 0.27.1, distributed/utils.py:127-172: what is left over goes to the stages before the last one, backwards.

    Raises:
        InputError: There are more stages than layers, or the stated partition does not add up.
    """
    if plan.pp > shape.layers:
        raise InputError(f"{plan.pp} pipeline stages for {shape.layers} layers", hint="Take fewer stages.")
    sizes = [shape.layers // plan.pp] * plan.pp
    rest = shape.layers % plan.pp
    if plan.rest_last:
        sizes[-1] += rest
    else:
        for back in range(2, rest + 2):
            sizes[-back] += 1
    if plan.partition:
        sizes = list(plan.partition)
        if len(sizes) != plan.pp or sum(sizes) != shape.layers:
            raise InputError(
                f"VLLM_PP_LAYER_PARTITION has {sum(sizes)} layers on {len(sizes)} stages, the plan {shape.layers} on {plan.pp}",
                hint="Name the layers of each stage, as 24,24.",
            )
    return tuple(pairwise(accumulate(sizes, initial=0)))


def check_split(shape: Shape, plan: WeightPlan) -> None:
    """Refuse a tensor parallelism that vLLM refuses.

    Raises:
        InputError: The heads or the vocabulary cannot be split so.
    """
    if shape.heads % plan.tp:
        raise InputError(
            f"{shape.heads} attention heads cannot be split over tp {plan.tp}", hint="Take a tp that divides the heads."
        )
    if not shape.latent and shape.kv_heads and shape.heads % shape.kv_heads:
        raise InputError(
            f"{shape.heads} attention heads cannot share {shape.kv_heads} key-value heads",
            hint="Give the model's own config.json.",
        )
    larger, smaller = max(shape.kv_heads, plan.tp), min(shape.kv_heads, plan.tp)
    if not shape.latent and smaller and larger % smaller:
        raise InputError(
            f"{shape.kv_heads} key-value heads cannot be spread over tp {plan.tp}",
            hint="Take a tp that divides them or is a multiple of them.",
        )
    if _padded_vocabulary(shape.vocabulary) % plan.tp:
        raise InputError(
            f"a vocabulary of {shape.vocabulary} tokens cannot be split over tp {plan.tp}", hint="Take another tp."
        )


@dataclass(frozen=True, slots=True)
class Layered:
    """What one rank holds of the groups that stand in the same layers: of one such layer, or of what stands there once."""

    part: Part
    layers: tuple[int, ...]
    share: Share


def layered(groups: tuple[Group, ...], shape: Shape, plan: WeightPlan, local_experts: int) -> tuple[Layered, ...]:
    """Place every group once; each stage then counts only how many of the layers it has.

    Args:
        groups: All groups of the checkpoint.
        shape: The model.
        plan: How it is spread.
        local_experts: Experts of each layer on this rank, under expert parallelism.
    """
    alike: dict[tuple[Part, tuple[int, ...]], Share] = {}
    for group in groups:
        once = group.part if group.part in _ONCE else Part.LAYER
        share = share_of(group, shape, plan, local_experts)
        held = alike.get((once, group.layers))
        alike[once, group.layers] = share if held is None else held + share
    return tuple(Layered(part, layers, share) for (part, layers), share in alike.items())


def stage_weights(held: tuple[Layered, ...], shape: Shape, plan: WeightPlan, stage: int) -> Share:
    """Add up what one rank of a stage holds.

    Args:
        held: What it holds of each layer.
        shape: The model.
        plan: How it is spread.
        stage: Which pipeline stage.
    """
    total = Share()
    for one in held:
        number = times_held(one.part, one.layers, shape, plan, stage)
        if number:
            total += one.share.times(number)
    absorbed, _ = absorbed_bytes(shape, plan, stage)
    return total + Share(absorbed, absorbed, 0, 0, absorbed * plan.tp * plan.dp) if absorbed else total


def absorbed_bytes(shape: Shape, plan: WeightPlan, stage: int) -> tuple[int, int]:
    """Size the up-projections of the latent that a rank keeps a second time, and count the layers that have them."""
    first, last = stage_layers(shape, plan)[stage]
    latents = shape.kinds[first:last].count(Attention.LATENT)
    return shape.absorbed // plan.tp * plan.model_bytes * latents, latents


def experts_per_rank(shape: Shape, plan: WeightPlan) -> tuple[tuple[int, int], ...]:
    """Say how many experts of a layer ranks hold under expert parallelism, as (experts, ranks of one stage that hold so many).

    Source: vllm 0.27.1, model_executor/layers/fused_moe/expert_map_manager.py:66-69.
    """
    size = plan.tp * plan.dp
    if not plan.ep or not shape.experts:
        return ((shape.experts, size),)
    base, over = divmod(shape.experts + plan.redundant, size)
    return ((base + 1, over), (base, size - over)) if over else ((base, size),)


def times_held(part: Part, layers: tuple[int, ...], shape: Shape, plan: WeightPlan, stage: int) -> int:
    """Count how often a stage holds what stands in these layers, or once."""
    on_last = stage == plan.pp - 1
    match part:
        case Part.TOWER:
            return int(plan.towers and stage == 0)
        case Part.DRAFT:
            return int(plan.drafts and on_last)
        case Part.EMBEDDING:
            return int(stage == 0 or (shape.tied and on_last))
        case Part.HEAD:
            return int(on_last and not shape.tied)
        case Part.LAST:
            return int(on_last)
        case _:
            first, last = stage_layers(shape, plan)[stage]
            drafted = len(layers) - bisect_left(layers, shape.layers) if plan.drafts and on_last else 0
            return bisect_left(layers, last) - bisect_left(layers, first) + drafted


def share_of(group: Group, shape: Shape, plan: WeightPlan, local_experts: int) -> Share:
    """Say what one rank holds of a group in one layer, and all ranks of its stage together."""
    ranks = plan.tp * plan.dp
    stored = group.each * group.count
    if group.part is Part.EXPERT:
        return _expert_share(group, shape, plan, local_experts)
    parts = parts_of(group, shape, plan)
    loaded = _loaded(group, plan)
    rank = _ceil_share(loaded, group, shape, parts)
    low = rank if group.split is not Split.UNKNOWN else -(-loaded // plan.tp)
    copies = ranks // parts
    repeated = stored * (copies - 1)
    return Share(
        rank * group.count, low * group.count, stored, repeated, rank * group.count * ranks - stored - repeated
    )


def parts_of(group: Group, shape: Shape, plan: WeightPlan) -> int:
    """Into how many different parts the ranks of a tensor-parallel group split a tensor."""
    if _whole(group, shape, plan):
        return 1
    own_keys = group.split is Split.KEYS and not shape.latent and group.part is not Part.TOWER
    return min(plan.tp, shape.kv_heads) if own_keys else plan.tp


def _whole(group: Group, shape: Shape, plan: WeightPlan) -> bool:
    """Say whether each rank holds all of a tensor."""
    if group.split in {Split.REPLICATED, Split.UNKNOWN} or "indexer" in group.stem:
        return True
    if group.part is Part.TOWER:
        return plan.tower_replicated or shape.vision_heads % plan.tp > 0
    if plan.replicate_shared and (group.part is Part.SHARED_EXPERT or _follows_tokens(group, shape)):
        return True
    if group.split is Split.ROW:
        return len(group.shape) < 2 or (group.is_scale and group.shape[-1] == 1)  # noqa: PLR2004 - a bias, or a scale a row
    return group.is_scale and group.shape[0] == 1 and not is_transposed(group.parameter)


def _follows_tokens(group: Group, shape: Shape) -> bool:
    """Say whether a dense MLP is held whole as shared experts are.

    Source: vllm 0.27.1, models/kimi_k3/nvidia/model.py, KimiDecoderLayer.
    """
    return shape.architecture.startswith("KimiK3") and ".mlp." in group.stem and group.part is Part.LAYER


def _ceil_share(loaded: int, group: Group, shape: Shape, parts: int) -> int:
    """One rank's part of a tensor, rounded up as the shards of a dimension are."""
    if group.split is Split.VOCABULARY and group.shape and group.shape[0] == shape.vocabulary:
        row = loaded // group.shape[0]
        return _padded_vocabulary(shape.vocabulary) // parts * row
    if group.split is Split.FUSED and parts > 1:
        query, keys = shape.heads, 2 * shape.kv_heads
        head = loaded // (query + keys)
        return head * (query // parts + 2 * max(shape.kv_heads // parts, 1))
    return -(-loaded // parts)


def _expert_share(group: Group, shape: Shape, plan: WeightPlan, local_experts: int) -> Share:
    """Experts are held whole by some ranks, or each split over all of them."""
    ranks, stored = plan.tp * plan.dp, group.each * group.count
    loaded = _loaded(group, plan)
    if plan.ep:
        each = round(loaded * _padding(shape, plan, 1))
        held = (shape.experts + plan.redundant) * each if group.count == shape.experts else group.count * each
        rank = each * local_experts if group.count == shape.experts else each * group.count
        return Share(rank, rank, stored, 0, held - stored)
    whole = len(group.shape) < 2 and (group.split is Split.ROW or group.is_scale)  # noqa: PLR2004 - a bias, or one value
    each = loaded if whole else -(-round(loaded * _padding(shape, plan, ranks)) // ranks)
    repeated = stored * (ranks - 1) if whole else 0
    rank = each * group.count
    return Share(rank, rank, stored, repeated, rank * ranks - stored - repeated)


def _padding(shape: Shape, plan: WeightPlan, split: int) -> float:
    """Say by how much the MXFP4 kernels' sizes exceed the experts' own.

    Source: vllm 0.27.1, model_executor/layers/fused_moe/oracle/mxfp4.py:650-658, and models/kimi_k3/nvidia/model.py (at least
    256 of the intermediate size on a rank).
    """
    if not plan.pad_experts or not shape.expert_mlp:
        return 1.0
    inner, outer = shape.expert_mlp / split, shape.expert_hidden
    return (-(-max(inner, 1) // 128) * 128 / inner) * (-(-outer // 256) * 256 / outer)


def _loaded(group: Group, plan: WeightPlan) -> int:
    """Size one tensor in the type that vLLM holds it in."""
    if group.dtype not in _FLOATS or group.is_scale:
        return group.each
    if stays_float32(group.module):
        return group.elements * _FLOATS["F32"]
    linear = len(group.shape) > 1 and group.split is not Split.VOCABULARY and group.module not in {"gate", "router"}
    if plan.online_fp8 and linear and group.part in {Part.LAYER, Part.EXPERT, Part.SHARED_EXPERT}:
        return group.elements
    return group.elements * plan.model_bytes


def _padded_vocabulary(tokens: int) -> int:
    return -(-tokens // _VOCABULARY_PADDING) * _VOCABULARY_PADDING
