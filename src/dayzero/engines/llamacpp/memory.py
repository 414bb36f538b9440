"""Size what llama.cpp allocates on the CPU for a recipe.

The formulas follow llama.cpp's own (build 11549: src/llama-kv-cache.cpp, src/llama-memory-recurrent.cpp, src/llama-hparams.cpp)
and are held against what the engine logs at verbosity 4 (tests/engines/llamacpp/test_memory.py). Where a figure is an estimate,
its source says so.
"""

from dataclasses import dataclass
from math import prod
from pathlib import Path

from dayzero.core.errors import InputError
from dayzero.core.quantities import Bytes
from dayzero.core.recipe import Recipe
from dayzero.engines.llamacpp.facts import settings_in
from dayzero.engines.llamacpp.gguf_header import GgufHeader, read_gguf_header
from dayzero.fit.model import Term

_MIB = 1 << 20
_F16, _F32 = 2, 4
_CELL_BLOCK = 256  # cells of a sequence are padded to this (src/llama-context.cpp, GGML_PAD(n_ctx, 256))

# Activations that are alive at once, in numbers of this width a token: fits SmolLM2-135M (7,496 floats a token at width 576,
# feed-forward 1,536) and the seeded Kimi-K3 (3,052 at 256 and 512, and 0.6 MiB whatever the batch) from above by 18 %.
_LIVE_HIDDEN, _LIVE_FEED_FORWARD, _LIVE_ANYWAY = 10, 2, _MIB

# Resident above all other terms, measured right after the start and under load, builds 8.10229 and 10.11549: 32 to 97 MiB.
_RUNTIME = Bytes(128 * _MIB)

# Types that the CPU backend may copy into another layout (ggml/src/ggml-cpu/repack.cpp).
_REPACKED = frozenset(("Q4_0", "Q4_K", "Q5_K", "Q6_K", "Q2_K", "Q8_0", "IQ4_NL", "MXFP4"))

# What the launcher and the engine set where the recipe does not (CommonParams of build 11549; launcher.py for cache_ram_mib).
_DEFAULTS = {
    "n_ctx": "0",
    "n_parallel": "1",
    "n_batch": "2048",
    "n_ubatch": "512",
    "kv_unified": "false",
    "cache_type_k": "f16",
    "cache_type_v": "f16",
    "cache_ram_mib": "0",
    "n_ctx_checkpoints": "32",
    "flash_attn_type": "auto",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPlan:
    """How the engine divides its context.

    Attributes:
        slots: Requests that it serves at once.
        cells: Tokens that the KV cache holds, all slots together.
        cells_of_slot: Tokens that one sequence can reach.
        micro_batch: Tokens of one forward pass.
    """

    slots: int
    cells: int
    cells_of_slot: int
    micro_batch: int


def memory_terms(recipe: Recipe, weights: Path) -> tuple[Term, ...]:
    """Size each allocation of one instance; see :class:`dayzero.fit.ports.HostMemoryModel`."""
    header = read_gguf_header(weights)
    names = settings_in(recipe.flags)
    settings = {**_DEFAULTS, **dict(zip(names, recipe.flags[1::2], strict=True))}
    plan = _plan(header, settings)
    state = _state_bytes(header)
    terms = (
        Term(name="weights", size=recipe.model.size, source="sizes of the pinned files, mapped whole"),
        Term(
            name="repacked weights",
            size=_repacked(header),
            source="upper bound: all tensors of types that the CPU repacks",
        ),
        Term(name="KV cache", size=_kv_cache(header, settings, plan), source=_kv_source(header, settings, plan)),
        Term(
            name="recurrent state",
            size=Bytes(plan.slots * state),
            source=f"{plan.slots} slots, float32 convolution and recurrent state of each layer without attention",
        ),
        Term(
            name="context checkpoints",
            size=Bytes(plan.slots * _whole(settings, "n_ctx_checkpoints") * state),
            source="upper bound: n_ctx_checkpoints copies of each slot's recurrent state",
        ),
        Term(
            name="prompt cache",
            size=Bytes(_whole(settings, "cache_ram_mib") * _MIB),
            source="upper bound: cache_ram_mib, 0 unless the recipe sets it",
        ),
        Term(
            name="compute buffer",
            size=_compute(header, settings, plan),
            source="estimate: attention mask and live activations",
        ),
        Term(
            name="runtime", size=_RUNTIME, source="estimate: interpreter, library, vocabulary, HTTP threads and scratch"
        ),
    )
    return tuple(term for term in terms if term.size.count)


def _whole(settings: dict[str, str], name: str) -> int:
    try:
        value = int(settings[name])
    except ValueError:
        value = -1
    if value < 0:
        flag = "--" + name.replace("_", "-")
        raise InputError(f"{flag} {settings[name]} cannot be sized", hint=f"Give {flag} a number, 0 or more.")
    return value


def _padded(cells: int) -> int:
    return -(-cells // _CELL_BLOCK) * _CELL_BLOCK


def _plan(header: GgufHeader, settings: dict[str, str]) -> ContextPlan:
    """Divide the context as llama.cpp does: shared by all slots when unified, else cut into equal parts."""
    context = _whole(settings, "n_ctx") or header.number("context_length")
    slots = max(1, _whole(settings, "n_parallel"))
    unified = settings["kv_unified"] == "true"
    of_slot = _padded(context if unified else -(-context // slots))
    return ContextPlan(
        slots=slots,
        cells=of_slot if unified else of_slot * slots,
        cells_of_slot=of_slot,
        micro_batch=min(_whole(settings, "n_ubatch"), _whole(settings, "n_batch"), context),
    )


def _kv_heads(header: GgufHeader) -> tuple[int, ...]:
    """Give the KV heads of each layer; 0 is a layer without attention."""
    layers = header.number("block_count")
    heads = header.per_layer("attention.head_count", layers)
    return header.per_layer("attention.head_count_kv", layers, default=max(heads))


def _is_latent(header: GgufHeader) -> bool:
    """Say whether attention goes through a latent (MLA), of which K and V share the one cached copy."""
    return header.number("attention.key_length_mla", 0) > 0 and header.number("attention.value_length_mla", 0) > 0


def _kv_cache(header: GgufHeader, settings: dict[str, str], plan: ContextPlan) -> Bytes:
    """Size K and V of every attention layer; a sliding window is not credited."""
    heads = sum(_kv_heads(header))
    head_width = header.number("embedding_length") // max(header.per_layer("attention.head_count", 1))
    keys = heads * header.number("attention.key_length", head_width)
    values = 0 if _is_latent(header) else heads * header.number("attention.value_length", head_width)
    size = _row_bytes(settings["cache_type_k"], keys) + _row_bytes(settings["cache_type_v"], values)
    return Bytes(plan.cells * size)


def _row_bytes(kind: str, numbers: int) -> int:
    import gguf  # noqa: PLC0415  (it brings numpy, which who only asks for the dialect must not wait for)

    try:
        block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind.upper()]]
    except KeyError:
        raise InputError(f"no such cache type: {kind}", hint="Use f16, bf16, f32 or q8_0.") from None
    return -(-numbers // block) * size


def _kv_source(header: GgufHeader, settings: dict[str, str], plan: ContextPlan) -> str:
    layers = sum(1 for heads in _kv_heads(header) if heads)
    what = "the shared latent once" if _is_latent(header) else "K and V"
    types = sorted({settings["cache_type_k"], settings["cache_type_v"]})
    return f"{plan.cells} cells, {layers} attention layers, {what}, {' and '.join(types)}"


def _state_bytes(header: GgufHeader) -> int:
    """Size one sequence's state in the layers without attention.

    Raises:
        InputError: There are such layers, and they are of a kind whose state is not known here.
    """
    layers = sum(1 for heads in _kv_heads(header) if not heads)
    if not layers:
        return 0
    taps = header.number("ssm.conv_kernel", 0) - 1
    head = header.number("kda.head_dim", 0)
    if head and taps > 0:
        heads = max(header.per_layer("attention.head_count", header.number("block_count")))
        return layers * _F32 * (3 * taps * head * heads + head * head * heads)
    width, state = header.number("ssm.inner_size", 0), header.number("ssm.state_size", 0)
    if width and state and taps > 0:
        groups = header.number("ssm.group_count", 0)
        return layers * _F32 * (taps * (width + 2 * groups * state) + state * width)
    raise InputError(
        f"the state of {header.architecture}'s {layers} layers without attention cannot be sized",
        hint="Start the engine with --verbosity 4 and read its own buffer sizes.",
    )


def _repacked(header: GgufHeader) -> Bytes:
    import gguf  # noqa: PLC0415  (it brings numpy, which who only asks for the dialect must not wait for)

    kinds = {kind.value: kind for kind in gguf.GGMLQuantizationType if kind.name in _REPACKED}
    total = 0
    for tensor in header.tensors:
        # Rows are looked up in the embedding, which is therefore left as it is.
        if len(tensor.dimensions) > 1 and tensor.type_number in kinds and tensor.name != "token_embd.weight":
            block, size = gguf.GGML_QUANT_SIZES[kinds[tensor.type_number]]
            total += prod(tensor.dimensions) // block * size
    return Bytes(total)


def _compute(header: GgufHeader, settings: dict[str, str], plan: ContextPlan) -> Bytes:
    layers = header.number("block_count")
    dense = max(header.per_layer("feed_forward_length", layers, default=0))
    routed = header.number("expert_used_count", 0) * header.number("expert_feed_forward_length", 0)
    live = _LIVE_HIDDEN * header.number("embedding_length") + _LIVE_FEED_FORWARD * max(dense, routed)
    scores = 0
    mask = _F16
    if settings["flash_attn_type"] == "disabled":
        mask, scores = _F32, _F32 * max(header.per_layer("attention.head_count", layers))
    logits = plan.slots * header.lengths.get("tokenizer.ggml.tokens", 0) * _F32
    return Bytes(plan.micro_batch * (plan.cells_of_slot * (mask + scores) + live * _F32) + logits + _LIVE_ANYWAY)
