"""Decoders with routed experts and ordinary attention."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from dayzero.fit.architectures.decoder import LLAMA, Style, attention, decoder, dense, head_width
from dayzero.fit.architectures.family import Family, Text
from dayzero.fit.architectures.fields import Fields
from dayzero.fit.architectures.nextn import next_layers
from dayzero.fit.architectures.weights import (
    NUMBERED,
    Names,
    Role,
    Weight,
    experts,
    gated,
    linear,
    router,
    stacked,
)

Sparse: TypeAlias = Callable[[Fields, str], Iterable[Weight]]
_Feed: TypeAlias = Callable[[Fields, Style, str, int], Iterable[Weight]]
_PLAIN = Style()


def _every_layer(sparse: Sparse) -> _Feed:
    def feed(fields: Fields, style: Style, stem: str, layer: int) -> Iterable[Weight]:
        del style, layer
        return sparse(fields, stem)

    return feed


def _mixtral_experts(fields: Fields, stem: str) -> Iterator[Weight]:
    hidden, count = fields.whole("hidden_size"), fields.whole("num_local_experts", "num_experts")
    at = f"{stem}block_sparse_moe."
    yield from router(f"{at}gate", count, hidden)
    yield from experts(f"{at}experts", count, hidden, fields.whole("intermediate_size"), names=NUMBERED)


def _minimax_m2_experts(fields: Fields, stem: str) -> Iterator[Weight]:
    yield from _mixtral_experts(fields, stem)
    if fields.flag("use_routing_bias", default=True):
        yield Weight(
            f"{stem}block_sparse_moe.e_score_correction_bias", (fields.whole("num_local_experts"),), dtype="F32"
        )


def _qwen_sparse(fields: Fields, stem: str) -> Iterator[Weight]:
    hidden, count, at = fields.whole("hidden_size"), fields.whole("num_experts", "num_local_experts"), f"{stem}mlp."
    yield from router(f"{at}gate", count, hidden)
    yield from experts(f"{at}experts", count, hidden, fields.whole("moe_intermediate_size"))
    shared = fields.whole("shared_expert_intermediate_size", default=0, least=0)
    if shared:
        yield from gated(f"{at}shared_expert", hidden, shared)
        yield from router(f"{at}shared_expert_gate", 1, hidden)


def qwen_feed(fields: Fields, style: Style, stem: str, layer: int) -> Iterable[Weight]:
    """Give Qwen's feed-forward: experts on every so many layers, except where the configuration lists the layer."""
    step = fields.whole("decoder_sparse_step", default=1)
    if layer in fields.numbers("mlp_only_layers") or (layer + 1) % step:
        return dense(fields, style, f"{stem}mlp", fields.whole("intermediate_size"))
    return _qwen_sparse(fields, stem)


def _qwen3_vl_feed(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    stack = "mlp.experts."
    for weight in qwen_feed(fields, style, stem, layer):
        if stack not in weight.name:
            yield weight
    step = fields.whole("decoder_sparse_step", default=1)
    if layer not in fields.numbers("mlp_only_layers") and not (layer + 1) % step:
        count, width = fields.whole("num_experts", "num_local_experts"), fields.whole("moe_intermediate_size")
        yield from stacked(f"{stem}mlp.experts", count, fields.whole("hidden_size"), width)


def _olmoe_experts(fields: Fields, stem: str) -> Iterator[Weight]:
    hidden, count = fields.whole("hidden_size"), fields.whole("num_experts")
    yield from router(f"{stem}mlp.gate", count, hidden)
    yield from experts(f"{stem}mlp.experts", count, hidden, fields.whole("intermediate_size"))


def _gpt_oss_attention(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    yield from attention(fields, style, stem, layer)
    yield Weight(f"{stem}self_attn.sinks", (fields.whole("num_attention_heads"),))


def _gpt_oss_experts(fields: Fields, stem: str) -> Iterator[Weight]:
    hidden, count, width = (
        fields.whole("hidden_size"),
        fields.whole("num_local_experts", "num_experts"),
        fields.whole("intermediate_size"),
    )
    yield from router(f"{stem}mlp.router", count, hidden, bias=True)
    yield from stacked(f"{stem}mlp.experts", count, hidden, width)
    yield Weight(f"{stem}mlp.experts.gate_up_proj_bias", (count, 2 * width))
    yield Weight(f"{stem}mlp.experts.down_proj_bias", (count, hidden))


def shared_and_routed(fields: Fields, stem: str, *, correction: bool) -> Iterator[Weight]:
    """Give the experts as DeepSeek lays them out: a router, its correction, routed experts, shared ones in one."""
    hidden, count, width = (
        fields.whole("hidden_size"),
        fields.whole("n_routed_experts", "num_experts"),
        fields.whole("moe_intermediate_size"),
    )
    at = f"{stem}mlp."
    yield from router(f"{at}gate", count, hidden)
    if correction:
        yield Weight(f"{at}gate.e_score_correction_bias", (count,), dtype="F32")
    yield from experts(f"{at}experts", count, hidden, width)
    shared = fields.whole("n_shared_experts", "num_shared_experts", default=0, least=0)
    if shared:
        yield from gated(f"{at}shared_experts", hidden, shared * width)


def deepseek_feed(fields: Fields, style: Style, stem: str, layer: int, *, correction: bool = True) -> Iterable[Weight]:
    """Give the feed-forward of a layer: dense in the first ones, experts from there on at the stated frequency."""
    first, every = (
        fields.whole("first_k_dense_replace", default=0, least=0),
        fields.whole("moe_layer_freq", default=1),
    )
    if not fields.has("n_routed_experts", "num_experts") or layer < first or layer % every:
        return dense(fields, style, f"{stem}mlp", fields.whole("intermediate_size"))
    return shared_and_routed(fields, stem, correction=correction)


def _glm4_moe(fields: Fields, names: Names) -> Iterator[Weight]:
    style = Style(bias="attention_bias", qk_norm="use_qk_norm")
    yield from decoder(fields, names, style, feed=deepseek_feed)
    yield from next_layers(fields, names, style, mixer=attention, feed=deepseek_feed)


def _dots1(fields: Fields, names: Names) -> Iterator[Weight]:
    style = Style(bias="attention_bias", out_bias="attention_bias", qk_norm="yes")
    return decoder(fields, names, style, feed=deepseek_feed)


def _llama4_feed(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    hidden, width, count = (
        fields.whole("hidden_size"),
        fields.whole("intermediate_size"),
        fields.whole("num_local_experts"),
    )
    chosen = fields.numbers("moe_layers")
    step = fields.whole("interleave_moe_layer_step", default=1, least=0)
    if (layer not in chosen) if chosen else (not step or (layer + 1) % step):
        yield from dense(fields, style, f"{stem}feed_forward", fields.whole("intermediate_size_mlp"))
        return
    yield from router(f"{stem}feed_forward.router", count, hidden)
    yield from stacked(f"{stem}feed_forward.experts", count, hidden, width)
    yield from gated(f"{stem}feed_forward.shared_expert", hidden, width)


def _granite_experts(fields: Fields, stem: str) -> Iterator[Weight]:
    hidden, count, width = (
        fields.whole("hidden_size"),
        fields.whole("num_local_experts", least=0),
        fields.whole("intermediate_size"),
    )
    at = f"{stem}block_sparse_moe."
    if count:
        yield from linear(f"{at}router.layer", count, hidden, role=Role.OTHER)
        yield Weight(f"{at}input_linear.weight", (count, 2 * width, hidden), Role.STACK, parts=("input_linear",))
        yield Weight(f"{at}output_linear.weight", (count, hidden, width), Role.STACK, parts=("output_linear",))
    shared = fields.whole("shared_intermediate_size", default=0, least=0)
    if shared:
        yield from linear(f"{stem}shared_mlp.input_linear", 2 * shared, hidden)
        yield from linear(f"{stem}shared_mlp.output_linear", hidden, shared)


def granite_feed(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    """Give Granite's feed-forward: stacked experts where there are any, and the shared one."""
    del style, layer
    return _granite_experts(fields, stem)


def _ernie_feed(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    start, every = (
        fields.whole("moe_layer_start_index", default=0, least=0),
        fields.whole("moe_layer_interval", default=1),
    )
    end = fields.whole("moe_layer_end_index", default=fields.layers() - 1, least=0)
    at, hidden, count = f"{stem}mlp.", fields.whole("hidden_size"), fields.whole("moe_num_experts")
    if not start <= layer <= end or (layer + 1) % every:
        yield from dense(fields, style, f"{stem}mlp", fields.whole("intermediate_size"))
        return
    width = fields.whole("moe_intermediate_size")
    yield from router(f"{at}gate", count, hidden)
    yield Weight(f"{at}moe_statics.e_score_correction_bias", (1, count), dtype="F32")
    yield from experts(f"{at}experts", count, hidden, width)
    shared = fields.whole("moe_num_shared_experts", default=0, least=0)
    if shared:
        yield from gated(f"{at}shared_experts", hidden, shared * width)


def _hunyuan_experts(fields: Fields, stem: str) -> Iterator[Weight]:
    hidden, count, width = fields.whole("hidden_size"), fields.whole("num_experts"), fields.whole("intermediate_size")
    routed = fields.whole("moe_intermediate_size", default=width)
    yield from router(f"{stem}mlp.gate.wg", count, hidden)
    yield from experts(f"{stem}mlp.experts", count, hidden, routed)
    yield from gated(f"{stem}mlp.shared_mlp", hidden, width)


def _lightning(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    kinds = fields.words("layer_types")
    numbered = fields.numbers("attn_type_list")
    linear_layer = kinds[layer] == "linear_attention" if kinds else bool(numbered) and numbered[layer] == 0
    if not linear_layer:
        yield from attention(fields, style, stem, layer)
        return
    hidden, width, at = (
        fields.whole("hidden_size"),
        fields.whole("num_attention_heads") * head_width(fields),
        f"{stem}self_attn.",
    )
    yield from linear(f"{at}qkv_proj", 3 * width, hidden)
    yield from linear(f"{at}out_proj", hidden, width)
    yield from linear(f"{at}output_gate", width, hidden)
    yield Weight(f"{at}norm.weight", (width,))


def _with(style: Style, feed: _Feed, mixer: _Feed = attention) -> Text:
    def text(fields: Fields, names: Names) -> Iterator[Weight]:
        return decoder(fields, names, style, mixer=mixer, feed=feed)

    return text


_BIASED = Style(bias="attention_bias", out_bias="attention_bias")
_WIDE_NORM = replace(_BIASED, qk_norm="yes", qk_norm_of="all")

FAMILIES = (
    Family("MixtralForCausalLM", ("mixtral",), _with(_PLAIN, _every_layer(_mixtral_experts))),
    Family("Qwen2MoeForCausalLM", ("qwen2_moe",), _with(Style(bias="qkv_bias=true"), qwen_feed)),
    Family("Qwen3MoeForCausalLM", ("qwen3_moe",), _with(replace(_BIASED, qk_norm="yes"), qwen_feed)),
    Family("Qwen3VLMoeTextModel", ("qwen3_vl_moe_text",), _with(replace(_BIASED, qk_norm="yes"), _qwen3_vl_feed)),
    Family("OlmoeForCausalLM", ("olmoe",), _with(_WIDE_NORM, _every_layer(_olmoe_experts))),
    Family(
        "GptOssForCausalLM",
        ("gpt_oss",),
        _with(
            Style(bias="attention_bias=true", out_bias="attention_bias=true"),
            _every_layer(_gpt_oss_experts),
            _gpt_oss_attention,
        ),
    ),
    Family("Glm4MoeForCausalLM", ("glm4_moe", "glm4v_moe_text"), _glm4_moe, drafts=True),
    Family("Dots1ForCausalLM", ("dots1",), _dots1),
    Family(
        "MiniMaxM2ForCausalLM",
        ("minimax_m2",),
        _with(Style(qk_norm="use_qk_norm=true", qk_norm_of="all"), _every_layer(_minimax_m2_experts)),
    ),
    Family("MiniMaxText01ForCausalLM", ("minimax_text_01",), _with(_PLAIN, _every_layer(_mixtral_experts), _lightning)),
    Family("MiniMaxM1ForCausalLM", ("minimax_m1",), _with(_PLAIN, _every_layer(_mixtral_experts), _lightning)),
    Family("MiniMaxForCausalLM", ("minimax",), _with(_PLAIN, _every_layer(_mixtral_experts), _lightning)),
    Family("Llama4ForCausalLM", ("llama4_text",), _with(replace(_BIASED, mlp="feed_forward"), _llama4_feed)),
    Family(
        "PhiMoEForCausalLM",
        ("phimoe",),
        _with(replace(_BIASED, norm_bias=True, head_bias="lm_head_bias"), _every_layer(_mixtral_experts)),
    ),
    Family(
        "PhimoeForCausalLM",
        (),
        _with(replace(_BIASED, norm_bias=True, head_bias="lm_head_bias"), _every_layer(_mixtral_experts)),
    ),
    Family("GraniteMoeForCausalLM", ("granitemoe",), _with(LLAMA, granite_feed)),
    Family("GraniteMoeSharedForCausalLM", ("granitemoeshared",), _with(LLAMA, granite_feed)),
    Family(
        "Ernie4_5_MoeForCausalLM",
        ("ernie4_5_moe",),
        _with(Style(bias="use_bias", out_bias="use_bias", tied=True), _ernie_feed),
    ),
    Family("Ernie4_5_MoEForCausalLM", (), _with(Style(bias="use_bias", out_bias="use_bias", tied=True), _ernie_feed)),
    Family(
        "HunYuanMoEV1ForCausalLM",
        ("hunyuan_v1_moe", "hunyuan"),
        _with(
            replace(_BIASED, qk_norm="yes", qk_norm_names=("query_layernorm", "key_layernorm")),
            _every_layer(_hunyuan_experts),
        ),
    ),
)
