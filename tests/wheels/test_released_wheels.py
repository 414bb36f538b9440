"""Public incidents and releases on the real wheels, which pip fetches; run with ``-m wheels``."""

import json

import pytest
from tests.wheels.released import chosen

from dayzero.cli.main import run

pytestmark = pytest.mark.wheels

K3 = {
    "architectures": ["KimiK3ForConditionalGeneration"],
    "model_type": "kimi_k3",
    "auto_map": {"AutoConfig": "c.KimiK3Config", "AutoModel": "m.KimiK3ForConditionalGeneration"},
}


def audit(capsys, *words: str):
    code = run(["audit", *words, "--output-format", "json"])
    return code, json.loads(capsys.readouterr().out)["findings"]


def places(findings, rule):
    for one in findings:
        if one["rule"] == rule:
            for side in ("engine_location", "library_location"):
                if one[side] is not None:
                    yield one["severity"], f"{one[side]['file']}:{one[side]['line']}"


# Each is a public report; the place is the line that its traceback or its analysis names.
INCIDENTS = [
    # vllm-project/vllm#49804
    (["vllm==0.26.0"], "flashinfer-cubin==0.6.13", "companion-version", "start", "flashinfer/jit/env.py:79"),
    # flashinfer-ai/flashinfer#4781
    (["vllm==0.28.0"], "flashinfer-cubin==0.6.13", "companion-version", "start", "flashinfer/jit/env.py:97"),
    # EuroEval/EuroEval#1117
    (
        ["vllm==0.9.2", "transformers==4.54.1"],
        "",
        "registry-collision",
        "start",
        "vllm/transformers_utils/configs/ovis.py:76",
    ),
    # sgl-project/sglang#4607
    (
        ["sglang==0.4.4.post1", "transformers==4.49.0"],
        "",
        "registry-collision",
        "start",
        "sglang/srt/configs/qwen2_5_vl_config.py:1005",
    ),
    # sgl-project/sglang#27654
    (["sglang==0.5.12", "transformers==5.6.0", "kernels==0.15.2"], "", "pin-conflict", "path", "METADATA:None"),
    # zai-org/GLM-OCR#140
    (["vllm==0.17.1", "transformers==5.3.0"], "", "pin-conflict", "path", "METADATA:None"),
    # vllm-project/llm-compressor#2258
    (["llmcompressor==0.9.0", "compressed-tensors==0.12.2"], "", "pin-conflict", "unverified", "METADATA:None"),
    (
        ["sglang==0.5.23"],
        "",
        "version-literal",
        "downgrade",
        "sglang/kernels/ops/layernorm/muse_spark_rmsnorm_nvfp4_quant.py:198",
    ),
]


@pytest.mark.parametrize("incident", chosen(INCIDENTS, lambda one: one[0]), ids=lambda one: f"{one[0][0]}-{one[2]}")
def test_a_public_incident_is_found_at_its_line(tmp_path, capsys, incident):
    builds, frozen, rule, severity, place = incident
    words = ["--engine", builds[0]]
    for one in builds[1:]:
        words += ["--with", one]
    if frozen:
        (tmp_path / "freeze.txt").write_text(frozen + "\n")
        words += ["--freeze", str(tmp_path / "freeze.txt")]
    code, findings = audit(capsys, *words)
    assert (severity, place) in set(places(findings, rule))
    assert code == 1 or severity not in {"start", "path"}


@pytest.mark.parametrize(
    ("build", "first"),
    chosen(
        [
            ("vllm==0.26.0", "vllm 0.27.0"),
            ("sglang==0.5.16", "sglang 0.5.17"),
            ("vllm==0.27.0", ""),
            ("sglang==0.5.17", ""),
        ],
        lambda one: one[:1],
    ),
)
def test_the_release_before_the_first_will_not_start_and_names_the_first(tmp_path, capsys, build, first):
    (tmp_path / "config.json").write_text(json.dumps(K3))
    _, findings = audit(capsys, str(tmp_path / "config.json"), "--engine", build)
    found = [one for one in findings if one["rule"] == "architecture-not-registered"]
    assert [one["severity"] for one in found] == (["start"] if first else [])
    assert all(first in one["resolution"] for one in found)
