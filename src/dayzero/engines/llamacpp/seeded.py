"""Make small models with the real layer plan of a large one, from a seed, byte for byte the same on every machine.

Weights are whole numbers from a specified generator (PCG64) times a constant, rounded to bfloat16 by integer arithmetic.
Square roots are exact by IEEE 754; the few powers of two with broken exponents are taken in double precision and rounded
once, so that the mathematical library of the machine does not show.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import gguf
import numpy as np
from numpy.typing import NDArray

from dayzero.engines.llamacpp.mxfp4 import quantise
from dayzero.engines.llamacpp.vocabulary import CHAT_TEMPLATE, Vocabulary, byte_level_vocabulary

Weights = NDArray[np.float32]

_ARCHITECTURE = "kimi-k3"
_MOSTLY_MXFP4 = 38  # general.file_type "MXFP4 MoE" (llama.cpp, include/llama.h, LLAMA_FTYPE_MOSTLY_MXFP4_MOE)
_SIGMOID_GATING = 2  # llama.cpp, src/llama-hparams.h, LLAMA_EXPERT_GATING_FUNC_TYPE_SIGMOID
_GRID = 1 << 16
_SQRT_3 = np.float32(1.7320508)  # a uniform distribution on (-a, a) has the standard deviation a / sqrt(3)
_QUIET = np.float32(1 / 256)


@dataclass(frozen=True, slots=True, kw_only=True)
class KimiK3Size:
    """Dimensions of a Kimi-K3: every fourth layer is latent attention (MLA), the others are Kimi Delta Attention (KDA).

    Attributes:
        residual_gain: Scale of what each layer adds to the residual stream. At 1 random layers amplify the smallest
            rounding difference until the next token flips; below it, two runs can be compared.
    """

    hidden: int = 256
    layers: int = 8
    heads: int = 4
    kda_head: int = 64
    query_rank: int = 96
    latent_rank: int = 128
    plain_head: int = 64
    rotary_head: int = 32
    value_head: int = 64
    dense_width: int = 512
    expert_width: int = 64
    expert_latent: int = 128
    experts: int = 16
    experts_used: int = 4
    shared_experts: int = 1
    residual_block: int = 4
    context: int = 65536
    convolution: int = 4
    residual_gain: float = 0.35

    def is_latent(self, layer: int) -> bool:
        """Say whether a layer is latent attention."""
        return layer % 4 == 3  # noqa: PLR2004  (the plan: three KDA, one MLA)

    @property
    def kda_width(self) -> int:
        """Width of a KDA layer's keys, queries and values."""
        return self.kda_head * self.heads


class _Generator:
    """Draws weights in a fixed order from one stream."""

    def __init__(self, seed: int) -> None:
        self._stream = np.random.Generator(np.random.PCG64(seed))

    def draw(self, *shape: int, deviation: float) -> Weights:
        """Draw uniform weights with this standard deviation, exact in bfloat16."""
        numbers = self._stream.integers(0, _GRID, size=shape, dtype=np.int64).astype(np.float32)
        centred = (numbers - np.float32((_GRID - 1) / 2)) * np.float32(2 / _GRID)
        return _round_to_bfloat16(centred * (np.float32(deviation) * _SQRT_3))


def _round_to_bfloat16(values: Weights) -> Weights:
    """Round to the nearest value with 8 significant bits, ties to even."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return (rounded << np.uint32(16)).view(np.float32)


class _ModelFile:
    """A GGUF file in the making: its writer, its random stream and its dimensions."""

    def __init__(self, path: Path, size: KimiK3Size, seed: int) -> None:
        self.size = size
        self.random = _Generator(seed)
        self.writer = gguf.GGUFWriter(path, _ARCHITECTURE)

    def plain(self, name: str, values: Weights) -> None:
        """Add a tensor as float32."""
        self.writer.add_tensor(name, np.ascontiguousarray(values, np.float32))

    def linear(self, name: str, *shape: int, gain: float = 1.0) -> None:
        """Add a random matrix that keeps the scale of its input, times ``gain``; the last axis is the input."""
        self.plain(name, self.random.draw(*shape, deviation=gain / np.sqrt(shape[-1])))

    def experts(self, name: str, *shape: int) -> None:
        """Add the matrices of all experts as MXFP4."""
        values = self.random.draw(*shape, deviation=1 / np.sqrt(shape[-1]))
        self.writer.add_tensor(name, quantise(values), raw_dtype=gguf.GGMLQuantizationType.MXFP4)

    def ones(self, name: str, width: int) -> None:
        """Add the weights of a norm."""
        self.plain(name, np.ones(width, np.float32))

    def close(self) -> None:
        """Write header, metadata and tensors."""
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def make_kimi_k3(seed: int, path: Path) -> None:
    """Write a Kimi-K3 of 7.04 million parameters whose routed experts are MXFP4 (18.6 MB, under a second)."""
    size = KimiK3Size()
    vocabulary = byte_level_vocabulary(merges=200, multiple_of=64)
    model = _ModelFile(path, size, seed)
    _metadata(model, seed, len(vocabulary.tokens))
    _tokenizer(model, vocabulary)
    _embeddings(model, vocabulary)
    for layer in range(size.layers):
        _norms(model, layer)
        if size.is_latent(layer):
            _latent_attention(model, layer)
        else:
            _delta_attention(model, layer)
        if layer == 0:
            _dense_feed_forward(model, layer)
        else:
            _mixture_of_experts(model, layer)
    model.close()


GENERATORS: Mapping[str, Callable[[int, Path], None]] = MappingProxyType({"kimi-k3": make_kimi_k3})


def _metadata(model: _ModelFile, seed: int, tokens: int) -> None:
    """Write the hyper-parameters, in the order and under the names that llama.cpp's src/models/kimi-k3.cpp reads."""
    size, writer = model.size, model.writer
    writer.add_name(f"tiny-kimi-k3-seed{seed}")
    writer.add_context_length(size.context)
    writer.add_embedding_length(size.hidden)
    writer.add_block_count(size.layers)
    writer.add_feed_forward_length(size.dense_width)
    writer.add_vocab_size(tokens)
    writer.add_head_count(size.heads)
    writer.add_head_count_kv([int(size.is_latent(layer)) for layer in range(size.layers)])
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_uint32(f"{_ARCHITECTURE}.ssm.conv_kernel", size.convolution)
    writer.add_uint32(f"{_ARCHITECTURE}.kda.head_dim", size.kda_head)
    writer.add_float32(f"{_ARCHITECTURE}.kda.gate_lower_bound", -5.0)
    writer.add_uint32(f"{_ARCHITECTURE}.attention.q_lora_rank", size.query_rank)
    writer.add_uint32(f"{_ARCHITECTURE}.attention.kv_lora_rank", size.latent_rank)
    writer.add_rope_dimension_count(size.rotary_head)
    writer.add_key_length(size.latent_rank + size.rotary_head)
    writer.add_value_length(size.latent_rank)
    writer.add_uint32(f"{_ARCHITECTURE}.attention.key_length_mla", size.plain_head + size.rotary_head)
    writer.add_uint32(f"{_ARCHITECTURE}.attention.value_length_mla", size.value_head)
    _expert_metadata(model)


def _expert_metadata(model: _ModelFile) -> None:
    size, writer = model.size, model.writer
    writer.add_expert_count(size.experts)
    writer.add_expert_used_count(size.experts_used)
    writer.add_expert_feed_forward_length(size.expert_width)
    writer.add_uint32(f"{_ARCHITECTURE}.expert_shared_count", size.shared_experts)
    writer.add_uint32(f"{_ARCHITECTURE}.leading_dense_block_count", 1)
    writer.add_float32(f"{_ARCHITECTURE}.expert_weights_scale", 2.5)
    writer.add_bool(f"{_ARCHITECTURE}.expert_weights_norm", True)  # noqa: FBT003  (the writer's signature)
    writer.add_uint32(f"{_ARCHITECTURE}.expert_gating_func", _SIGMOID_GATING)
    writer.add_uint32(f"{_ARCHITECTURE}.expert_latent_length", size.expert_latent)
    writer.add_float32(f"{_ARCHITECTURE}.activation.situ_beta", 10.0)
    writer.add_float32(f"{_ARCHITECTURE}.activation.situ_linear_beta", 10.0)
    writer.add_uint32(f"{_ARCHITECTURE}.attn_res.block_size", size.residual_block)


def _tokenizer(model: _ModelFile, vocabulary: Vocabulary) -> None:
    writer = model.writer
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(list(vocabulary.tokens))
    writer.add_token_merges(list(vocabulary.merges))
    control, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    writer.add_token_types([control if token in vocabulary.control else normal for token in vocabulary.tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(2)
    writer.add_add_bos_token(False)  # noqa: FBT003  (the writer's signature)
    writer.add_chat_template(CHAT_TEMPLATE)
    writer.add_file_type(_MOSTLY_MXFP4)


def _embeddings(model: _ModelFile, vocabulary: Vocabulary) -> None:
    """Write embedding and head; the head hardly ever picks a control token or a byte that is not printable ASCII.

    A random head would end an answer at once or break UTF-8, which the server answers with HTTP 500.
    """
    hidden, tokens = model.size.hidden, len(vocabulary.tokens)
    model.plain("token_embd.weight", model.random.draw(tokens, hidden, deviation=1.0))
    model.ones("output_norm.weight", hidden)
    head = model.random.draw(tokens, hidden, deviation=2.5 / np.sqrt(hidden))
    head[[index for index, token in enumerate(vocabulary.tokens) if token not in vocabulary.printable]] *= _QUIET
    model.plain("output.weight", head)
    model.linear("output_res_score.weight", hidden)


def _norms(model: _ModelFile, layer: int) -> None:
    hidden, prefix = model.size.hidden, f"blk.{layer}."
    model.ones(prefix + "attn_norm.weight", hidden)
    model.ones(prefix + "ffn_norm.weight", hidden)
    model.linear(prefix + "attn_res_score.weight", hidden)
    model.linear(prefix + "ffn_res_score.weight", hidden)


def _latent_attention(model: _ModelFile, layer: int) -> None:
    """Write an MLA layer: queries and keys through low-rank latents, without position encoding, with an output gate."""
    size, prefix = model.size, f"blk.{layer}."
    model.linear(prefix + "attn_q_a.weight", size.query_rank, size.hidden)
    model.ones(prefix + "attn_q_a_norm.weight", size.query_rank)
    model.linear(prefix + "attn_q_b.weight", size.heads * (size.plain_head + size.rotary_head), size.query_rank)
    model.linear(prefix + "attn_kv_a_mqa.weight", size.latent_rank + size.rotary_head, size.hidden)
    model.ones(prefix + "attn_kv_a_norm.weight", size.latent_rank)
    shape, deviation = (size.heads, size.latent_rank, size.plain_head), 1 / np.sqrt(size.latent_rank)
    model.plain(prefix + "attn_k_b.weight", model.random.draw(*shape, deviation=deviation))
    model.linear(prefix + "attn_v_b.weight", size.heads, size.value_head, size.latent_rank)
    width = size.heads * size.value_head
    model.linear(prefix + "attn_gate.weight", width, size.hidden)
    model.linear(prefix + "attn_output.weight", size.hidden, width, gain=size.residual_gain)


def _delta_attention(model: _ModelFile, layer: int) -> None:
    """Write a KDA layer: short convolutions, a decay gate per channel, the delta rule's step size, and an output gate."""
    size, prefix, width = model.size, f"blk.{layer}.", model.size.kda_width
    for part in "qkv":
        model.linear(prefix + f"attn_{part}.weight", width, size.hidden)
    for part in "qkv":
        values = model.random.draw(1, width, 1, size.convolution, deviation=0.5)
        model.plain(prefix + f"ssm_conv1d_{part}.weight", values)
    model.linear(prefix + "ssm_f_a.weight", size.kda_head, size.hidden)
    model.linear(prefix + "ssm_f_b.weight", width, size.kda_head)
    model.linear(prefix + "ssm_beta.weight", size.heads, size.hidden)
    exponents = model.random.draw(size.heads, deviation=1.0).astype(np.float64)
    model.plain(prefix + "ssm_a", -np.exp2(exponents).astype(np.float32))
    model.plain(prefix + "ssm_dt.bias", model.random.draw(width, deviation=0.5))
    model.linear(prefix + "ssm_g.weight", width, size.hidden)
    model.ones(prefix + "ssm_norm.weight", size.kda_head)
    model.linear(prefix + "attn_output.weight", size.hidden, width, gain=size.residual_gain)


def _dense_feed_forward(model: _ModelFile, layer: int) -> None:
    size, prefix = model.size, f"blk.{layer}."
    model.linear(prefix + "ffn_gate.weight", size.dense_width, size.hidden)
    model.linear(prefix + "ffn_up.weight", size.dense_width, size.hidden)
    model.linear(prefix + "ffn_down.weight", size.hidden, size.dense_width, gain=size.residual_gain)


def _mixture_of_experts(model: _ModelFile, layer: int) -> None:
    """Write router, routed experts in their own latent space, the way in and out of it, and the shared experts."""
    size, prefix = model.size, f"blk.{layer}."
    model.linear(prefix + "ffn_gate_inp.weight", size.experts, size.hidden, gain=2.0)
    model.plain(prefix + "exp_probs_b.bias", model.random.draw(size.experts, deviation=0.01))
    model.experts(prefix + "ffn_gate_exps.weight", size.experts, size.expert_width, size.expert_latent)
    model.experts(prefix + "ffn_up_exps.weight", size.experts, size.expert_width, size.expert_latent)
    model.experts(prefix + "ffn_down_exps.weight", size.experts, size.expert_latent, size.expert_width)
    model.linear(prefix + "ffn_routed_down.weight", size.expert_latent, size.hidden)
    model.linear(prefix + "ffn_routed_up.weight", size.hidden, size.expert_latent, gain=size.residual_gain)
    model.ones(prefix + "ffn_routed_norm.weight", size.expert_latent)
    shared = size.expert_width * size.shared_experts
    model.linear(prefix + "ffn_gate_shexp.weight", shared, size.hidden)
    model.linear(prefix + "ffn_up_shexp.weight", shared, size.hidden)
    model.linear(prefix + "ffn_down_shexp.weight", size.hidden, shared, gain=size.residual_gain)
