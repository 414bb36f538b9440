"""Turn SmolLM2's GGUF into the folder that vLLM reads: the same weights, rounded to bf16, for two engines to serve.

Run on its own: ``python tests/engines/vllm/smollm2_safetensors.py SmolLM2.gguf FOLDER``.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]

_CONTROL_TOKEN = 3  # gguf.TokenType.CONTROL: <|im_start|> and the like

# Each layer's tensors: the name in GGUF and in transformers' Llama.
_LAYER = (
    ("attn_norm", "input_layernorm"),
    ("attn_q", "self_attn.q_proj"),
    ("attn_k", "self_attn.k_proj"),
    ("attn_v", "self_attn.v_proj"),
    ("attn_output", "self_attn.o_proj"),
    ("ffn_norm", "post_attention_layernorm"),
    ("ffn_gate", "mlp.gate_proj"),
    ("ffn_up", "mlp.up_proj"),
    ("ffn_down", "mlp.down_proj"),
)


def convert(source: Path, folder: Path) -> None:
    """Write ``config.json``, the tokenizer with its chat template, and ``model.safetensors``.

    The weights come last, so that a folder which has them is whole.
    """
    reader = gguf.GGUFReader(source)
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / "config.json", _config(reader))
    _write_json(folder / "generation_config.json", _token_ids(reader))
    _write_json(folder / "tokenizer.json", _tokenizer(reader))
    _write_json(folder / "tokenizer_config.json", _tokenizer_config(reader))
    (folder / "chat_template.jinja").write_text(_value(reader, "tokenizer.chat_template"), encoding="utf-8")
    unfinished = folder / "model.safetensors.part"
    _write_safetensors(unfinished, reader)
    unfinished.rename(folder / "model.safetensors")


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _value(reader: gguf.GGUFReader, key: str) -> Any:
    return reader.fields[key].contents()


def _token_ids(reader: gguf.GGUFReader) -> dict[str, int]:
    return {
        "bos_token_id": _value(reader, "tokenizer.ggml.bos_token_id"),
        "eos_token_id": _value(reader, "tokenizer.ggml.eos_token_id"),
        "pad_token_id": _value(reader, "tokenizer.ggml.padding_token_id"),
    }


def _config(reader: gguf.GGUFReader) -> dict[str, object]:
    width = _value(reader, "llama.embedding_length")
    heads = _value(reader, "llama.attention.head_count")
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "bfloat16",
        "vocab_size": _value(reader, "llama.vocab_size"),
        "hidden_size": width,
        "intermediate_size": _value(reader, "llama.feed_forward_length"),
        "num_hidden_layers": _value(reader, "llama.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": _value(reader, "llama.attention.head_count_kv"),
        "head_dim": width // heads,
        "hidden_act": "silu",
        "max_position_embeddings": _value(reader, "llama.context_length"),
        # GGUF keeps it as a 32-bit float: 9.99999974e-06, where the model's own config says 1e-05.
        "rms_norm_eps": float(
            np.format_float_scientific(np.float32(_value(reader, "llama.attention.layer_norm_rms_epsilon")))
        ),
        "rope_theta": _value(reader, "llama.rope.freq_base"),
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        **_token_ids(reader),
    }


def _tokenizer(reader: gguf.GGUFReader) -> dict[str, object]:
    """Write the byte-level BPE in the format of the tokenizers library; SmolLM2 splits numbers into digits first."""
    tokens = _value(reader, "tokenizer.ggml.tokens")
    types = _value(reader, "tokenizer.ggml.token_type")
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    bytes_to_text = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    digits = {"type": "Digits", "individual_digits": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": index, "content": tokens[index], **flags}
            for index, kind in enumerate(types)
            if kind == _CONTROL_TOKEN
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [digits, bytes_to_text]},
        "post_processor": None,
        "decoder": bytes_to_text,
        "model": {
            "type": "BPE",
            "vocab": {token: index for index, token in enumerate(tokens)},
            "merges": [merge.split(" ", 1) for merge in _value(reader, "tokenizer.ggml.merges")],
        },
    }


def _tokenizer_config(reader: gguf.GGUFReader) -> dict[str, object]:
    tokens = _value(reader, "tokenizer.ggml.tokens")
    names = {key.replace("_token_id", "_token"): tokens[index] for key, index in _token_ids(reader).items()}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": _value(reader, "llama.context_length"),
        "clean_up_tokenization_spaces": False,
        **names,
    }


def _weights(reader: gguf.GGUFReader) -> Iterator[tuple[str, gguf.ReaderTensor]]:
    """Pair each tensor with its name in transformers; the embedding is the output layer too."""
    by_name = {tensor.name: tensor for tensor in reader.tensors}
    yield "model.embed_tokens.weight", by_name.pop("token_embd.weight")
    for layer in range(_value(reader, "llama.block_count")):
        for ours, theirs in _LAYER:
            yield f"model.layers.{layer}.{theirs}.weight", by_name.pop(f"blk.{layer}.{ours}.weight")
    yield "model.norm.weight", by_name.pop("output_norm.weight")
    if by_name:
        raise ValueError(f"tensors of no known place in the model: {', '.join(sorted(by_name))}")


def _dequantised(reader: gguf.GGUFReader, tensor: gguf.ReaderTensor) -> Array:
    values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
    if tensor.name.endswith("attn_q.weight"):
        return _rotary_halves(values, _value(reader, "llama.attention.head_count"))
    if tensor.name.endswith("attn_k.weight"):
        return _rotary_halves(values, _value(reader, "llama.attention.head_count_kv"))
    return values


def _rotary_halves(values: Array, heads: int) -> Array:
    """Put the rows of each head back in transformers' order: GGUF interleaves the two halves that rotate together."""
    rows, width = values.shape
    return values.reshape(heads, rows // heads // 2, 2, width).swapaxes(1, 2).reshape(rows, width)


def bfloat16(values: Array) -> bytes:
    """Round to the nearest bf16, ties to even, and give the bytes."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2").tobytes()


def _write_safetensors(path: Path, reader: gguf.GGUFReader) -> None:
    """Write header and tensors one after the other; GGUF lists a tensor's dimensions in reverse."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, tensor in _weights(reader):
        begin, end = end, end + 2 * int(tensor.n_elements)
        shape = [int(size) for size in reversed(tensor.shape)]
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [begin, end]}
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    with path.open("wb") as out:
        out.write(len(head).to_bytes(8, "little") + head)
        for _, tensor in _weights(reader):
            out.write(bfloat16(_dequantised(reader, tensor)))


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
