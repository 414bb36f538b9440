"""The distribution gate between two real engines that serve the same real weights: vLLM and llama.cpp."""

import json
from pathlib import Path

import gguf
import numpy as np
import pytest
from tests.engines.llamacpp.fixtures import recipe_for, start
from tests.vllm_fixtures import VllmEndpoint

from dayzero.cli.main import run

pytestmark = pytest.mark.vllm

FLAGS = ("--n-ctx", "2048", "--n-parallel", "1", "--cpuparams.n-threads", "1", "--kv-unified", "true")
SAMPLE = ("--prompts", "50", "--positions", "16", "--context", "24", "-k", "400", "--concurrency", "1", "--looks", "1")


@pytest.fixture(scope="module")
def smollm2_bf16(smollm2_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give SmolLM2 as a GGUF of the very bfloat16 values that vLLM loads."""
    target = tmp_path_factory.mktemp("bf16") / "smollm2-bf16.gguf"
    reader = gguf.GGUFReader(smollm2_gguf)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if not field.name.startswith(("GGUF.", "general.architecture", "general.file_type")):
            sub = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub)
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        if len(tensor.shape) == 1:
            writer.add_tensor(tensor.name, values)
        else:
            kind = gguf.GGMLQuantizationType.BF16
            writer.add_tensor(tensor.name, gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
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
