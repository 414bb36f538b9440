"""Kimi-Linear and Kimi-K3: delta attention in most layers, latent attention in the others, experts in a latent width.

Source: vllm 0.32.0, models/kimi_k3/nvidia/{model,kda,mla}.py (the modules and the names that ``load_weights`` maps).
"""

from collections.abc import Iterator

from dayzero.fit.architectures.decoder import Style, decoder, dense
from dayzero.fit.architectures.family import Family
from dayzero.fit.architectures.fields import Fields
from dayzero.fit.architectures.mla import latent_attention
from dayzero.fit.architectures.weights import NUMBERED, Names, Role, Weight, experts, gated, linear, norm, router

_STYLE = Style()


def _mixer(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    if layer + 1 in fields.part("linear_attn_config").numbers("kda_layers"):
        yield from _delta_attention(fields, stem)
    else:
        yield from latent_attention(fields, style, stem, layer)
    if fields.has("attn_res_block_size"):
        hidden = fields.whole("hidden_size")
        for name in ("self_attention_res", "mlp_res"):
            yield from norm(f"{stem}{name}_norm", hidden)
            yield from linear(f"{stem}{name}_proj", 1, hidden, role=Role.OTHER)


def _delta_attention(fields: Fields, stem: str) -> Iterator[Weight]:
    own, hidden, at = fields.part("linear_attn_config"), fields.whole("hidden_size"), f"{stem}self_attn."
    heads, width, taps = own.whole("num_heads"), own.whole("head_dim"), own.whole("short_conv_kernel_size")
    wide = heads * width
    for name in ("q", "k", "v"):
        yield from linear(f"{at}{name}_proj", wide, hidden)
        yield Weight(f"{at}{name}_conv1d.weight", (wide, 1, taps))
    yield Weight(f"{at}A_log", (1, 1, heads, 1), dtype="F32")
    yield Weight(f"{at}dt_bias", (wide,), dtype="F32")
    yield from linear(f"{at}f_a_proj", width, hidden)
    yield from linear(f"{at}f_b_proj", wide, width)
    yield from linear(f"{at}b_proj", heads, hidden)
    if own.flag("use_full_rank_gate"):
        yield from linear(f"{at}g_proj", wide, hidden)
    else:
        yield from linear(f"{at}g_a_proj", width, hidden)
        yield from linear(f"{at}g_b_proj", wide, width)
    yield from norm(f"{at}o_norm", width)
    yield from linear(f"{at}o_proj", hidden, wide)


def _feed(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    first, every = (
        fields.whole("first_k_dense_replace", default=0, least=0),
        fields.whole("moe_layer_freq", default=1),
    )
    if not fields.has("num_experts") or layer < first or layer % every:
        yield from dense(fields, style, f"{stem}mlp", fields.whole("intermediate_size"))
        return
    hidden, count, width = (
        fields.whole("hidden_size"),
        fields.whole("num_experts"),
        fields.whole("moe_intermediate_size"),
    )
    at, latent = f"{stem}block_sparse_moe.", fields.whole("routed_expert_hidden_size", default=hidden)
    yield from router(f"{at}gate", count, hidden)
    yield Weight(f"{at}gate.e_score_correction_bias", (count,), dtype="F32")
    yield from experts(f"{at}experts", count, latent, width, names=NUMBERED)
    shared = fields.whole("num_shared_experts", default=0, least=0)
    if shared:
        yield from gated(f"{at}shared_experts", hidden, shared * width)
    if fields.has("routed_expert_hidden_size"):
        # MXFP4 is for the routed experts alone: vllm 0.32.0, model_executor/models/config.py:418, and the 15.83 GiB that
        # vLLM 0.27.1 logged for one layer more are those of both projections in BF16.
        yield from linear(f"{at}routed_expert_down_proj", latent, hidden, role=Role.OTHER)
        yield from linear(f"{at}routed_expert_up_proj", hidden, latent, role=Role.OTHER)
        if fields.flag("latent_moe_use_norm"):
            yield from norm(f"{at}routed_expert_norm", latent)


def _kimi(fields: Fields, names: Names) -> Iterator[Weight]:
    yield from decoder(fields, names, _STYLE, mixer=_mixer, feed=_feed)
    if fields.has("attn_res_block_size"):
        hidden = fields.whole("hidden_size")
        yield from norm(f"{names.root}output_attn_res_norm", hidden)
        yield from linear(f"{names.root}output_attn_res_proj", 1, hidden, role=Role.OTHER)


FAMILIES = (Family("KimiLinearForCausalLM", ("kimi_linear",), _kimi),)
