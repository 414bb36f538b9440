"""The decoder that most families share, with what each names or shapes in its own way."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from dayzero.fit.architectures.fields import Fields
from dayzero.fit.architectures.weights import Names, Role, Weight, gated, linear, norm


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a family differs from Llama. A rule is ``yes``, ``no``, or the field of the configuration that says so.

    A field that is not there means no; ``field=true`` means yes where it is not there.

    Attributes:
        attention, qkv, out: Names of the attention and its projections; a single name in ``qkv`` is all three fused.
        bias, out_bias: Rule for the biases of the projections in and out.
        qk_norm: Rule for normalising queries and keys.
        qk_norm_of: Width of those: one ``head``, ``all`` heads together, or a row for ``each`` head.
        qk_norm_names: Their names.
        norms: Names of the normalisations of a layer.
        norm_bias: Whether they have biases.
        mlp, mlp_names: Names of the feed-forward and its projections: gate, up, down; two are up and down without a gate.
        gate_up: Name of gate and up fused into one; ``""`` where they are not.
        mlp_bias: Rule for its biases.
        layers, embedding, final_norm: Names outside the layers; an empty final norm has no weight.
        tied: Whether the output head is the embedding unless the configuration says otherwise.
        head_bias: Rule for the bias of the output head.
    """

    attention: str = "self_attn"
    qkv: tuple[str, ...] = ("q_proj", "k_proj", "v_proj")
    out: str = "o_proj"
    bias: str = "no"
    out_bias: str = "no"
    qk_norm: str = "no"
    qk_norm_of: str = "head"
    qk_norm_names: tuple[str, str] = ("q_norm", "k_norm")
    norms: tuple[str, ...] = ("input_layernorm", "post_attention_layernorm")
    norm_bias: bool = False
    mlp: str = "mlp"
    mlp_names: tuple[str, ...] = ("gate_proj", "up_proj", "down_proj")
    gate_up: str = ""
    mlp_bias: str = "no"
    layers: str = "layers"
    embedding: str = "embed_tokens"
    final_norm: str = "norm"
    tied: bool = False
    head_bias: str = "no"


LLAMA = Style(bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias")

Part: TypeAlias = Callable[[Fields, Style, str, int], Iterable[Weight]]


def says(fields: Fields, rule: str) -> bool:
    """Answer a rule of a style."""
    name, _, otherwise = rule.partition("=")
    return rule == "yes" or (rule != "no" and fields.flag(name, default=otherwise == "true"))


def head_width(fields: Fields) -> int:
    """Give the width of one attention head; stated, or the hidden width divided by the heads."""
    stated = fields.whole("head_dim", "attention_head_dim", default=0)
    if stated:
        return stated
    hidden, heads = fields.whole("hidden_size", "n_embd"), fields.whole("num_attention_heads", "n_head")
    if hidden % heads:
        raise fields.error("num_attention_heads", f"does not divide hidden_size: {hidden} by {heads}")
    return hidden // heads


def kv_heads(fields: Fields) -> int:
    """Give the number of key and value heads; all heads where nothing else is said."""
    return fields.whole("num_key_value_heads", default=fields.whole("num_attention_heads"))


def attention(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    """Give the attention of one layer, with any number of key and value heads."""
    del layer
    hidden, heads, of_kv, width = (
        fields.whole("hidden_size"),
        fields.whole("num_attention_heads"),
        kv_heads(fields),
        head_width(fields),
    )
    at, bias = f"{stem}{style.attention}.", says(fields, style.bias)
    if len(style.qkv) == 1:
        yield from linear(at + style.qkv[0], (heads + 2 * of_kv) * width, hidden, bias=bias)
    else:
        for name, count in zip(style.qkv, (heads, of_kv, of_kv), strict=True):
            yield from linear(at + name, count * width, hidden, bias=bias)
    yield from linear(at + style.out, hidden, heads * width, bias=says(fields, style.out_bias))
    if says(fields, style.qk_norm):
        for name, count in zip(style.qk_norm_names, (heads, of_kv), strict=True):
            shape = {"head": (width,), "all": (count * width,), "each": (count, width)}[style.qk_norm_of]
            yield Weight(f"{at}{name}.weight", shape)


def feed_forward(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    """Give the dense feed-forward of one layer."""
    del layer
    return dense(fields, style, stem + style.mlp, fields.whole("intermediate_size"))


def dense(fields: Fields, style: Style, module: str, width: int) -> Iterator[Weight]:
    """Give a dense feed-forward of a stated width."""
    hidden, bias = fields.whole("hidden_size"), says(fields, style.mlp_bias)
    *_, up, down = style.mlp_names
    if style.gate_up:
        yield from linear(f"{module}.{style.gate_up}", 2 * width, hidden, bias=bias)
        yield from linear(f"{module}.{down}", hidden, width, bias=bias)
    elif len(style.mlp_names) == len(("up", "down")):
        yield from linear(f"{module}.{up}", width, hidden, bias=bias)
        yield from linear(f"{module}.{down}", hidden, width, bias=bias)
    else:
        yield from gated(module, hidden, width, bias=bias, names=(style.mlp_names[0], up, down))


def decoder(
    fields: Fields, names: Names, style: Style, *, mixer: Part = attention, feed: Part = feed_forward
) -> Iterator[Weight]:
    """Give the whole of a decoder: embedding, layers of a mixer and a feed-forward with norms, and the output head.

    Args:
        fields: The part of the configuration that describes the language model.
        names: Where it stands in the checkpoint.
        style: What the family does in its own way.
        mixer: Gives what mixes the tokens of a layer.
        feed: Gives the feed-forward of a layer.
    """
    hidden, vocabulary = fields.whole("hidden_size"), fields.whole("vocab_size")
    yield Weight(f"{names.root}{style.embedding}.weight", (vocabulary, hidden))
    for layer in range(fields.layers()):
        stem = f"{names.root}{style.layers}.{layer}."
        yield from mixer(fields, style, stem, layer)
        yield from feed(fields, style, stem, layer)
        for name in style.norms:
            yield from norm(stem + name, hidden, bias=style.norm_bias)
    if style.final_norm:
        yield from norm(names.root + style.final_norm, hidden, bias=style.norm_bias)
    yield from output_head(fields, names, style)


def output_head(fields: Fields, names: Names, style: Style) -> Iterator[Weight]:
    """Give the output head, unless it is the embedding."""
    tied = style.tied if names.tied is None else names.tied
    if not tied:
        yield from linear(
            names.head,
            fields.whole("vocab_size"),
            fields.whole("hidden_size"),
            bias=says(fields, style.head_bias),
            role=Role.HEAD,
        )
