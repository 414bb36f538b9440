"""The distribution gate on the real embedded engine, with differences that are known."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import EmbeddedEngine
from tests.engines.llamacpp.fixtures import recipe_for, start
from tests.engines.llamacpp.gguf_copies import as_bf16, as_bf16_with_a_louder_layer, with_mxfp4_as_f16

from dayzero.cli.main import run

# One request in flight: what shares a batch is then the same each time, and this engine repeats itself exactly.
SMALL = ("--concurrency", "1", "--looks", "1", "--seed", "11", "--positions", "17", "--margin-flip", "1")
FEW = ("--prompts", "30")
MORE = ("--prompts", "50")  # what is written is compared up to its first difference: that takes more
OWN = ("A against itself", "B against itself")
FLAGS = ("--n-ctx", "2048", "--n-parallel", "1", "--cpuparams.n-threads", "1", "--kv-unified", "true")
WHOLE_VOCABULARY = (
    "-k",
    "512",
)  # of the small model: its distributions are flat, and 20 candidates cover little of them


@contextmanager
def served(engine: EmbeddedEngine, folder: Path, *weights: Path) -> Iterator[list[str]]:
    """Serve each file by a server of its own."""
    with ExitStack() as stack:
        urls = []
        for number, path in enumerate(weights):
            place = folder / f"server-{number}"
            place.mkdir()
            server = start(engine.site, recipe_for(path, flags=FLAGS), path, place)
            stack.callback(server.stop)
            urls.append(server.base_url)
        yield urls


def gate(out: Path, *words: str) -> tuple[int, dict[str, Any]]:
    code = run(["gate", "distribution", *words, *SMALL, "-o", str(out)])
    return code, json.loads((out / "attempt-01" / "gate.json").read_text())


def figures(found: dict[str, Any], arm: str) -> dict[str, Any]:
    return {one["name"]: one for one in found["found"]["arms"][arm]["figures"]}


@pytest.mark.engine
def test_a_model_is_the_same_as_itself_and_the_floor_of_each_server_is_exactly_zero(embedded_engine, tiny_k3, tmp_path):
    with served(embedded_engine, tmp_path, tiny_k3, tiny_k3) as (a, b):
        code, found = gate(tmp_path / "out", a, b, *FEW, "--arm", "decode", "--context", "12", *WHOLE_VOCABULARY)
    decode = figures(found, "decode")
    assert [one["divergence_nat"]["value"] for one in list(decode.values())[:3]] == [0, 0, 0]
    assert (code, found["verdict"]) == (0, "same")


@pytest.mark.gates
def test_the_mxfp4_kernel_is_told_from_the_same_values_in_f16(embedded_engine, tiny_k3, tmp_path):
    f16 = tmp_path / "f16.gguf"
    with_mxfp4_as_f16(tiny_k3, f16)
    with served(embedded_engine, tmp_path, tiny_k3, f16) as (a, b):
        code, found = gate(tmp_path / "out", a, b, *FEW, "--arm", "prefill", "--context", "12", *WHOLE_VOCABULARY)
    prefill = figures(found, "prefill")
    assert prefill["A against itself"]["divergence_nat"]["value"] == 0
    assert 0.005 < prefill["A against B"]["divergence_nat"]["value"] < 0.1
    assert (code, found["verdict"]) == (1, "different")


@pytest.mark.gates
def test_real_weights_are_the_same_as_themselves_with_a_floor_of_zero(embedded_engine, smollm2_gguf, tmp_path):
    with served(embedded_engine, tmp_path, smollm2_gguf, smollm2_gguf) as (a, b):
        code, found = gate(tmp_path / "out", a, b, *FEW, "--arm", "decode", "--context", "24", "-k", "200")
    decode = figures(found, "decode")
    assert [one["divergence_nat"]["value"] for one in list(decode.values())[:3]] == [0, 0, 0]
    assert (code, found["verdict"]) == (0, "same")


@pytest.fixture(scope="module")
def smollm2_bf16(smollm2_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give SmolLM2 as a GGUF whose matrices are bfloat16."""
    target = tmp_path_factory.mktemp("bf16") / "smollm2-bf16.gguf"
    as_bf16(smollm2_gguf, target)
    return target


@pytest.mark.gates
def test_q4_1_is_told_from_bf16_of_the_same_weights(embedded_engine, smollm2_gguf, smollm2_bf16, tmp_path):
    with served(embedded_engine, tmp_path, smollm2_bf16, smollm2_gguf) as (a, b):
        code, found = gate(tmp_path / "out", a, b, *MORE, "--arm", "decode", "--context", "24", "-k", "200")
    decode = figures(found, "decode")
    assert [decode[name]["divergence_nat"]["value"] for name in OWN] == [0, 0]
    assert (code, found["verdict"]) == (1, "different"), found["because"]


@pytest.mark.gates
def test_one_layer_that_is_a_twentieth_louder_is_told_from_bf16(embedded_engine, smollm2_gguf, smollm2_bf16, tmp_path):
    louder = tmp_path / "louder.gguf"
    as_bf16_with_a_louder_layer(smollm2_gguf, louder, tensor="blk.15.ffn_down.weight", factor=1.05)
    # It shows as about 0.0004 nat: both floors are exactly 0, so the margin may lie below that.
    words = ("--arm", "decode", "--context", "24", "-k", "200", "--margin", "0.0002")
    with served(embedded_engine, tmp_path, smollm2_bf16, louder) as (a, b):
        code, found = gate(tmp_path / "out", a, b, *MORE, *words)
    decode = figures(found, "decode")
    assert [decode[name]["divergence_nat"]["value"] for name in OWN] == [0, 0]
    assert (code, found["verdict"]) == (1, "different"), found["because"]
