"""What a plan's flags, variables and version come to for memory: one value for each thing that decides."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dayzero.core.accelerators import Accelerator
from dayzero.core.errors import InputError
from dayzero.engines.vllm.memory.facts import fact, release
from dayzero.engines.vllm.memory.flags import Flags
from dayzero.engines.vllm.memory.shape import Shape
from dayzero.fit.model import FitPlan

_GIB = 1024**3
_TYPES = {"bfloat16": 2, "float16": 2, "half": 2, "float": 4, "float32": 4}
_EIGHT_BIT = ("fp8", "int8")
# The residual, a layer's input and its normed copy: 2.07 and 2.99 GiB at 20,000 and 29,000 tokens of Llama-3.1-8B.
_EAGER_COPIES = 3
_SECOND_BY_DEFAULT, _ONE_ENGINE = (0, 8), (0, 11)
_SEEN_AT_ONCE = 5120  # vllm 0.6.6, config.py: a batch of a model that sees, at least


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values that hold.

    Attributes:
        utilisation: Part of the GPU's memory that vLLM lets itself use.
        cache_bytes: What the user sets aside for the cache, 0 where vLLM works it out.
        blocks: Blocks of the cache that the user states, 0 where vLLM counts them.
        context: Longest request in tokens.
        tokens: Tokens of one step, at most.
        seqs: Requests of one step, at most.
        block: Tokens of a block.
        block_multiple: What a hybrid model's block is a multiple of.
        value_bytes: Bytes of one cached number.
        packed_latent: Bytes of one token's latent in a packed layout, or 0.
        model_bytes: Bytes of one number in the model's type.
        second_runner: The second model runner is used.
        graphs: Graphs are captured.
        graphs_counted: An estimate of them is taken from the cache.
        counts_counted: The sampler's counts are taken from the cache.
        split_decode: The decode kernel reserves partial results.
        in_flight: Tokens that a request may hold beside its window.
        redundant: Experts that are held twice.
        speculative: Tokens drafted at once.
        checkpoints: Recurrent states kept of one request.
        towers: Encoders of other modalities are loaded.
        hybrid_groups: Windows are freed as they slide.
        chunk_groups: Chunks are freed as they pass.
        even_groups: How many times the fewest layers of a kind the most may be for groups of the most.
        tokens_by_requests: The tokens that the log calls the cache's are requests of the whole context.
        sampler_bytes: Bytes that sampling takes of each logit.
        hidden_copies: How many hidden states are alive beside the widest part of a layer.
    """

    utilisation: float
    cache_bytes: int
    blocks: int
    context: int
    tokens: int
    seqs: int
    block: int
    block_multiple: int
    value_bytes: int
    packed_latent: int
    model_bytes: int
    second_runner: bool
    graphs: bool
    graphs_counted: bool
    counts_counted: bool
    split_decode: bool
    in_flight: int
    redundant: int
    speculative: int
    checkpoints: int
    towers: bool
    hybrid_groups: bool
    chunk_groups: bool
    even_groups: float
    tokens_by_requests: bool
    sampler_bytes: int
    hidden_copies: int


def settle(plan: FitPlan, flags: Flags, shape: Shape, gpu: Accelerator) -> Settings:
    """Work out the values that hold.

    Raises:
        InputError: A flag has a value that vLLM refuses, or states the context otherwise than the plan.
    """
    context = _context(plan, flags, shape)
    tokens, seqs = _batch(plan, flags, gpu, context, sees=bool(shape.vision_heads))
    groups = fact("hybrid_groups", plan.version)
    apart = not (flags.on("disable-hybrid-kv-cache-manager") or flags.text("kv-transfer-config", ""))
    second = _second_runner(plan, shape, flags)
    runner = fact("second_runner", plan.version)
    first_counts = fact("first_runner_profiles_graphs", plan.version)["value"]
    estimates = plan.env.get("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", "1") != "0"
    value_bytes, packed = _cached_number(flags, shape, _model_bytes(flags, shape))
    return Settings(
        utilisation=flags.fraction("gpu-memory-utilization", fact("utilisation", plan.version)["value"]),
        cache_bytes=flags.whole("kv-cache-memory-bytes") or 0,
        blocks=flags.whole("num-gpu-blocks-override") or 0,
        context=context,
        tokens=tokens,
        seqs=seqs,
        block=flags.whole("block-size") or _block(shape, gpu),
        block_multiple=fact("mla_block_multiple", plan.version)["value"],
        value_bytes=value_bytes,
        packed_latent=packed,
        model_bytes=_model_bytes(flags, shape),
        second_runner=second,
        graphs=not _eager(flags),
        graphs_counted=estimates and bool(runner["profiles_graphs"] if second else first_counts),
        counts_counted=bool(fact("counts_persistent", plan.version)["value"]),
        split_decode=_splits_decode(flags, gpu),
        in_flight=_in_flight(plan, second=second) * tokens,
        redundant=_number(flags.table("eplb-config"), "num_redundant_experts") if flags.on("enable-eplb") else 0,
        speculative=_number(flags.table("speculative-config"), "num_speculative_tokens"),
        checkpoints=int(fact("kept_states", plan.version)["value"]) if flags.on("enable-prefix-caching") else 1,
        towers=not (flags.on("language-model-only") or _no_other_modality(flags)),
        hybrid_groups=apart and bool(groups["windows"]),
        chunk_groups=apart and bool(groups["chunks"]),
        even_groups=float(fact("even_groups", plan.version)["value"]),
        tokens_by_requests=bool(fact("tokens_printed", plan.version)["by_requests"]),
        sampler_bytes=int(fact("sampler", plan.version)["bytes"]),
        hidden_copies=_EAGER_COPIES if _batch_rule(plan)["first_engine"] else 1,
    )


def _batch_rule(plan: FitPlan) -> Mapping[str, Any]:
    """Give the rule of the engine that runs: 0.6 to 0.10 have two, of which a variable picks one."""
    stated = plan.env.get("VLLM_USE_V1")
    if stated == "1" and release(plan.version) < _SECOND_BY_DEFAULT:
        return fact("early_batch", plan.version)
    return fact("batch", "0" if stated == "0" and release(plan.version) < _ONE_ENGINE else plan.version)


def _batch(plan: FitPlan, flags: Flags, gpu: Accelerator, context: int, *, sees: bool) -> tuple[int, int]:
    """Give the tokens and requests of one step, at most; the first engine takes a prompt whole unless it is long."""
    rule = _batch_rule(plan)
    stated = flags.whole("max-num-batched-tokens")
    if rule["first_engine"]:
        cut = (
            flags.on("enable-chunked-prefill")
            if "enable-chunked-prefill" in flags.values
            else context > rule["whole_prompts"]
        )
        whole = max(context, _SEEN_AT_ONCE if sees else 0)
        tokens = stated or (rule["small_tokens"] if cut and not sees else max(whole, rule["small_tokens"]))
        return tokens, min(flags.whole("max-num-seqs") or rule["small_seqs"], tokens)
    large = gpu.total.size.count >= rule["large_from_gib"] * _GIB and not gpu.name.startswith("a100")
    size = "large" if large else "small"
    tokens = stated or rule[f"{size}_tokens"]
    seqs = flags.whole("max-num-seqs") or rule[f"{size}_seqs"]
    return tokens, min(seqs, tokens)


def _context(plan: FitPlan, flags: Flags, shape: Shape) -> int:
    stated = None if flags.text("max-model-len", "") in {"-1", "auto"} else flags.whole("max-model-len")
    if plan.context is not None and stated is not None and plan.context != stated:
        raise InputError(
            f"a context of {plan.context} tokens, and --max-model-len {stated} in the engine's flags",
            hint="Say it once.",
        )
    context = plan.context or stated or shape.positions
    if context < 1:
        raise InputError(f"a context of {context} tokens", hint="Give at least 1.")
    return context


def _model_bytes(flags: Flags, shape: Shape) -> int:
    word = flags.text("dtype", "auto")
    if word not in {"auto", *_TYPES}:
        raise InputError(f"--dtype is {word!r}", hint=f"Give auto or one of {', '.join(_TYPES)}.")
    return _TYPES[shape.dtype if word == "auto" else word]


def _cached_number(flags: Flags, shape: Shape, model_bytes: int) -> tuple[int, int]:
    """Give the bytes of a cached number, and of a packed latent (vllm 0.27.1, v1/kv_cache_interface.py:410-431)."""
    word = flags.text("kv-cache-dtype", "auto")
    packed = 656 if word == "fp8_ds_mla" or (word.startswith("fp8") and shape.indexer) else 0
    if word.startswith(_EIGHT_BIT):
        return 1, packed if shape.latent else 0
    if word in {"auto", *_TYPES}:
        return (model_bytes if word == "auto" else _TYPES[word]), 0
    raise InputError(f"a cache in {word!r} is none that vLLM has", hint="Give auto, bfloat16, float16 or fp8.")


def _second_runner(plan: FitPlan, shape: Shape, flags: Flags) -> bool:
    stated = plan.env.get("VLLM_USE_V2_MODEL_RUNNER")
    if stated is not None:
        return stated == "1"
    rule = fact("second_runner", plan.version)
    if rule["all"] or shape.architecture in rule["architectures"]:
        return True
    return bool(rule["dense"] and not shape.experts and not shape.hybrid and not flags.text("speculative-config", ""))


def _in_flight(plan: FitPlan, *, second: bool) -> int:
    batches = int(fact("in_flight", plan.version)["batches"])
    stages = plan.parallelism.pp
    return stages if stages > 1 and not second else batches + stages - 1


def _block(shape: Shape, gpu: Accelerator) -> int:
    """Give the default block: the backends of latent attention on Blackwell take no 16 (vllm 0.27.1, mla/flashinfer_mla.py:133)."""
    if shape.indexer:
        return 64
    return 32 if shape.latent and gpu.compute_capability[0] == 10 else 16  # noqa: PLR2004 - sm_100


def _splits_decode(flags: Flags, gpu: Accelerator) -> bool:
    """Say whether the Triton kernel decodes: it is all there is for GPUs that are neither Hopper nor sm_100.

    Source: vllm 0.27.1, platforms/cuda.py, _get_backend_priorities.
    """
    stated = flags.text("attention-backend", "").upper()
    return stated == "TRITON_MLA" or (
        not stated and gpu.vendor == "nvidia" and gpu.compute_capability[0] not in {9, 10}
    )


def _eager(flags: Flags) -> bool:
    compilation = flags.table("compilation-config")
    return (
        flags.on("enforce-eager")
        or flags.text("optimization-level", "2") == "0"
        or str(compilation.get("cudagraph_mode", "")).upper() == "NONE"
        or str(compilation.get("level", compilation.get("mode", ""))) == "0"
    )


def _no_other_modality(flags: Flags) -> bool:
    limits = flags.table("limit-mm-per-prompt")
    return bool(limits) and all(limit in {0, "0"} for limit in limits.values())


def _number(table: Mapping[str, object], name: str) -> int:
    found = table.get(name, 0)
    if isinstance(found, str) and found.isascii() and found.isdigit():
        return int(found)
    if isinstance(found, int) and not isinstance(found, bool) and found >= 0:
        return found
    raise InputError(f"{name} is {found!r}", hint="Give a whole number.")
