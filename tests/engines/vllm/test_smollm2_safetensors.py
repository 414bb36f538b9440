"""The converter, on a Llama of two layers written in the test."""

import json
import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.engines.vllm import smollm2_safetensors

WIDTH, HEADS, KV_HEADS, FF, TOKENS = 64, 4, 2, 96, ["<|im_start|>", "<|im_end|>", "a", "b", "ab"]


def write_gguf(path: Path, *, extra: str = "") -> dict[str, np.ndarray]:
    out = gguf.GGUFWriter(str(path), "llama")
    for add, value in (
        (out.add_block_count, 2),
        (out.add_context_length, 128),
        (out.add_embedding_length, WIDTH),
        (out.add_feed_forward_length, FF),
        (out.add_head_count, HEADS),
        (out.add_head_count_kv, KV_HEADS),
        (out.add_vocab_size, len(TOKENS)),
        (out.add_rope_freq_base, 1e5),
        (out.add_layer_norm_rms_eps, 1e-5),
        (out.add_tokenizer_model, "gpt2"),
        (out.add_token_list, TOKENS),
        (out.add_token_types, [3, 3, 1, 1, 1]),
        (out.add_token_merges, ["a b"]),
        (out.add_bos_token_id, 0),
        (out.add_eos_token_id, 1),
        (out.add_pad_token_id, 1),
        (out.add_chat_template, "{{ messages }}"),
    ):
        add(value)
    rows = {
        "attn_norm": (WIDTH,),
        "attn_q": (WIDTH, WIDTH),
        "attn_k": (WIDTH // 2, WIDTH),
        "attn_v": (WIDTH // 2, WIDTH),
        "attn_output": (WIDTH, WIDTH),
        "ffn_norm": (WIDTH,),
        "ffn_gate": (FF, WIDTH),
        "ffn_up": (FF, WIDTH),
        "ffn_down": (WIDTH, FF),
    }
    shapes = {"token_embd.weight": (len(TOKENS), WIDTH), "output_norm.weight": (WIDTH,)}
    shapes |= {f"blk.{layer}.{name}.weight": shape for layer in range(2) for name, shape in rows.items()}
    shapes |= {extra: (4,)} if extra else {}
    seed = np.random.Generator(np.random.PCG64(7))
    tensors = {name: seed.integers(-128, 128, size=shape).astype(np.float32) for name, shape in shapes.items()}
    for name, tensor in tensors.items():
        out.add_tensor(name, tensor)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return tensors


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header, body = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    assert header.pop("__metadata__") == {"format": "pt"}
    assert max(entry["data_offsets"][1] for entry in header.values()) == len(body)
    return {
        name: (np.frombuffer(body[slice(*entry["data_offsets"])], "<u2").astype(np.uint32) << 16)
        .view(np.float32)
        .reshape(entry["shape"])
        for name, entry in header.items()
    }


def test_every_tensor_arrives_under_its_name_and_shape(tmp_path: Path):
    written = write_gguf(tmp_path / "m.gguf")
    smollm2_safetensors.convert(tmp_path / "m.gguf", tmp_path / "out")
    read = read_safetensors(tmp_path / "out" / "model.safetensors")
    assert len(read) == len(written)
    assert np.array_equal(read["model.embed_tokens.weight"], written["token_embd.weight"])
    assert np.array_equal(read["model.layers.1.mlp.down_proj.weight"], written["blk.1.ffn_down.weight"])
    assert np.array_equal(read["model.layers.0.self_attn.v_proj.weight"], written["blk.0.attn_v.weight"])


@pytest.mark.parametrize(("ours", "theirs", "heads"), [("attn_q", "q_proj", HEADS), ("attn_k", "k_proj", KV_HEADS)])
def test_rows_that_rotate_together_are_half_a_head_apart_again(tmp_path: Path, ours: str, theirs: str, heads: int):
    written = write_gguf(tmp_path / "m.gguf")[f"blk.1.{ours}.weight"]
    smollm2_safetensors.convert(tmp_path / "m.gguf", tmp_path / "out")
    read = read_safetensors(tmp_path / "out" / "model.safetensors")[f"model.layers.1.self_attn.{theirs}.weight"]
    size = written.shape[0] // heads
    for head in range(heads):
        for pair in range(size // 2):
            first, second = head * size + 2 * pair, head * size + 2 * pair + 1
            assert np.array_equal(read[head * size + pair], written[first])
            assert np.array_equal(read[head * size + size // 2 + pair], written[second])


def test_config_and_tokenizer_say_what_the_gguf_says(tmp_path: Path):
    write_gguf(tmp_path / "m.gguf")
    smollm2_safetensors.convert(tmp_path / "m.gguf", tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8"))
    tokenizer = json.loads((tmp_path / "out" / "tokenizer.json").read_text(encoding="utf-8"))
    assert (config["head_dim"], config["num_key_value_heads"], config["rms_norm_eps"]) == (16, 2, 1e-5)
    assert (config["eos_token_id"], config["rope_theta"]) == (1, 1e5)
    assert tokenizer["model"]["merges"] == [["a", "b"]]
    assert [token["content"] for token in tokenizer["added_tokens"]] == ["<|im_start|>", "<|im_end|>"]
    assert (tmp_path / "out" / "chat_template.jinja").read_text(encoding="utf-8") == "{{ messages }}"


def test_a_tensor_without_a_place_in_the_model_is_refused_and_no_weights_are_left(tmp_path: Path):
    write_gguf(tmp_path / "m.gguf", extra="output.weight")
    with pytest.raises(ValueError, match=r"no known place in the model: output\.weight"):
        smollm2_safetensors.convert(tmp_path / "m.gguf", tmp_path / "out")
    assert not (tmp_path / "out" / "model.safetensors").exists()


@example(np.array([1 + 2**-8, 1 + 3 * 2**-8] * 4, dtype=np.float32))  # halfway between two bf16 numbers
@given(arrays.arrays(np.float32, 8, elements=st.floats(-(2.0**99), 2.0**99, width=32)))
def test_rounding_gives_the_nearest_bf16_with_ties_to_even(values: np.ndarray):
    rounded = np.frombuffer(smollm2_safetensors.bfloat16(values), "<u2").astype(np.uint32)
    exact = values.astype(np.float64)

    def distance(bits: np.ndarray) -> np.ndarray:
        return np.abs((bits << 16).astype(np.uint32).view(np.float32).astype(np.float64) - exact)

    for neighbour in (rounded - 1, rounded + 1):
        there, here = distance(neighbour.astype(np.uint32)), distance(rounded)
        assert np.all((here < there) | ((here == there) & (rounded % 2 == 0)) | np.isnan(there))
