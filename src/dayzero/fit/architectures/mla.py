"""Multi-head latent attention with routed experts: DeepSeek V2, V3 and V3.2, Kimi K2, GLM-5, GLM-4 Lite, LongCat."""

from collections.abc import Iterator
from functools import partial

from dayzero.fit.architectures.decoder import Style, decoder, output_head, says
from dayzero.fit.architectures.family import Family
from dayzero.fit.architectures.fields import Fields
from dayzero.fit.architectures.moe import deepseek_feed
from dayzero.fit.architectures.nextn import next_layers
from dayzero.fit.architectures.weights import Names, Role, Weight, experts, gated, linear, norm, router

_STYLE = Style(bias="attention_bias", out_bias="attention_bias")


def latent_attention(fields: Fields, style: Style, stem: str, layer: int) -> Iterator[Weight]:
    """Give latent attention: queries through their own latent where ``q_lora_rank`` says so, keys and values through theirs.

    The sparse indexer of DeepSeek-V3.2 stands beside it where the configuration has one; the output gate of Kimi-K3 too.
    """
    del layer
    hidden, heads, bias = fields.whole("hidden_size"), fields.whole("num_attention_heads"), says(fields, style.bias)
    plain, turned, value = (
        fields.whole("qk_nope_head_dim"),
        fields.whole("qk_rope_head_dim", least=0),
        fields.whole("v_head_dim"),
    )
    latent, of_queries = fields.whole("kv_lora_rank"), fields.whole("q_lora_rank", default=0)
    at = f"{stem}{style.attention}."
    if of_queries:
        yield from linear(f"{at}q_a_proj", of_queries, hidden, bias=bias)
        yield from norm(f"{at}q_a_layernorm", of_queries)
        yield from linear(f"{at}q_b_proj", heads * (plain + turned), of_queries)
    else:
        yield from linear(f"{at}q_proj", heads * (plain + turned), hidden)
    yield from linear(f"{at}kv_a_proj_with_mqa", latent + turned, hidden, bias=bias)
    yield from norm(f"{at}kv_a_layernorm", latent)
    yield from linear(f"{at}kv_b_proj", heads * (plain + value), latent)
    yield from linear(f"{at}o_proj", hidden, heads * value, bias=bias)
    if fields.flag("mla_use_output_gate"):
        yield from linear(f"{at}g_proj", heads * value, hidden)
    if of_queries and fields.has("index_n_heads"):
        yield from _indexer(fields, f"{at}indexer.", hidden, of_queries)


def _indexer(fields: Fields, at: str, hidden: int, of_queries: int) -> Iterator[Weight]:
    heads, width = fields.whole("index_n_heads"), fields.whole("index_head_dim")
    yield from linear(f"{at}wq_b", heads * width, of_queries)
    yield from linear(f"{at}wk", width, hidden)
    yield from norm(f"{at}k_norm", width, bias=True)
    # Never quantised: vllm 0.32.0, model_executor/models/deepseek_v2.py, Indexer.
    yield from linear(f"{at}weights_proj", heads, hidden, role=Role.OTHER)


def _deepseek(fields: Fields, names: Names, *, correction: bool = True) -> Iterator[Weight]:
    feed = partial(deepseek_feed, correction=correction)
    yield from decoder(fields, names, _STYLE, mixer=latent_attention, feed=feed)
    yield from next_layers(fields, names, _STYLE, mixer=latent_attention, feed=feed)


def _longcat(fields: Fields, names: Names) -> Iterator[Weight]:
    hidden, count, width = (
        fields.whole("hidden_size"),
        fields.whole("n_routed_experts"),
        fields.whole("expert_ffn_hidden_size", "moe_intermediate_size"),
    )
    choices = count + fields.whole("zero_expert_num", default=0, least=0)
    yield Weight(f"{names.root}embed_tokens.weight", (fields.whole("vocab_size"), hidden))
    for layer in range(fields.layers("num_layers", "num_hidden_layers")):
        stem = f"{names.root}layers.{layer}."
        for half in ("0", "1"):
            style = Style(attention=f"self_attn.{half}", bias="attention_bias", out_bias="attention_bias")
            yield from latent_attention(fields, style, stem, layer)
            yield from gated(f"{stem}mlps.{half}", hidden, fields.whole("ffn_hidden_size", "intermediate_size"))
            yield from norm(f"{stem}input_layernorm.{half}", hidden)
            yield from norm(f"{stem}post_attention_layernorm.{half}", hidden)
        yield from router(f"{stem}mlp.router.classifier", choices, hidden)
        yield Weight(f"{stem}mlp.router.e_score_correction_bias", (choices,), dtype="F32")
        yield from experts(f"{stem}mlp.experts", count, hidden, width)
    yield from norm(f"{names.root}norm", hidden)
    yield from output_head(fields, names, Style())


FAMILIES = (
    Family(
        "DeepseekV2ForCausalLM",
        ("deepseek_v2", "deepseek"),
        partial(_deepseek, correction=False),
        drafts=True,
    ),
    Family("DeepseekV3ForCausalLM", ("deepseek_v3", "kimi_k2"), _deepseek, drafts=True),
    Family("DeepseekV32ForCausalLM", ("deepseek_v32",), _deepseek, drafts=True),
    Family("GlmMoeDsaForCausalLM", ("glm_moe_dsa",), _deepseek, drafts=True),
    Family("Glm4MoeLiteForCausalLM", ("glm4_moe_lite",), _deepseek, drafts=True),
    Family("LongcatFlashForCausalLM", ("longcat_flash",), _longcat),
)
