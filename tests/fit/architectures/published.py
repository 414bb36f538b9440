"""Real models: the fields of their ``config.json`` that shape them, and how many parameters their publisher counts.

A count is that of the model's card or of the sum that the hub shows for its safetensors files, one number a parameter, before
quantisation. ``within`` is how far that number may be off, 0 where it is known to the last parameter.
"""

# ruff: noqa: PLR0913, PLR0917  (the columns of a table)
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One model and its published count."""

    parameters: int
    within: float
    config: dict[str, object]


def _llama_like(
    architecture: str,
    model_type: str,
    vocabulary: int,
    hidden: int,
    width: int,
    layers: int,
    heads: int,
    of_kv: int,
    **more: object,
) -> dict[str, object]:
    return {
        "architectures": [architecture],
        "model_type": model_type,
        "vocab_size": vocabulary,
        "hidden_size": hidden,
        "intermediate_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": of_kv,
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": False,
        **more,
    }


def _llama(*shape: int, **more: object) -> dict[str, object]:
    return _llama_like("LlamaForCausalLM", "llama", *shape, **more)


def _qwen3(*shape: int, **more: object) -> dict[str, object]:
    return _llama_like("Qwen3ForCausalLM", "qwen3", *shape, head_dim=128, attention_bias=False, **more)


def _qwen2(*shape: int, **more: object) -> dict[str, object]:
    return _llama_like("Qwen2ForCausalLM", "qwen2", *shape, **more)


def _exactly(parameters: int, config: dict[str, object]) -> Published:
    return Published(parameters=parameters, within=0, config=config)


def _about(parameters: float, config: dict[str, object], within: float = 0.005) -> Published:
    return Published(parameters=round(parameters), within=within, config=config)


_DEEPSEEK_V3 = {
    **_llama_like("DeepseekV3ForCausalLM", "deepseek_v3", 129280, 7168, 18432, 61, 128, 128),
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "moe_layer_freq": 1,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "num_nextn_predict_layers": 1,
    "quantization_config": {
        "activation_scheme": "dynamic",
        "fmt": "e4m3",
        "quant_method": "fp8",
        "weight_block_size": [128, 128],
    },
}
_KIMI_K2 = {
    **_DEEPSEEK_V3,
    "model_type": "kimi_k2",
    "vocab_size": 163840,
    "num_attention_heads": 64,
    "num_key_value_heads": 64,
    "n_routed_experts": 384,
    "first_k_dense_replace": 1,
    "num_nextn_predict_layers": 0,
}
_GPT_OSS_QUANT = {
    "modules_to_not_convert": [
        "model.layers.*.self_attn",
        "model.layers.*.mlp.router",
        "model.embed_tokens",
        "lm_head",
    ],
    "quant_method": "mxfp4",
}


def _gpt_oss(layers: int, count: int) -> dict[str, object]:
    return _llama_like(
        "GptOssForCausalLM",
        "gpt_oss",
        201088,
        2880,
        2880,
        layers,
        64,
        8,
        head_dim=64,
        num_local_experts=count,
        attention_bias=True,
        quantization_config=_GPT_OSS_QUANT,
    )


def _gemma3(hidden: int, width: int, layers: int, heads: int, of_kv: int, head: int) -> dict[str, object]:
    return {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "model_type": "gemma3",
        "mm_tokens_per_image": 256,
        "text_config": {
            "head_dim": head,
            "hidden_size": hidden,
            "intermediate_size": width,
            "model_type": "gemma3_text",
            "num_attention_heads": heads,
            "num_hidden_layers": layers,
            "num_key_value_heads": of_kv,
            "sliding_window": 1024,
        },
        "torch_dtype": "bfloat16",
        "vision_config": {
            "hidden_size": 1152,
            "image_size": 896,
            "intermediate_size": 4304,
            "model_type": "siglip_vision_model",
            "num_attention_heads": 16,
            "num_hidden_layers": 27,
            "patch_size": 14,
            "vision_use_head": False,
        },
    }


def _qwen3_moe(hidden: int, layers: int, heads: int, of_kv: int, count: int, width: int) -> dict[str, object]:
    return _llama_like(
        "Qwen3MoeForCausalLM",
        "qwen3_moe",
        151936,
        hidden,
        6144,
        layers,
        heads,
        of_kv,
        head_dim=128,
        num_experts=count,
        moe_intermediate_size=width,
        decoder_sparse_step=1,
        mlp_only_layers=[],
    )


def _glm4_moe(
    hidden: int, width: int, layers: int, experts: int, routed: int, dense: int, *, normed: bool
) -> dict[str, object]:
    return _llama_like(
        "Glm4MoeForCausalLM",
        "glm4_moe",
        151552,
        hidden,
        width,
        layers,
        96,
        8,
        head_dim=128,
        attention_bias=True,
        use_qk_norm=normed,
        n_routed_experts=experts,
        n_shared_experts=1,
        moe_intermediate_size=routed,
        first_k_dense_replace=dense,
        num_nextn_predict_layers=1,
    )


def _llama4(count: int, step: int) -> dict[str, object]:
    return {
        "architectures": ["Llama4ForConditionalGeneration"],
        "model_type": "llama4",
        "text_config": {
            "attention_bias": False,
            "head_dim": 128,
            "hidden_size": 5120,
            "interleave_moe_layer_step": step,
            "intermediate_size": 8192,
            "intermediate_size_mlp": 16384,
            "model_type": "llama4_text",
            "num_attention_heads": 40,
            "num_hidden_layers": 48,
            "num_key_value_heads": 8,
            "num_local_experts": count,
            "vocab_size": 202048,
        },
        "torch_dtype": "bfloat16",
        "vision_config": {
            "hidden_size": 1408,
            "image_size": 336,
            "intermediate_size": 5632,
            "model_type": "llama4_vision_model",
            "num_attention_heads": 16,
            "num_channels": 3,
            "num_hidden_layers": 34,
            "patch_size": 14,
            "pixel_shuffle_ratio": 0.5,
            "projector_input_dim": 4096,
            "projector_output_dim": 4096,
            "vision_output_dim": 4096,
        },
    }


def _qwen2_5_vl(
    hidden: int, width: int, layers: int, heads: int, of_kv: int, vocabulary: int, *, tied: bool, seen: int = 3420
) -> dict[str, object]:
    return {
        **_llama_like(
            "Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl", vocabulary, hidden, width, layers, heads, of_kv
        ),
        "tie_word_embeddings": tied,
        "vision_config": {
            "depth": 32,
            "hidden_size": 1280,
            "intermediate_size": seen,
            "num_heads": 16,
            "in_chans": 3,
            "out_hidden_size": hidden,
            "patch_size": 14,
            "spatial_merge_size": 2,
            "spatial_patch_size": 14,
            "temporal_patch_size": 2,
        },
    }


PUBLISHED: dict[str, Published] = {
    "Llama-2-7b": _exactly(6_738_415_616, _llama(32000, 4096, 11008, 32, 32, 32)),
    "Llama-3.1-8B": _exactly(8_030_261_248, _llama(128256, 4096, 14336, 32, 32, 8)),
    "Llama-3.1-70B": _exactly(70_553_706_496, _llama(128256, 8192, 28672, 80, 64, 8)),
    "Llama-3.1-405B": _exactly(405_853_388_800, _llama(128256, 16384, 53248, 126, 128, 8)),
    "Llama-3.2-1B": _exactly(
        1_235_814_400, _llama(128256, 2048, 8192, 16, 32, 8, head_dim=64, tie_word_embeddings=True)
    ),
    "Llama-3.2-3B": _exactly(
        3_212_749_824, _llama(128256, 3072, 8192, 28, 24, 8, head_dim=128, tie_word_embeddings=True)
    ),
    "SmolLM2-135M": _exactly(134_515_008, _llama(49152, 576, 1536, 30, 9, 3, tie_word_embeddings=True)),
    "Mistral-7B-v0.1": _exactly(
        7_241_732_096, _llama_like("MistralForCausalLM", "mistral", 32000, 4096, 14336, 32, 32, 8)
    ),
    "Mistral-Small-24B-2501": _exactly(
        23_572_403_200, _llama_like("MistralForCausalLM", "mistral", 131072, 5120, 32768, 40, 32, 8, head_dim=128)
    ),
    "Qwen2.5-0.5B": _exactly(494_032_768, _qwen2(151936, 896, 4864, 24, 14, 2, tie_word_embeddings=True)),
    "Qwen2.5-7B": _exactly(7_615_616_512, _qwen2(152064, 3584, 18944, 28, 28, 4)),
    "Qwen2.5-72B": _exactly(72_706_203_648, _qwen2(152064, 8192, 29568, 80, 64, 8)),
    "Qwen3-4B": _exactly(4_022_468_096, _qwen3(151936, 2560, 9728, 36, 32, 8, tie_word_embeddings=True)),
    "Qwen3-8B": _exactly(8_190_735_360, _qwen3(151936, 4096, 12288, 36, 32, 8)),
    "Qwen3-14B": _exactly(14_768_307_200, _qwen3(151936, 5120, 17408, 40, 40, 8)),
    "Qwen3-32B": _exactly(32_762_123_264, _qwen3(151936, 5120, 25600, 64, 64, 8)),
    "Gemma-2-9b": _exactly(
        9_241_705_984,
        {
            **_llama_like("Gemma2ForCausalLM", "gemma2", 256000, 3584, 14336, 42, 16, 8, head_dim=256),
            "tie_word_embeddings": True,
        },
    ),
    "Gemma-3-4b": _exactly(4_300_079_472, _gemma3(2560, 10240, 34, 8, 4, 256)),
    "Gemma-3-12b": _exactly(12_187_325_040, _gemma3(3840, 15360, 48, 16, 8, 256)),
    "Gemma-3-27b": _exactly(27_432_406_640, _gemma3(5376, 21504, 62, 32, 16, 128)),
    "Phi-2": _exactly(2_779_683_840, _llama_like("PhiForCausalLM", "phi", 51200, 2560, 10240, 32, 32, 32)),
    "Phi-3-mini": _exactly(3_821_079_552, _llama_like("Phi3ForCausalLM", "phi3", 32064, 3072, 8192, 32, 32, 32)),
    "Phi-4": _exactly(14_659_507_200, _llama_like("Phi3ForCausalLM", "phi3", 100352, 5120, 17920, 40, 40, 10)),
    "OLMo-2-7B": _exactly(7_298_617_344, _llama_like("Olmo2ForCausalLM", "olmo2", 100352, 4096, 11008, 32, 32, 32)),
    "Command-R": _exactly(
        34_980_831_232,
        {**_llama_like("CohereForCausalLM", "cohere", 256000, 8192, 22528, 40, 64, 64), "tie_word_embeddings": True},
    ),
    "GLM-4-9B-0414": _exactly(
        9_400_279_040,
        _llama_like("Glm4ForCausalLM", "glm4", 151552, 4096, 13696, 40, 32, 2, head_dim=128, attention_bias=True),
    ),
    "GPT-2": _exactly(
        124_439_808,
        {
            "architectures": ["GPT2LMHeadModel"],
            "model_type": "gpt2",
            "n_embd": 768,
            "n_head": 12,
            "n_layer": 12,
            "n_positions": 1024,
            "vocab_size": 50257,
        },
    ),
    "Mixtral-8x7B": _exactly(
        46_702_792_704,
        _llama_like(
            "MixtralForCausalLM", "mixtral", 32000, 4096, 14336, 32, 32, 8, num_local_experts=8, num_experts_per_tok=2
        ),
    ),
    "Mixtral-8x22B": _exactly(
        140_620_634_112,
        _llama_like(
            "MixtralForCausalLM", "mixtral", 32000, 6144, 16384, 56, 48, 8, num_local_experts=8, num_experts_per_tok=2
        ),
    ),
    "Qwen1.5-MoE-A2.7B": _exactly(
        14_315_784_192,
        _llama_like(
            "Qwen2MoeForCausalLM",
            "qwen2_moe",
            151936,
            2048,
            5632,
            24,
            16,
            16,
            num_experts=60,
            moe_intermediate_size=1408,
            shared_expert_intermediate_size=5632,
            decoder_sparse_step=1,
        ),
    ),
    "Qwen3-30B-A3B": _exactly(30_532_122_624, _qwen3_moe(2048, 48, 32, 4, 128, 768)),
    "Qwen3-235B-A22B": _exactly(235_093_634_560, _qwen3_moe(4096, 94, 64, 4, 128, 1536)),
    "OLMoE-1B-7B": _exactly(
        6_919_161_856, _llama_like("OlmoeForCausalLM", "olmoe", 50304, 2048, 1024, 16, 16, 16, num_experts=64)
    ),
    "Phi-3.5-MoE": _exactly(
        41_873_153_344,
        _llama_like(
            "PhiMoEForCausalLM",
            "phimoe",
            32064,
            4096,
            6400,
            32,
            32,
            8,
            num_local_experts=16,
            attention_bias=True,
            lm_head_bias=True,
        ),
    ),
    "gpt-oss-20b": _exactly(20_914_757_184, _gpt_oss(24, 32)),
    "gpt-oss-120b": _exactly(116_829_156_672, _gpt_oss(36, 128)),
    "GLM-4.5": _exactly(358_337_791_296, _glm4_moe(5120, 12288, 92, 160, 1536, 3, normed=True)),
    "GLM-4.5-Air": _exactly(110_468_824_832, _glm4_moe(4096, 10944, 46, 128, 1408, 1, normed=False)),
    "MiniMax-M2": _about(
        228.7e9,
        _llama_like(
            "MiniMaxM2ForCausalLM", "minimax_m2", 200064, 3072, 1536, 62, 48, 8, head_dim=128, num_local_experts=256
        ),
    ),
    "Llama-4-Scout": _exactly(108_641_793_536, _llama4(16, 1)),
    "Llama-4-Maverick": _exactly(401_583_781_376, _llama4(128, 2)),
    "DeepSeek-V2-Lite": _exactly(
        15_706_484_224,
        {
            **_llama_like("DeepseekV2ForCausalLM", "deepseek_v2", 102400, 2048, 10944, 27, 16, 16),
            "moe_intermediate_size": 1408,
            "n_routed_experts": 64,
            "n_shared_experts": 2,
            "first_k_dense_replace": 1,
            "moe_layer_freq": 1,
            "kv_lora_rank": 512,
            "q_lora_rank": None,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "v_head_dim": 128,
        },
    ),
    "DeepSeek-V3": _about(684.49e9, _DEEPSEEK_V3, 0.0005),
    "Kimi-K2": _about(1026.4e9, _KIMI_K2, 0.0005),
    "Kimi-Linear-48B": _about(
        49.1e9,
        {
            **_llama_like("KimiLinearForCausalLM", "kimi_linear", 163840, 2304, 9216, 27, 32, 32),
            "first_k_dense_replace": 1,
            "kv_lora_rank": 512,
            "q_lora_rank": None,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "v_head_dim": 128,
            "moe_intermediate_size": 1024,
            "num_experts": 256,
            "num_shared_experts": 1,
            "linear_attn_config": {
                "full_attn_layers": [4, 8, 12, 16, 20, 24, 27],
                "kda_layers": [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26],
                "head_dim": 128,
                "num_heads": 32,
                "short_conv_kernel_size": 4,
            },
        },
    ),
    "Qwen3-Next-80B-A3B": _exactly(
        81_324_862_720,
        {
            **_llama_like("Qwen3NextForCausalLM", "qwen3_next", 151936, 2048, 5120, 48, 16, 2),
            "head_dim": 256,
            "full_attention_interval": 4,
            "linear_conv_kernel_dim": 4,
            "linear_key_head_dim": 128,
            "linear_num_key_heads": 16,
            "linear_num_value_heads": 32,
            "linear_value_head_dim": 128,
            "num_experts": 512,
            "moe_intermediate_size": 512,
            "shared_expert_intermediate_size": 512,
            "decoder_sparse_step": 1,
        },
    ),
    "Jamba-v0.1": _exactly(
        51_570_323_328,
        _llama_like(
            "JambaForCausalLM",
            "jamba",
            65536,
            4096,
            14336,
            32,
            32,
            8,
            num_experts=16,
            attn_layer_period=8,
            attn_layer_offset=4,
            expert_layer_period=2,
            expert_layer_offset=1,
            mamba_d_state=16,
            mamba_d_conv=4,
            mamba_expand=2,
            mamba_dt_rank=256,
        ),
    ),
    "Qwen2-VL-7B": _exactly(
        8_291_375_616,
        {
            **_llama_like("Qwen2VLForConditionalGeneration", "qwen2_vl", 152064, 3584, 18944, 28, 28, 4),
            "vision_config": {
                "depth": 32,
                "embed_dim": 1280,
                "hidden_size": 3584,
                "in_chans": 3,
                "mlp_ratio": 4,
                "num_heads": 16,
                "patch_size": 14,
                "spatial_merge_size": 2,
                "temporal_patch_size": 2,
            },
        },
    ),
    "Qwen2.5-VL-3B": _exactly(3_754_622_976, _qwen2_5_vl(2048, 11008, 36, 16, 2, 151936, tied=True)),
    "Qwen2.5-VL-7B": _exactly(8_292_166_656, _qwen2_5_vl(3584, 18944, 28, 28, 4, 152064, tied=False)),
    "Qwen2.5-VL-72B": _exactly(73_410_777_344, _qwen2_5_vl(8192, 29568, 80, 64, 8, 152064, tied=False, seen=3456)),
}
