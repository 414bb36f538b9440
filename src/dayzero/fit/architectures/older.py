"""Decoders that share little with Llama: GPT-2, GPT-NeoX, OPT, Falcon, Apertus."""

from collections.abc import Iterator
from dataclasses import replace

from dayzero.fit.architectures.decoder import Style, attention, decoder, head_width, output_head
from dayzero.fit.architectures.family import Family
from dayzero.fit.architectures.fields import Fields
from dayzero.fit.architectures.weights import Names, Role, Weight, linear, norm


def _gpt2(fields: Fields, names: Names) -> Iterator[Weight]:
    hidden = fields.whole("n_embd", "hidden_size")
    width = fields.whole("n_inner", default=4 * hidden)
    yield Weight("transformer.wte.weight", (fields.whole("vocab_size"), hidden))
    yield Weight("transformer.wpe.weight", (fields.whole("n_positions", "max_position_embeddings"), hidden))
    for layer in range(fields.layers("n_layer", "num_hidden_layers")):
        stem = f"transformer.h.{layer}."
        # Conv1D: stored as inputs by outputs.
        yield from linear(f"{stem}attn.c_attn", hidden, 3 * hidden)
        yield Weight(f"{stem}attn.c_attn.bias", (3 * hidden,))
        yield from linear(f"{stem}attn.c_proj", hidden, hidden, bias=True)
        yield from linear(f"{stem}mlp.c_fc", hidden, width)
        yield Weight(f"{stem}mlp.c_fc.bias", (width,))
        yield from linear(f"{stem}mlp.c_proj", width, hidden)
        yield Weight(f"{stem}mlp.c_proj.bias", (hidden,))
        yield from norm(f"{stem}ln_1", hidden, bias=True)
        yield from norm(f"{stem}ln_2", hidden, bias=True)
    yield from norm("transformer.ln_f", hidden, bias=True)
    if names.tied is False:
        yield from linear("lm_head", fields.whole("vocab_size"), hidden, role=Role.HEAD)


def _neox(fields: Fields, names: Names) -> Iterator[Weight]:
    style = Style(
        attention="attention",
        qkv=("query_key_value",),
        out="dense",
        bias="attention_bias=true",
        out_bias="attention_bias=true",
        mlp_names=("dense_h_to_4h", "dense_4h_to_h"),
        mlp_bias="yes",
        norm_bias=True,
        embedding="embed_in",
        final_norm="final_layer_norm",
    )
    # There are as many key and value heads as heads, whatever else the configuration says.
    return decoder(replace(fields, values={**fields.values, "num_key_value_heads": None}), names, style)


def _opt(fields: Fields, names: Names) -> Iterator[Weight]:
    hidden, width, root = fields.whole("hidden_size"), fields.whole("ffn_dim"), "model.decoder."
    embedded = fields.whole("word_embed_proj_dim", default=hidden)
    bias = fields.flag("enable_bias", default=True)
    yield Weight(f"{root}embed_tokens.weight", (fields.whole("vocab_size"), embedded))
    yield Weight(f"{root}embed_positions.weight", (fields.whole("max_position_embeddings") + 2, hidden))
    if embedded != hidden:
        yield from linear(f"{root}project_in", hidden, embedded)
        yield from linear(f"{root}project_out", embedded, hidden)
    for layer in range(fields.layers()):
        stem = f"{root}layers.{layer}."
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            yield from linear(f"{stem}self_attn.{name}", hidden, hidden, bias=bias)
        yield from linear(f"{stem}fc1", width, hidden, bias=bias)
        yield from linear(f"{stem}fc2", hidden, width, bias=bias)
        yield from norm(f"{stem}self_attn_layer_norm", hidden, bias=True)
        yield from norm(f"{stem}final_layer_norm", hidden, bias=True)
    if fields.flag("do_layer_norm_before", default=True):
        yield from norm(f"{root}final_layer_norm", hidden, bias=True)
    yield from output_head(fields, names, Style(tied=True))


def _falcon_attention(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    del style, layer
    hidden, heads, width = fields.whole("hidden_size"), fields.whole("num_attention_heads"), head_width(fields)
    shared = heads
    if fields.flag("new_decoder_architecture"):
        shared = fields.whole("num_kv_heads", default=heads)
    elif fields.flag("multi_query", default=True):
        shared = 1
    bias = fields.flag("bias")
    yield from linear(f"{stem}self_attention.query_key_value", (heads + 2 * shared) * width, hidden, bias=bias)
    yield from linear(f"{stem}self_attention.dense", hidden, hidden, bias=bias)


def _falcon_mlp(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    del style, layer
    hidden, bias = fields.whole("hidden_size"), fields.flag("bias")
    width = fields.whole("ffn_hidden_size", default=4 * hidden)
    yield from linear(f"{stem}mlp.dense_h_to_4h", width, hidden, bias=bias)
    yield from linear(f"{stem}mlp.dense_4h_to_h", hidden, width, bias=bias)


def _falcon(fields: Fields, names: Names) -> Iterator[Weight]:
    norms: tuple[str, ...] = ("input_layernorm",)
    if fields.flag("new_decoder_architecture"):
        norms = ("ln_attn", "ln_mlp") if fields.whole("num_ln_in_parallel_attn", default=2) > 1 else norms
    elif not fields.flag("parallel_attn", default=True):
        norms = ("input_layernorm", "post_attention_layernorm")
    style = Style(layers="h", embedding="word_embeddings", final_norm="ln_f", norms=norms, norm_bias=True, tied=True)
    return decoder(fields, names, style, mixer=_falcon_attention, feed=_falcon_mlp)


def _apertus_mlp(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    del style, layer
    hidden, width, bias = fields.whole("hidden_size"), fields.whole("intermediate_size"), fields.flag("mlp_bias")
    yield from linear(f"{stem}mlp.up_proj", width, hidden, bias=bias)
    yield from linear(f"{stem}mlp.down_proj", hidden, width, bias=bias)
    yield Weight(f"{stem}mlp.act_fn.alpha_n", (1,))
    yield Weight(f"{stem}mlp.act_fn.alpha_p", (1,))
    yield Weight(f"{stem}mlp.act_fn.beta", ())
    yield Weight(f"{stem}mlp.act_fn.eps", ())


def _apertus(fields: Fields, names: Names) -> Iterator[Weight]:
    style = Style(
        bias="attention_bias",
        out_bias="attention_bias",
        qk_norm="yes",
        norms=("attention_layernorm", "feedforward_layernorm"),
    )
    return decoder(fields, names, style, mixer=attention, feed=_apertus_mlp)


FAMILIES = (
    Family("GPT2LMHeadModel", ("gpt2",), _gpt2),
    Family("GPTNeoXForCausalLM", ("gpt_neox",), _neox, Names(root="gpt_neox.", head="embed_out")),
    Family("OPTForCausalLM", ("opt",), _opt),
    Family("FalconForCausalLM", ("falcon",), _falcon, Names(root="transformer.")),
    Family("ApertusForCausalLM", ("apertus",), _apertus),
)
