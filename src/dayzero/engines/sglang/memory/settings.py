"""What a plan's flags and version come to for memory: one value for each thing that decides."""

from collections.abc import Mapping
from dataclasses import dataclass

from dayzero.core.accelerators import Accelerator
from dayzero.core.errors import InputError
from dayzero.engines.sglang.memory.facts import fact
from dayzero.engines.sglang.memory.static import Work, row_for, static_fraction
from dayzero.engines.vllm.memory.flags import Flags
from dayzero.engines.vllm.memory.shape import Attention, Shape
from dayzero.fit.model import FitPlan

_MIB = 1024**2
_TYPES = {"bfloat16": 2, "bf16": 2, "float16": 2, "half": 2, "float": 4, "float32": 4}
_CACHE_TYPES = {"bfloat16": 2, "bf16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1}
_FEW_RANKS = 4
_BLACKWELL = 10
_LATENT_PREFILL = 2048
_LONGEST_PREFILL = 16384
_SPECULATIVE_REQUESTS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """How recurrent states are kept.

    Attributes:
        value_bytes: Bytes of one number of a recurrent state.
        stated: States that the user sets aside, 0 for what the memory allows.
        ratio: Memory of the states for each byte of the cache.
        padding: States beside those that are counted.
        of_request: States of one request.
    """

    value_bytes: int
    stated: int
    ratio: float
    padding: int
    of_request: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values that hold.

    Attributes:
        fraction: Part of the memory free at the start that weights and cache may take.
        reserved: How the fraction was worked out, in words with numbers; ``""`` where a flag says it.
        context: Longest request in tokens.
        context_stated: The plan asks for it; otherwise it is the model's own, and SGLang starts with a smaller cache too.
        chunk: Tokens of one prefill step.
        largest_batch: Largest batch that is captured.
        batches: How many batch sizes are captured, 0 without graphs.
        prefills: How many sizes of prefills are captured.
        page: Tokens of a page.
        value_bytes: Bytes of one cached number.
        model_bytes: Bytes of one number in the model's type.
        packed_latent: Bytes of one token's latent in a packed layout, or 0.
        most_tokens: What the user allows the cache to hold, 0 for no limit.
        running: Requests that the user allows at once, 0 for no limit.
        states: How recurrent states are kept.
        own_windows: Sliding windows have a pool of their own.
        window_ratio: Tokens of it for each token of the cache.
        attention_parallel: dp splits the ranks of one instance, instead of repeating it.
        towers: Encoders of other modalities are loaded.
        modalities_bytes: What is kept free for them.
        redundant: Experts that are held twice.
        draft_layers: Layers of a draft model that share the cache, as a part of the model's own.
    """

    fraction: float
    reserved: str
    context: int
    context_stated: bool
    chunk: int
    largest_batch: int
    batches: int
    prefills: int
    page: int
    value_bytes: int
    model_bytes: int
    packed_latent: int
    most_tokens: int
    running: int
    states: States
    own_windows: bool
    window_ratio: float
    attention_parallel: bool
    towers: bool
    modalities_bytes: int
    redundant: int
    draft_layers: int


def settle(plan: FitPlan, flags: Flags, shape: Shape, gpu: Accelerator) -> Settings:
    """Work out the values that hold.

    Raises:
        InputError: A flag has a value that SGLang refuses, or one that is not modelled.
    """
    windows, work = fact("windows", plan.version), _work(plan, flags, shape, gpu)
    fraction, reserved = static_fraction(plan, flags, gpu, work)
    value_bytes, packed = _cached_number(flags, shape, gpu)
    context = plan.context or shape.positions
    return Settings(
        fraction=fraction,
        reserved=reserved,
        context=context,
        context_stated=plan.context is not None,
        chunk=work.chunk,
        largest_batch=_batch(plan, flags, gpu)[1],
        batches=_captured(work.largest, flags) if work.largest else 0,
        prefills=work.prefills,
        page=flags.whole("page-size") or 1,
        value_bytes=value_bytes,
        model_bytes=_model_bytes(flags, shape),
        packed_latent=packed,
        most_tokens=flags.whole("max-total-tokens") or 0,
        running=flags.whole("max-running-requests") or (_SPECULATIVE_REQUESTS if _drafts(flags) else 0),
        states=_states(plan, flags),
        own_windows=shape.architecture in windows["architectures"] and not flags.on("disable-hybrid-swa-memory"),
        window_ratio=flags.fraction("swa-full-tokens-ratio", windows["ratio"]),
        attention_parallel=flags.on("enable-dp-attention"),
        towers=work.towers,
        modalities_bytes=fact("static", plan.version)["modalities_mib"] * _MIB if work.towers else 0,
        redundant=flags.whole("ep-num-redundant-experts") or 0,
        draft_layers=_draft_layers(plan, flags),
    )


def _work(plan: FitPlan, flags: Flags, shape: Shape, gpu: Accelerator) -> Work:
    chunk, largest = _batch(plan, flags, gpu)
    return Work(
        chunk=chunk,
        largest=0 if flags.on("disable-cuda-graph") else largest,
        prefills=_prefills(plan, flags, shape, gpu, chunk),
        latent=bool(shape.latent),
        towers=shape.vision_heads > 0 and not (flags.on("language-only") or flags.on("language-model-only")),
        drafts=_drafts(flags),
    )


def _states(plan: FitPlan, flags: Flags) -> States:
    rule = fact("states", plan.version)
    return States(
        value_bytes=_state_bytes(plan, flags),
        stated=flags.whole("max-mamba-cache-size") or 0,
        ratio=_ratio(flags, "mamba-full-memory-ratio", rule["ratio"]),
        padding=rule["padding"],
        of_request=1 if flags.on("disable-radix-cache") else rule["slots"],
    )


def _draft_layers(plan: FitPlan, flags: Flags) -> int:
    if not _drafts(flags) or flags.text("speculative-algorithm", "") == "NGRAM":
        return 0
    stated = plan.checkpoint.config.get("num_nextn_predict_layers")
    return stated if isinstance(stated, int) and stated > 0 else 1


def _drafts(flags: Flags) -> bool:
    return flags.text("speculative-algorithm", "") not in {"", "None"}


def _batch(plan: FitPlan, flags: Flags, gpu: Accelerator) -> tuple[int, int]:
    row = row_for(fact("batch", plan.version)["rows"], gpu)
    ranks = plan.parallelism.tp * (plan.parallelism.dp if flags.on("enable-dp-attention") else 1)
    stated = flags.text("chunked-prefill-size", "")
    whole = stated.startswith("-") or stated == "0"
    chunk = _LONGEST_PREFILL if whole else flags.whole("chunked-prefill-size") or row["chunk"]
    if flags.on("enable-dp-attention") and not whole:
        chunk = max(chunk // plan.parallelism.dp, 1)
    listed = [int(word) for word in flags.text("cuda-graph-bs", "").split() if word.isdigit()]
    largest = max(listed) if listed else row["few" if ranks < _FEW_RANKS else "many"]
    return chunk, flags.whole("cuda-graph-max-bs") or largest


def _captured(largest: int, flags: Flags) -> int:
    """Count the batch sizes that are captured (sglang 0.5.18, srt/server_args.py:5133-5164)."""
    listed = flags.text("cuda-graph-bs", "").split()
    sizes = (1, 2, 4, 8, 12, *range(16, 257, 8), *range(272, 512, 16), *range(512, largest + 1, 32))
    return len(listed) or len({size for size in sizes if size <= largest} | {largest})


def _prefills(plan: FitPlan, flags: Flags, shape: Shape, gpu: Accelerator, chunk: int) -> int:
    """Count the sizes of prefills that are captured (sglang 0.5.18, srt/server_args.py:5186-5203)."""
    off = ("disable-piecewise-cuda-graph", "disable-cuda-graph", "enable-dp-attention", "enable-torch-compile")
    others = plan.parallelism.pp > 1 or shape.vision_heads > 0 or _drafts(flags) or gpu.vendor != "nvidia"
    none = flags.text("cuda-graph-backend-prefill", "") == "disabled"
    if not fact("prefill_graphs", plan.version)["captured"] or others or none or any(flags.on(name) for name in off):
        return 0
    largest = _LATENT_PREFILL if shape.latent else chunk
    steps = ((4, 33, 4), (48, 257, 16), (288, 513, 32), (576, 1025, 64), (1280, 4097, 256), (4608, largest + 1, 512))
    return sum(size <= largest for step in steps for size in range(*step))


def _ratio(flags: Flags, name: str, default: float) -> float:
    word = flags.text(name, "")
    try:
        value = float(word) if word else default
    except ValueError:
        value = 0.0
    if value <= 0:
        raise InputError(f"--{name} is {word!r}", hint="Give a number above 0, as 0.9.")
    return value


def _model_bytes(flags: Flags, shape: Shape) -> int:
    word = flags.text("dtype", "auto")
    if word not in {"auto", *_TYPES}:
        raise InputError(f"--dtype is {word!r}", hint=f"Give auto or one of {', '.join(_TYPES)}.")
    return _TYPES[shape.dtype if word == "auto" else word]


def _cached_number(flags: Flags, shape: Shape, gpu: Accelerator) -> tuple[int, int]:
    """Give the bytes of a cached number, and of a packed latent.

    Source: sglang 0.5.18, srt/mem_cache/kv_cache_dtype.py:24-80, srt/mem_cache/kv_cache_configurator.py:2139-2190, and
    srt/arg_groups/overrides.py:1595-1640 (sparse attention: fp8 on Blackwell).
    """
    word = flags.text("kv-cache-dtype", "auto")
    sparse = bool(shape.indexer)
    if word == "auto" and sparse and gpu.compute_capability[0] >= _BLACKWELL and gpu.vendor == "nvidia":
        word = "fp8_e4m3"
    if word == "auto":
        return _model_bytes(flags, shape), 0
    if word not in _CACHE_TYPES:
        raise InputError(
            f"a cache in {word!r} is not modelled for SGLang", hint=f"Give auto, {', '.join(sorted(_CACHE_TYPES))}."
        )
    size = _CACHE_TYPES[word]
    packed = shape.latent_rank + shape.latent_rank // 128 * 4 + 2 * (shape.latent - shape.latent_rank)
    return size, packed if sparse and size == 1 and Attention.LATENT in shape.kinds else 0


def _state_bytes(plan: FitPlan, flags: Flags) -> int:
    """Size one number of a recurrent state: float32 unless something says otherwise (sglang 0.5.18, srt/configs/mamba_utils.py)."""
    text = plan.checkpoint.config.get("text_config")
    stated = next(
        (part.get("mamba_ssm_dtype") for part in (text, plan.checkpoint.config) if isinstance(part, Mapping)), None
    )
    word = plan.env.get("SGLANG_MAMBA_SSM_DTYPE") or flags.text("mamba-ssm-dtype", str(stated or "float32"))
    return _TYPES.get(word, _TYPES["float32"])
