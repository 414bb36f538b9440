import hashlib
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from dayzero.engines.llamacpp.gguf_header import read_gguf_header
from dayzero.engines.llamacpp.mxfp4 import quantise
from dayzero.engines.llamacpp.seeded import GENERATORS
from dayzero.engines.llamacpp.vocabulary import byte_characters, byte_level_vocabulary


def test_seed_7_gives_the_pinned_bytes(tiny_k3: Path):
    content = tiny_k3.read_bytes()
    assert len(content) == 18_625_760
    assert hashlib.sha256(content).hexdigest() == "cdb3f15dad1ae54f5e7ce37c0209a50fd225ef93982dc67e17091cc83b5e62bb"


def test_another_seed_gives_other_weights_in_the_same_shapes(tiny_k3: Path, tmp_path: Path):
    other = tmp_path / "other.gguf"
    GENERATORS["kimi-k3"](8, other)
    assert other.read_bytes() != tiny_k3.read_bytes()
    assert read_gguf_header(other).tensors == read_gguf_header(tiny_k3).tensors


def test_the_model_is_a_kimi_k3_of_seven_million_parameters(tiny_k3: Path):
    header = read_gguf_header(tiny_k3)
    assert header.architecture == "kimi-k3"
    assert sum(int(np.prod(tensor.dimensions)) for tensor in header.tensors) == 7_036_744
    assert header.per_layer("attention.head_count_kv", 8) == (0, 0, 0, 1, 0, 0, 0, 1)


def test_the_reference_reader_reads_the_same_header(tiny_k3: Path):
    reference, header = gguf.GGUFReader(tiny_k3), read_gguf_header(tiny_k3)
    assert [tensor.name for tensor in reference.tensors] == [tensor.name for tensor in header.tensors]
    assert [tuple(tensor.shape) for tensor in reference.tensors] == [tensor.dimensions for tensor in header.tensors]
    assert header.lengths["tokenizer.ggml.tokens"] == 512


blocks = arrays.arrays(
    np.float32, (2, 64), elements=st.floats(-1e6, 1e6, width=32).map(lambda value: value if abs(value) > 1e-30 else 0.0)
)


@given(values=blocks)
def test_quantising_keeps_every_value_within_half_a_step_of_its_block(values: NDArray[np.float32]):
    read_back = gguf.dequantize(quantise(values), gguf.GGMLQuantizationType.MXFP4)
    largest = np.abs(values.reshape(-1, 32)).max(axis=1)
    error = np.abs(read_back.reshape(-1, 32) - values.reshape(-1, 32)).max(axis=1)
    assert (error <= largest / 4 + 1e-30).all()


@given(values=blocks)
def test_quantising_what_was_quantised_changes_nothing(values: NDArray[np.float32]):
    once = gguf.dequantize(quantise(values), gguf.GGMLQuantizationType.MXFP4)
    twice = gguf.dequantize(quantise(once), gguf.GGMLQuantizationType.MXFP4)
    assert (np.abs(twice) == np.abs(once)).all()


def test_the_vocabulary_covers_every_byte_and_fills_up_to_the_multiple():
    vocabulary = byte_level_vocabulary(merges=200, multiple_of=64)
    assert len(vocabulary.tokens) == len(set(vocabulary.tokens)) == 512
    assert set(byte_characters().values()) <= set(vocabulary.tokens)
    assert not vocabulary.control & vocabulary.printable


@pytest.mark.parametrize(("token", "printable"), [("a", True), ("Ġ", True), ("Ċ", False), ("é", False)])
def test_printable_tokens_stand_for_ascii_text(token: str, *, printable: bool):
    assert (token in byte_level_vocabulary(merges=10, multiple_of=8).printable) is printable
