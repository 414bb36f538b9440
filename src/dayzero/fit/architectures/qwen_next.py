"""Qwen3-Next and Qwen3.5: gated delta attention in most layers, gated attention in the others."""

from collections.abc import Iterator
from dataclasses import replace

from dayzero.fit.architectures.decoder import Part, Style, attention, decoder, feed_forward
from dayzero.fit.architectures.family import Family
from dayzero.fit.architectures.fields import Fields
from dayzero.fit.architectures.moe import qwen_feed
from dayzero.fit.architectures.weights import Names, Role, Weight, linear, norm

_STYLE = Style(qk_norm="yes")
_WHOLE = "full_attention"


def _mixer(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    kinds, every = fields.words("layer_types"), fields.whole("full_attention_interval", default=4)
    whole = kinds[layer] == _WHOLE if layer < len(kinds) else not (layer + 1) % every
    return _gated_attention(fields, style, stem, layer) if whole else _delta(fields, stem)


def _gated_attention(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    """Give ordinary attention, whose query projection also makes the gate of its output."""
    for weight in attention(fields, style, stem, layer):
        if weight.name.endswith("q_proj.weight") and fields.flag("attn_output_gate", default=True):
            outputs, inputs = weight.shape
            yield replace(weight, shape=(2 * outputs, inputs))
        else:
            yield weight


def _delta(fields: Fields, stem: str) -> Iterator[Weight]:
    hidden, at = fields.whole("hidden_size"), f"{stem}linear_attn."
    of_keys, of_values = fields.whole("linear_num_key_heads"), fields.whole("linear_num_value_heads")
    keys, width = of_keys * fields.whole("linear_key_head_dim"), fields.whole("linear_value_head_dim")
    values = of_values * width
    if fields.family.startswith("Qwen3Next"):
        yield from linear(f"{at}in_proj_qkvz", 2 * keys + 2 * values, hidden)
        yield from linear(f"{at}in_proj_ba", 2 * of_values, hidden)
    else:
        yield from linear(f"{at}in_proj_qkv", 2 * keys + values, hidden)
        yield from linear(f"{at}in_proj_z", values, hidden)
        yield from linear(f"{at}in_proj_b", of_values, hidden)
        yield from linear(f"{at}in_proj_a", of_values, hidden)
    yield Weight(f"{at}conv1d.weight", (2 * keys + values, 1, fields.whole("linear_conv_kernel_dim", default=4)))
    yield Weight(f"{at}A_log", (of_values,))
    yield Weight(f"{at}dt_bias", (of_values,))
    yield from norm(f"{at}norm", width)
    yield from linear(f"{at}out_proj", hidden, values)


def _drafts(fields: Fields, feed: Part, count: int) -> Iterator[Weight]:
    """Give the drafting layers; they share embedding and head (vllm 0.32.0, model_executor/models/qwen3_next_mtp.py)."""
    hidden = fields.whole("hidden_size")
    if count:
        yield from linear("mtp.fc", hidden, 2 * hidden, role=Role.OTHER)
        for name in ("norm", "pre_fc_norm_hidden", "pre_fc_norm_embedding"):
            yield from norm(f"mtp.{name}", hidden)
    for layer in range(count):
        stem = f"mtp.layers.{layer}."
        yield from _gated_attention(fields, _STYLE, stem, layer)
        yield from feed(fields, _STYLE, stem, layer)
        for name in _STYLE.norms:
            yield from norm(stem + name, hidden)


def _next(fields: Fields, names: Names) -> Iterator[Weight]:
    # The field is absent upstream, and one drafting layer is stored (vllm reads 1 there too).
    count = fields.whole("num_nextn_predict_layers", default=1, least=0)
    yield from decoder(fields, names, _STYLE, mixer=_mixer, feed=qwen_feed)
    yield from _drafts(fields, qwen_feed, count)


def _qwen35(fields: Fields, names: Names) -> Iterator[Weight]:
    feed = qwen_feed if fields.has("num_experts") else feed_forward
    yield from decoder(fields, names, _STYLE, mixer=_mixer, feed=feed)
    yield from _drafts(fields, feed, fields.whole("mtp_num_hidden_layers", default=0, least=0))


FAMILIES = (
    Family("Qwen3NextForCausalLM", ("qwen3_next",), _next, drafts=True),
    Family("Qwen3_5ForCausalLM", ("qwen3_5_text",), _qwen35),
    Family("Qwen3_5MoeForCausalLM", ("qwen3_5_moe_text",), _qwen35),
)
