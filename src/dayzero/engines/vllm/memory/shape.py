"""What ``config.json`` says that decides about memory: sizes, heads, and what each layer remembers."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from dayzero.core.errors import InputError
from dayzero.core.verdict import Place
from dayzero.fit.architectures.fields import class_defaults
from dayzero.fit.checkpoint import Checkpoint, Unknown


class Attention(Enum):
    """What a layer keeps of the tokens that it has seen."""

    FULL = "full"
    WINDOW = "window"
    CHUNK = "chunk"
    LATENT = "latent"
    STATE = "state"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateShape:
    """What a recurrent layer keeps of one request, before it is split over ranks.

    Attributes:
        conv_channels: Channels of the short convolution.
        conv_tokens: Tokens of each that are kept: the kernel's width less one.
        recurrent: Numbers of the recurrent state.
        float32: The recurrent state is in float32 whatever the model's type.
    """

    conv_channels: int
    conv_tokens: int
    recurrent: int
    float32: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One model; sizes are of the language model.

    Attributes:
        kinds: What each layer keeps, in order.
        window: Tokens of a sliding window, 0 for none.
        chunk: Tokens of an attention chunk, 0 for none.
        latent: Numbers that multi-head latent attention keeps of a token; 0 without it.
        latent_rank: The same without the rotary part.
        indexer: Numbers of the sparse indexer's key; 0 without it.
        absorbed: Numbers of the up-projections of the latent, all heads, one layer; vLLM keeps them twice.
        state: What recurrent layers keep.
        vision: Numbers that the vision tower holds at once for each token that it gives; 0 without one.
    """

    architecture: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    mlp: int
    experts: int
    expert_mlp: int
    expert_hidden: int
    top_k: int
    shared_mlp: int
    kinds: tuple[Attention, ...]
    window: int
    chunk: int
    latent: int
    latent_rank: int
    indexer: int
    absorbed: int
    state: StateShape | None
    dtype: str
    positions: int
    tied: bool
    quantisation: str
    vision_heads: int
    vision: int

    @property
    def hybrid(self) -> bool:
        """Say whether recurrent layers stand beside or instead of attention."""
        return self.state is not None


class _Fields:
    """Reads ``config.json``, the part about the language model first."""

    def __init__(self, config: Mapping[str, object], source: str) -> None:
        inner = config.get("text_config") or config.get("llm_config") or config.get("language_config")
        self.config = config
        self.text: Mapping[str, object] = inner if isinstance(inner, Mapping) else config
        self._implied = class_defaults(str(self.text.get("model_type"))) if self.text is not config else {}
        self._source = source

    def raw(self, *names: str) -> object:
        for name in names:
            for part in (self.text, self.config, self._implied):
                if part.get(name) is not None:
                    return part[name]
        return None

    def whole(self, *names: str, default: int | None = None) -> int:
        found = self.raw(*names)
        if isinstance(found, int) and not isinstance(found, bool) and found >= 0:
            return found
        if found is None and default is not None:
            return default
        problem = "is missing" if found is None else f"is {found!r}, not a whole number"
        raise InputError(
            f"{names[0]} {problem} in the config.json of {self._source}", hint="Give the model's own config.json."
        )

    def words(self, name: str) -> tuple[str, ...]:
        found = self.raw(name)
        return tuple(str(word) for word in found) if isinstance(found, list | tuple) else ()

    def table(self, name: str) -> Mapping[str, object]:
        found = self.raw(name)
        return found if isinstance(found, Mapping) else {}


def shape_of(checkpoint: Checkpoint) -> Shape | Unknown:
    """Read the shape of a model.

    Raises:
        InputError: ``config.json`` lacks a field that every model has.
    """
    if not checkpoint.config:
        raise InputError(
            f"{checkpoint.source} has no config.json beside its weights", hint="Put the model's own config.json there."
        )
    read = _Fields(checkpoint.config, checkpoint.source)
    stated = len(read.words("layers_block_type")) or None
    layers = read.whole("num_hidden_layers", "n_layer", "num_layers", default=stated)
    model = str(read.raw("model_type"))
    place = Place(artifact="", file=checkpoint.source, position="/model_type", quote=model)
    if model in {"deepseek_v4", "falcon_h1"}:
        return Unknown(reason=f"the cache of {model} models is not modelled", place=place)
    kinds = _kinds(read, layers, latent=bool(read.whole("kv_lora_rank", default=0)))
    if kinds is None:
        return Unknown(reason="config.json names a kind of layer whose cache is not modelled", place=place)
    state = _state(read, read.whole("hidden_size", "n_embd")) if Attention.STATE in kinds else None
    if state is None and Attention.STATE in kinds:
        return Unknown(reason="what its recurrent layers keep is not modelled", place=place)
    return _shape(read, kinds, state)


def _shape(read: _Fields, kinds: tuple[Attention, ...], state: StateShape | None) -> Shape:
    hidden = read.whole("hidden_size", "n_embd")
    heads = read.whole("num_attention_heads", "n_head", default=0 if _attention_free(read) else None)
    latent = read.whole("kv_lora_rank", default=0)
    nope, value = read.whole("qk_nope_head_dim", default=0), read.whole("v_head_dim", default=0)
    expert_mlp = read.whole("moe_intermediate_size", "ffn_hidden_size", "intermediate_size", default=0)
    experts = read.whole("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts", default=0)
    return Shape(
        architecture=_first_word(read.config.get("architectures")),
        layers=len(kinds),
        hidden=hidden,
        heads=heads,
        kv_heads=read.whole("num_key_value_heads", "multi_query_group_num", default=heads),
        head_size=read.whole("head_dim", "attention_head_dim", default=hidden // max(heads, 1)),
        vocabulary=read.whole("vocab_size"),
        mlp=read.whole("intermediate_size", "n_inner", "ffn_hidden_size", default=4 * hidden),
        experts=experts,
        expert_mlp=expert_mlp,
        expert_hidden=read.whole("routed_expert_hidden_size", "moe_latent_size", default=hidden),
        top_k=read.whole(*_TOP_K, default=1 if experts else 0),
        shared_mlp=read.whole("shared_expert_intermediate_size", default=0)
        or expert_mlp * read.whole("num_shared_experts", "n_shared_experts", default=0),
        kinds=kinds,
        window=read.whole("sliding_window", default=0) if Attention.WINDOW in kinds else 0,
        chunk=read.whole("attention_chunk_size", default=0) if Attention.CHUNK in kinds else 0,
        latent=latent + read.whole("qk_rope_head_dim", default=0) if latent else 0,
        latent_rank=latent,
        indexer=read.whole("index_head_dim", default=0) if latent else 0,
        absorbed=latent * heads * (nope + value),
        state=state,
        dtype=_dtype(str(read.raw("dtype", "torch_dtype"))),
        positions=read.whole("max_position_embeddings", "n_positions", "seq_length", "model_max_length", default=2048),
        tied=bool(read.raw("tie_word_embeddings")),
        quantisation=_quantisation(read.table("quantization_config")),
        vision_heads=_vision_heads(read.config),
        vision=_vision(read.config),
    )


def _attention_free(read: _Fields) -> bool:
    return str(read.raw("model_type")).startswith("mamba")


_TOP_K = ("num_experts_per_tok", "num_experts_per_token", "moe_topk", "experts_per_token")


def _first_word(value: object) -> str:
    return str(value[0]) if isinstance(value, list | tuple) and value else ""


def _dtype(stated: str) -> str:
    """Read the model's type as vLLM takes it under ``auto``: float32 weights are served in bfloat16."""
    word = stated.removeprefix("torch.")
    return word if word in {"bfloat16", "float16"} else "bfloat16"


def _quantisation(table: Mapping[str, object]) -> str:
    method = str(table.get("quant_method") or table.get("quant_algo") or "")
    form = f"{method} {table.get('format', '')} {table.get('quant_algo', '')}".lower()
    return next(
        (kind for kind in ("mxfp4", "nvfp4", "fp4", "fp8", "awq", "gptq", "pack-quantized") if kind in form), method
    )


def _vision_heads(config: Mapping[str, object]) -> int:
    vision = config.get("vision_config")
    if not isinstance(vision, Mapping):
        return 0
    found = next(
        (vision[key] for key in ("num_attention_heads", "num_heads", "vt_num_attention_heads") if key in vision), 0
    )
    return found if isinstance(found, int) else 0


def _vision(config: Mapping[str, object]) -> int:
    """Size what the widest step of a vision tower holds for each token that it gives: its MLP, and eight times the hidden state."""
    vision = config.get("vision_config")
    if not isinstance(vision, Mapping):
        return 0

    def whole(*names: str, default: int) -> int:
        found = (vision[name] for name in names if isinstance(vision.get(name), int))
        return int(next(found, default))

    hidden = whole("hidden_size", "vt_hidden_size", "embed_dim", "width", default=1280)
    inner = whole("intermediate_size", "vt_intermediate_size", default=4 * hidden)
    merged = whole("spatial_merge_size", default=2) ** 2
    given = config.get("mm_tokens_per_image")
    side = whole("image_size", default=0) // max(whole("patch_size", default=14), 1)
    patches = side * side // given if isinstance(given, int) and given > 0 and side else merged
    return patches * (3 * inner + 8 * hidden)


_KINDS = {
    "full_attention": Attention.FULL,
    "indexed_attention": Attention.FULL,
    "attention": Attention.FULL,
    "sliding_attention": Attention.WINDOW,
    "chunked_attention": Attention.CHUNK,
    "linear_attention": Attention.STATE,
    "mamba": Attention.STATE,
    "mamba2": Attention.STATE,
    "conv": Attention.STATE,
    "mlp": Attention.NONE,
    "moe": Attention.NONE,
}
_PATTERN = {"M": Attention.STATE, "*": Attention.FULL, "-": Attention.NONE, "E": Attention.NONE}


def _kinds(read: _Fields, layers: int, *, latent: bool) -> tuple[Attention, ...] | None:
    """Say what each layer keeps; ``None`` for a word that is not known."""
    stated = read.words("layer_types") or read.words("layers_block_type")
    linear = read.table("linear_attn_config")
    pattern = read.raw("hybrid_override_pattern")
    full = Attention.LATENT if latent else Attention.FULL
    if linear:
        recurrent = set(_numbers(linear.get("kda_layers")))
        return tuple(Attention.STATE if layer + 1 in recurrent else full for layer in range(layers))
    if isinstance(pattern, str):
        return tuple(_PATTERN[letter] for letter in pattern) if set(pattern) <= set(_PATTERN) else None
    if stated:
        if not set(stated) <= set(_KINDS):
            return None
        if len(stated) < layers:
            raise InputError(
                f"config.json names the kinds of {len(stated)} layers, and has {layers}",
                hint="Give the model's own config.json.",
            )
        return tuple(full if _KINDS[word] is Attention.FULL else _KINDS[word] for word in stated[:layers])
    return tuple(_by_period(read, layer, full) for layer in range(layers))


def _by_period(read: _Fields, layer: int, full: Attention) -> Attention:
    """Say what a layer keeps in a model that states a period, or nothing at all."""
    interval, period = read.whole("full_attention_interval", default=0), read.whole("attn_layer_period", default=0)
    if interval or period or _attention_free(read):
        attends = (interval and (layer + 1) % interval == 0) or (
            period and layer % period == read.whole("attn_layer_offset", default=0)
        )
        return full if attends else Attention.STATE
    if not read.whole("sliding_window", default=0) or read.raw("use_sliding_window") is False:
        return full
    model = str(read.raw("model_type"))
    pattern = read.raw("sliding_window_pattern")
    if isinstance(pattern, str):
        return Attention.WINDOW if pattern and pattern[layer % len(pattern)] == "L" else full
    every = read.whole("sliding_window_pattern", "_sliding_window_pattern", default=_EVERY.get(model, 0))
    windowed = (layer + 1) % every if every else model in _ALL_WINDOWED
    return Attention.WINDOW if windowed else full


# Every how many layers one sees all tokens, where config.json says nothing (transformers 4.57, the configuration classes).
_EVERY = {"gemma2": 2, "gemma3_text": 6, "cohere2": 4}
_ALL_WINDOWED = {"mistral", "mixtral", "starcoder2", "phi3"}


def _numbers(value: object) -> tuple[int, ...]:
    return tuple(item for item in value if isinstance(item, int)) if isinstance(value, list | tuple) else ()


def _state(read: _Fields, hidden: int) -> StateShape | None:
    """Size the state of a recurrent layer; ``None`` for a kind that is not modelled.

    Source: vllm 0.27.1, model_executor/layers/mamba/mamba_utils.py:141-294.
    """
    linear = read.table("linear_attn_config")
    ssm32 = str(read.raw("mamba_ssm_dtype", "mamba_ssm_cache_dtype")) == "float32"
    if linear:
        heads, size = _whole(linear, "num_heads"), _whole(linear, "head_dim")
        return StateShape(
            conv_channels=3 * heads * size,
            conv_tokens=_whole(linear, "short_conv_kernel_size") - 1,
            recurrent=heads * size * size,
            float32=True,
        )
    if read.raw("linear_num_value_heads") is not None:
        keys, values = read.whole("linear_num_key_heads"), read.whole("linear_num_value_heads")
        key, value = read.whole("linear_key_head_dim"), read.whole("linear_value_head_dim")
        return StateShape(
            conv_channels=2 * keys * key + values * value,
            conv_tokens=read.whole("linear_conv_kernel_dim") - 1,
            recurrent=values * value * key,
            float32=ssm32,
        )
    if read.raw("mamba_d_conv", "conv_kernel") is None:
        return None
    if read.raw("mamba_num_heads", "mamba_n_heads", "num_heads") is None:
        inner = read.whole("mamba_expand", "expand", default=2) * hidden
        kernel, size = read.whole("mamba_d_conv", "conv_kernel"), read.whole("mamba_d_state", "state_size")
        return StateShape(conv_channels=inner, conv_tokens=kernel - 1, recurrent=inner * size, float32=ssm32)
    heads = read.whole("mamba_num_heads", "mamba_n_heads", "num_heads")
    width = read.whole("mamba_head_dim", "mamba_d_head", "head_dim")
    groups, size = read.whole("n_groups", "mamba_n_groups"), read.whole("ssm_state_size", "mamba_d_state", "state_size")
    return StateShape(
        conv_channels=heads * width + 2 * groups * size,
        conv_tokens=read.whole("conv_kernel", "mamba_d_conv") - 1,
        recurrent=heads * width * size,
        float32=ssm32,
    )


def _whole(table: Mapping[str, object], name: str) -> int:
    found = table.get(name)
    if isinstance(found, int) and found > 0:
        return found
    raise InputError(f"linear_attn_config.{name} is {found!r}", hint="Give the model's own config.json.")
