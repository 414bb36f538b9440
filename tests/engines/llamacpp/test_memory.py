"""The memory model against the sizes that build 2026.10.11549 (one row: 2026.8.10229) logged at verbosity 4, in MiB."""

from dataclasses import replace
from pathlib import Path

import gguf
import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines.llamacpp.fixtures import LlamaCppEndpoint, recipe_for

from dayzero.core.errors import InputError
from dayzero.engines.llamacpp.memory import memory_terms

MIB = 1 << 20


def flags(context: int, micro_batch: int, slots: int, unified: str, *more: str) -> tuple[str, ...]:
    named = ("--n-ctx", str(context), "--n-ubatch", str(micro_batch), "--n-parallel", str(slots))
    return (*named, "--kv-unified", unified, *more)


def sizes(weights: Path, words: tuple[str, ...]) -> dict[str, float]:
    terms = memory_terms(recipe_for(weights, flags=words), weights)
    assert all(term.source for term in terms)
    return {term.name: term.size.count / MIB for term in terms}


@pytest.fixture(scope="session")
def llama_header(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a file with SmolLM2-135M's dimensions and no weights to speak of."""
    path = tmp_path_factory.mktemp("weights") / "llama.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(30)
    writer.add_context_length(8192)
    writer.add_embedding_length(576)
    writer.add_feed_forward_length(1536)
    writer.add_head_count(9)
    writer.add_head_count_kv(3)
    writer.add_token_list([f"t{index}" for index in range(49152)])
    writer.add_tensor("token_embd.weight", np.zeros((1, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


K3_LOGGED = [
    (flags(512, 512, 1, "true"), 0.31, 0.43, 7.01),
    (flags(2048, 512, 4, "true"), 1.25, 1.71, 8.51),
    (flags(8192, 512, 4, "true"), 5.00, 1.71, 14.51),
    (flags(16384, 512, 4, "true"), 10.00, 1.71, 22.51),
    (flags(16384, 512, 4, "false"), 10.00, 1.71, 10.51),
    (flags(8192, 128, 4, "true"), 5.00, 1.71, 4.04),
    (flags(8192, 64, 4, "true"), 5.00, 1.71, 2.29),
    (flags(8192, 512, 8, "true"), 5.00, 3.42, 14.65),
    (flags(5000, 512, 3, "false"), 3.28, 1.28, 8.78),
]
LLAMA_LOGGED = [
    (flags(512, 512, 1, "true"), 11.25, 15.14 + 0.19),
    (flags(2048, 512, 4, "true"), 45.00, 16.64 + 0.75),
    (flags(8192, 512, 4, "true"), 180.00, 22.64 + 0.75),
    (flags(16384, 512, 4, "false"), 360.00, 18.64 + 0.75),
    (flags(8192, 64, 4, "true"), 180.00, 2.83 + 0.75),
    (flags(8192, 512, 8, "true"), 180.00, 22.64 + 1.50),
    (flags(5000, 512, 3, "false"), 118.12, 16.42 + 0.56),
    (flags(5000, 512, 3, "false"), 118.12, 15.29 + 0.56),  # 2026.8.10229
    (flags(8192, 512, 4, "true", "--cache-type-k", "q8_0", "--cache-type-v", "q8_0"), 95.62, 22.67 + 0.75),
    (flags(8192, 512, 4, "true", "--flash-attn-type", "disabled"), 180.00, 167.51 + 0.75),
    (flags(0, 512, 2, "false"), 180.00, 18.64 + 0.38),
    (flags(100, 512, 1, "false"), 5.62, 2.91 + 0.19),
]


@pytest.mark.parametrize(("words", "cache", "state", "compute"), K3_LOGGED)
def test_kimi_k3_is_sized_as_the_engine_logged_it(
    tiny_k3: Path, words: tuple[str, ...], cache: float, state: float, compute: float
):
    sized = sizes(tiny_k3, words)
    assert sized["KV cache"] == pytest.approx(cache, abs=0.01)
    assert sized["recurrent state"] == pytest.approx(state, abs=0.01)
    assert compute <= sized["compute buffer"] <= 1.5 * compute
    assert sized["repacked weights"] == pytest.approx(1.39, abs=0.01)


@pytest.mark.parametrize(("words", "cache", "compute"), LLAMA_LOGGED)
def test_a_llama_is_sized_as_the_engine_logged_it(
    llama_header: Path, words: tuple[str, ...], cache: float, compute: float
):
    sized = sizes(llama_header, words)
    assert sized["KV cache"] == pytest.approx(cache, abs=0.01)
    assert compute <= sized["compute buffer"] <= 3 * compute
    assert "recurrent state" not in sized


def test_host_caches_count_when_the_recipe_asks_for_them(tiny_k3: Path):
    assert "prompt cache" not in sizes(tiny_k3, flags(512, 512, 2, "true"))
    sized = sizes(tiny_k3, flags(512, 512, 2, "true", "--cache-ram-mib", "100", "--n-ctx-checkpoints", "3"))
    assert sized["prompt cache"] == 100
    assert sized["context checkpoints"] == pytest.approx(3 * sized["recurrent state"])


def test_the_weights_are_the_pinned_files_all_of_them(tiny_k3: Path):
    recipe = recipe_for(tiny_k3)
    twice = replace(recipe, model=replace(recipe.model, files=recipe.model.files * 2))
    weights = next(term for term in memory_terms(twice, tiny_k3) if term.name == "weights")
    assert weights.size.count == 2 * tiny_k3.stat().st_size


@given(context=st.integers(1, 100_000), more=st.integers(0, 100_000), slots=st.integers(1, 16), unified=st.booleans())
def test_a_longer_context_never_takes_less(tiny_k3: Path, context: int, more: int, slots: int, *, unified: bool):
    shorter, longer = (
        sum(sizes(tiny_k3, flags(cells, 512, slots, str(unified).lower())).values())
        for cells in (context, context + more)
    )
    assert shorter <= longer


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--n-ctx", "many"), "--n-ctx many cannot be sized"),
        (("--n-parallel", "-1"), "--n-parallel -1 cannot be sized"),
        (("--cache-type-k", "q9"), "no such cache type: q9"),
        (("n-ctx", "1"), "not a llamacpp setting"),
    ],
)
def test_flags_that_cannot_be_sized_are_refused(tiny_k3: Path, words: tuple[str, ...], said: str):
    with pytest.raises(InputError, match=said):
        memory_terms(recipe_for(tiny_k3, flags=words), tiny_k3)


def test_layers_whose_state_is_not_known_are_refused_not_counted_as_nothing(tmp_path: Path):
    path = tmp_path / "other.gguf"
    writer = gguf.GGUFWriter(path, "rwkv7")
    writer.add_block_count(2)
    writer.add_context_length(512)
    writer.add_embedding_length(64)
    writer.add_head_count(2)
    writer.add_head_count_kv([0, 1])
    writer.add_tensor("token_embd.weight", np.zeros((1, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(InputError, match="1 layers without attention cannot be sized"):
        memory_terms(recipe_for(path), path)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"hello, this is no model", b"GGUF\x03\0\0\0" + b"\xff" * 64])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: bytes):
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    with pytest.raises(InputError, match="GGUF"):
        memory_terms(recipe_for(path), path)


def test_a_missing_file_is_refused(tiny_k3: Path, tmp_path: Path):
    with pytest.raises(InputError, match="cannot read"):
        memory_terms(recipe_for(tiny_k3), tmp_path / "none.gguf")


@pytest.mark.engine
def test_what_the_engine_takes_under_load_stays_below_the_budget_and_near_it(
    llamacpp_endpoint: LlamaCppEndpoint, tiny_k3: Path
):
    for start in range(0, 400, 40):
        body = {"prompt": list(range(start + 3, start + 103)) * 8, "max_tokens": 8, "ignore_eos": True}
        httpx.post(f"{llamacpp_endpoint.base_url}/v1/completions", json=body, timeout=60).raise_for_status()
    taken = llamacpp_endpoint.server.status("VmHWM")
    budget = sum(term.size.count for term in memory_terms(recipe_for(tiny_k3), tiny_k3))
    assert taken <= budget <= 2.5 * taken
