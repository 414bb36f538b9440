"""Checkpoints of real shapes, written out tensor by tensor, so that these tests stand on nothing but the published layouts."""

from collections.abc import Iterator, Mapping

from dayzero.core.quantities import Bytes
from dayzero.fit.checkpoint import Basis, Checkpoint, Tensor

_SIZES = {"BF16": 2, "F32": 4, "U8": 1, "F8_E4M3": 1, "I32": 4}


def tensor(name: str, *shape: int, dtype: str = "BF16", count: int = 1) -> Tensor:
    size = _SIZES[dtype] * count
    for length in shape:
        size *= length
    return Tensor(name=name, shape=shape, dtype=dtype, stored=Bytes(size), count=count)


def checkpoint(config: Mapping[str, object], tensors: Iterator[Tensor] | tuple[Tensor, ...]) -> Checkpoint:
    return Checkpoint(tensors=tuple(tensors), config=config, basis=Basis.CONFIG, source="config.json", shards=None)


def dense(**changed: object) -> Checkpoint:
    """Give a decoder as Qwen3-8B is, with some fields changed."""
    config = {**QWEN3_8B, **changed}
    return checkpoint(config, _dense({key: value for key, value in config.items() if isinstance(value, int)}))


QWEN3_8B: Mapping[str, object] = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


def _dense(size: Mapping[str, int]) -> Iterator[Tensor]:
    hidden, inner, head = size["hidden_size"], size["intermediate_size"], size["head_dim"]
    yield tensor("model.embed_tokens.weight", size["vocab_size"], hidden)
    for layer in range(size["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        yield tensor(f"{at}self_attn.q_proj.weight", size["num_attention_heads"] * head, hidden)
        for name in ("k_proj", "v_proj"):
            yield tensor(f"{at}self_attn.{name}.weight", size["num_key_value_heads"] * head, hidden)
        yield tensor(f"{at}self_attn.o_proj.weight", hidden, size["num_attention_heads"] * head)
        for name in ("gate_proj", "up_proj"):
            yield tensor(f"{at}mlp.{name}.weight", inner, hidden)
        yield tensor(f"{at}mlp.down_proj.weight", hidden, inner)
        for name in ("input_layernorm", "post_attention_layernorm"):
            yield tensor(f"{at}{name}.weight", hidden)
    yield tensor("model.norm.weight", hidden)
    if not size.get("tie_word_embeddings"):
        yield tensor("lm_head.weight", size["vocab_size"], hidden)


_FULL = (*range(4, 93, 4), 93)


def kimi_k3(layers: int = 93, *, tower: bool = True) -> Checkpoint:
    """Give Kimi-K3 as published, or its first layers."""
    config = {
        "architectures": ["KimiK3ForConditionalGeneration"],
        "model_type": "kimi_k3",
        "text_config": {
            "model_type": "kimi_linear",
            "hidden_size": 7168,
            "intermediate_size": 33792,
            "num_hidden_layers": layers,
            "num_attention_heads": 96,
            "num_key_value_heads": 96,
            "kv_lora_rank": 512,
            "q_lora_rank": 1536,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "v_head_dim": 128,
            "vocab_size": 163840,
            "max_position_embeddings": 1048576,
            "num_experts": 896,
            "num_experts_per_token": 16,
            "num_shared_experts": 2,
            "moe_intermediate_size": 3072,
            "routed_expert_hidden_size": 3584,
            "dtype": "bfloat16",
            "linear_attn_config": {
                "head_dim": 128,
                "num_heads": 96,
                "short_conv_kernel_size": 4,
                "kda_layers": [layer for layer in range(1, layers + 1) if layer not in _FULL],
            },
            "quantization_config": {"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized"},
        },
        "vision_config": {"vt_num_attention_heads": 12},
    }
    return checkpoint(config, (*_kimi(layers), *(_tower() if tower else ())))


def _kimi(layers: int) -> Iterator[Tensor]:
    yield tensor("language_model.model.embed_tokens.weight", 163840, 7168)
    for layer in range(layers):
        at = f"language_model.model.layers.{layer}."
        yield from _latent(f"{at}self_attn.") if layer + 1 in _FULL else _delta(f"{at}self_attn.")
        yield from _experts(f"{at}block_sparse_moe.") if layer else _mlp(f"{at}mlp.", 33792)
        for name in ("input_layernorm", "post_attention_layernorm"):
            yield tensor(f"{at}{name}.weight", 7168)
    yield tensor("language_model.model.norm.weight", 7168)
    yield tensor("language_model.lm_head.weight", 163840, 7168)


def _delta(at: str) -> Iterator[Tensor]:
    for name in ("q", "k", "v", "g"):
        yield tensor(f"{at}{name}_proj.weight", 12288, 7168)
    for name in ("q", "k", "v"):
        yield tensor(f"{at}{name}_conv1d.weight", 12288, 1, 4)
    yield tensor(f"{at}A_log", 1, 1, 96, 1, dtype="F32")
    yield tensor(f"{at}dt_bias", 12288, dtype="F32")
    yield tensor(f"{at}f_a_proj.weight", 128, 7168)
    yield tensor(f"{at}f_b_proj.weight", 12288, 128)
    yield tensor(f"{at}b_proj.weight", 96, 7168)
    yield tensor(f"{at}o_norm.weight", 128)
    yield tensor(f"{at}o_proj.weight", 7168, 12288)


def _latent(at: str) -> Iterator[Tensor]:
    for name, rows, columns in (
        ("q_a_proj", 1536, 7168),
        ("q_b_proj", 18432, 1536),
        ("kv_a_proj_with_mqa", 576, 7168),
        ("kv_b_proj", 24576, 512),
        ("g_proj", 12288, 7168),
        ("o_proj", 7168, 12288),
    ):
        yield tensor(f"{at}{name}.weight", rows, columns)
    yield tensor(f"{at}q_a_layernorm.weight", 1536)
    yield tensor(f"{at}kv_a_layernorm.weight", 512)


def _mlp(at: str, inner: int) -> Iterator[Tensor]:
    for name in ("gate_proj", "up_proj"):
        yield tensor(f"{at}{name}.weight", inner, 7168)
    yield tensor(f"{at}down_proj.weight", 7168, inner)


def _experts(at: str) -> Iterator[Tensor]:
    yield tensor(f"{at}gate.weight", 896, 7168)
    yield tensor(f"{at}gate.e_score_correction_bias", 896, dtype="F32")
    for name, rows, columns in (("w1", 3072, 3584), ("w3", 3072, 3584), ("w2", 3584, 3072)):
        yield tensor(f"{at}experts.*.{name}.weight_packed", rows, columns // 2, dtype="U8", count=896)
        yield tensor(f"{at}experts.*.{name}.weight_scale", rows, columns // 32, dtype="U8", count=896)
    yield from _mlp(f"{at}shared_experts.", 6144)
    yield tensor(f"{at}routed_expert_down_proj.weight", 3584, 7168)
    yield tensor(f"{at}routed_expert_up_proj.weight", 7168, 3584)
    yield tensor(f"{at}routed_expert_norm.weight", 3584)


def _tower() -> Iterator[Tensor]:
    for block in range(27):
        at = f"vision_tower.encoder.blocks.{block}."
        yield tensor(f"{at}wqkv.weight", 4608, 1024)
        yield tensor(f"{at}wo.weight", 1024, 1536)
        yield tensor(f"{at}mlp.fc0.weight", 4096, 1024)
        yield tensor(f"{at}mlp.fc1.weight", 1024, 4096)
