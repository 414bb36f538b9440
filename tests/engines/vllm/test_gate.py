"""The distribution gate between two real engines that serve the same real weights: vLLM and llama.cpp."""

import json
from pathlib import Path

import pytest
from tests.engines.llamacpp.fixtures import recipe_for, start
from tests.engines.llamacpp.gguf_copies import as_bf16
from tests.vllm_fixtures import VllmEndpoint

from dayzero.cli.main import run

pytestmark = pytest.mark.vllm

FLAGS = ("--n-ctx", "2048", "--n-parallel", "1", "--cpuparams.n-threads", "1", "--kv-unified", "true")
SAMPLE = ("--prompts", "50", "--positions", "16", "--context", "24", "-k", "400", "--concurrency", "1", "--looks", "1")


@pytest.fixture(scope="module")
def smollm2_bf16(smollm2_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give SmolLM2 as a GGUF of the very bfloat16 values that vLLM loads."""
    target = tmp_path_factory.mktemp("bf16") / "smollm2-bf16.gguf"
    as_bf16(smollm2_gguf, target)
    return target


def test_two_engines_with_the_same_weights_are_the_same_at_a_margin_that_their_floors_permit(
    embedded_engine, smollm2_bf16, vllm_endpoint: VllmEndpoint, tmp_path
):
    server = start(embedded_engine.site, recipe_for(smollm2_bf16, flags=FLAGS), smollm2_bf16, tmp_path)
    out = tmp_path / "out"
    command = ["gate", "distribution", vllm_endpoint.base_url, server.base_url, "-o", str(out), "--seed", "11"]
    try:
        code = run([*command, *SAMPLE, "--arm", "decode", "--margin", "0.01", "--margin-flip", "2"])
    finally:
        server.stop()
    found = json.loads((out / "attempt-01" / "gate.json").read_text())
    figures = {one["name"]: one for one in found["found"]["arms"]["decode"]["figures"]}
    assert figures["A against itself"]["divergence_nat"]["value"] == 0
    assert figures["B against itself"]["divergence_nat"]["value"] == 0
    assert 0 < figures["A against B"]["divergence_nat"]["value"] < 0.005
    assert (code, found["verdict"]) == (0, "same"), found["because"]
