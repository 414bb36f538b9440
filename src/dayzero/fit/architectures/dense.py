"""Dense decoders: one row a family."""

from dataclasses import replace
from functools import partial

from dayzero.fit.architectures.decoder import LLAMA, Style, decoder
from dayzero.fit.architectures.family import Family

_PLAIN = Style()
_TWO_POST_NORMS = ("post_attention_layernorm", "post_feedforward_layernorm")
_FOUR_NORMS = ("input_layernorm", *_TWO_POST_NORMS, "pre_feedforward_layernorm")

# What each stores was taken from what transformers 5.19.0 saves (tests/fit/architectures/saved.json).
_STYLES: tuple[tuple[str, str, Style], ...] = (
    ("LlamaForCausalLM", "llama", LLAMA),
    ("MistralForCausalLM", "mistral", _PLAIN),
    ("Ministral3ForCausalLM", "ministral3", _PLAIN),
    ("Qwen2ForCausalLM", "qwen2", Style(bias="yes")),
    ("Qwen3ForCausalLM", "qwen3", replace(LLAMA, qk_norm="yes", mlp_bias="no")),
    ("GemmaForCausalLM", "gemma", Style(bias="attention_bias", out_bias="attention_bias", tied=True)),
    (
        "Gemma2ForCausalLM",
        "gemma2",
        Style(bias="attention_bias", out_bias="attention_bias", norms=_FOUR_NORMS, tied=True),
    ),
    (
        "Gemma3ForCausalLM",
        "gemma3_text",
        Style(bias="attention_bias", out_bias="attention_bias", qk_norm="yes", norms=_FOUR_NORMS, tied=True),
    ),
    (
        "PhiForCausalLM",
        "phi",
        Style(
            bias="yes",
            out="dense",
            out_bias="yes",
            norms=("input_layernorm",),
            norm_bias=True,
            mlp_names=("fc1", "fc2"),
            mlp_bias="yes",
            final_norm="final_layernorm",
            head_bias="yes",
        ),
    ),
    ("Phi3ForCausalLM", "phi3", Style(qkv=("qkv_proj",), gate_up="gate_up_proj")),
    ("SmolLM3ForCausalLM", "smollm3", replace(LLAMA, tied=True)),
    ("OlmoForCausalLM", "olmo", Style(bias="attention_bias", out_bias="attention_bias", norms=(), final_norm="")),
    (
        "Olmo2ForCausalLM",
        "olmo2",
        Style(bias="attention_bias", out_bias="attention_bias", qk_norm="yes", qk_norm_of="all", norms=_TWO_POST_NORMS),
    ),
    (
        "Olmo3ForCausalLM",
        "olmo3",
        Style(bias="attention_bias", out_bias="attention_bias", qk_norm="yes", qk_norm_of="all", norms=_TWO_POST_NORMS),
    ),
    (
        "CohereForCausalLM",
        "cohere",
        Style(
            bias="attention_bias",
            out_bias="attention_bias",
            qk_norm="use_qk_norm",
            qk_norm_of="each",
            norms=("input_layernorm",),
            tied=True,
        ),
    ),
    (
        "Cohere2ForCausalLM",
        "cohere2",
        Style(bias="attention_bias", out_bias="attention_bias", norms=("input_layernorm",), tied=True),
    ),
    ("GlmForCausalLM", "glm", Style(bias="attention_bias", gate_up="gate_up_proj")),
    (
        "Glm4ForCausalLM",
        "glm4",
        Style(
            bias="attention_bias",
            gate_up="gate_up_proj",
            norms=("input_layernorm", "post_attention_layernorm", "post_self_attn_layernorm", "post_mlp_layernorm"),
        ),
    ),
    (
        "Starcoder2ForCausalLM",
        "starcoder2",
        Style(
            bias="use_bias=true",
            out_bias="use_bias=true",
            mlp_names=("c_fc", "c_proj"),
            mlp_bias="use_bias=true",
            norm_bias=True,
            tied=True,
        ),
    ),
    ("StableLmForCausalLM", "stablelm", Style(bias="use_qkv_bias", norm_bias=True)),
    ("GraniteForCausalLM", "granite", replace(LLAMA, tied=False)),
    (
        "NemotronForCausalLM",
        "nemotron",
        replace(LLAMA, mlp_names=("up_proj", "down_proj"), norm_bias=True),
    ),
    ("Exaone4ForCausalLM", "exaone4", Style(qk_norm="yes", norms=_TWO_POST_NORMS)),
    ("ArceeForCausalLM", "arcee", replace(LLAMA, mlp_names=("up_proj", "down_proj"))),
    (
        "SeedOssForCausalLM",
        "seed_oss",
        Style(bias="attention_bias", out_bias="attention_out_bias", mlp_bias="mlp_bias"),
    ),
    ("Ernie4_5ForCausalLM", "ernie4_5", Style(bias="use_bias", out_bias="use_bias", mlp_bias="use_bias", tied=True)),
    (
        "HunYuanDenseV1ForCausalLM",
        "hunyuan_v1_dense",
        replace(LLAMA, qk_norm="yes", qk_norm_names=("query_layernorm", "key_layernorm"), mlp_bias="no"),
    ),
    ("HeliumForCausalLM", "helium", Style(bias="attention_bias")),
    ("MiMoForCausalLM", "mimo", Style(bias="yes")),
    ("InternLM3ForCausalLM", "internlm3", Style(bias="qkv_bias", out_bias="bias", mlp_bias="bias")),
)


FAMILIES = tuple(
    Family(architecture, (model_type,), partial(decoder, style=style)) for architecture, model_type, style in _STYLES
)
