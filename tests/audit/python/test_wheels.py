"""Pairs of released wheels; run with ``-m wheels``."""

import pytest
from tests.audit.python.packages import findings
from tests.wheels.released import chosen, wheel

from dayzero.audit.installed import Distribution, Installed

pytestmark = pytest.mark.wheels

# (engine, library, finding that must be there as "severity file:line"); an empty finding means: no START, no PATH
ROWS = (
    (
        "vllm-0.24.0",
        "flashinfer-python-0.6.12",
        "path vllm/v1/attention/backends/mla/flashinfer_mla_sparse_sm120.py:141",
    ),
    ("vllm-0.24.0", "flashinfer-python-0.6.12", "path vllm/models/deepseek_v4/nvidia/flashinfer_sparse.py:750"),
    ("vllm-0.26.0", "flashinfer-python-0.6.14", ""),
    ("vllm-0.26.0", "flashinfer-python-0.6.14", "guarded vllm/distributed/device_communicators/all2all.py:834"),
    ("vllm-0.27.0", "flashinfer-python-0.6.14", "start vllm/model_executor/warmup/kernel_warmup.py:236"),
    ("vllm-0.27.0", "flashinfer-python-0.6.14", "downgrade vllm/v1/attention/backends/mla/flashinfer_mla.py:8"),
    (
        "vllm-0.27.0",
        "flashinfer-python-0.6.16rc3",
        "downgrade vllm/model_executor/layers/quantization/utils/flashinfer_utils.py:21",
    ),
    (
        "vllm-0.27.0",
        "flashinfer-python-0.6.14",
        "path vllm/model_executor/layers/fused_moe/experts/flashinfer_cutedsl_moe.py:152",
    ),
    ("vllm-0.27.0", "flashinfer-python-0.6.14", "opt-in vllm/distributed/device_communicators/all2all.py:891"),
    ("vllm-0.27.0", "flashinfer-python-0.6.16.post3", ""),
    (
        "sglang-0.5.17",
        "flashinfer-python-0.6.15.post1",
        "opt-in sglang/srt/layers/attention/cutedsl_mla_backend.py:314",
    ),
    ("sglang-0.5.23", "flashinfer-python-0.7.2", ""),
    ("vllm-0.33.0", "flashinfer-python-0.7.2.post1", ""),
    ("sglang-0.5.16", "flashinfer-python-0.6.15", "path sglang/srt/layers/moe/moe_runner/flashinfer_cutedsl.py:276"),
    ("sglang-0.5.18", "flashinfer-python-0.6.16rc3", "start sglang/srt/layers/moe/moe_runner/flashinfer_trtllm.py:625"),
    ("sglang-0.5.18", "flashinfer-python-0.6.16rc3", "start sglang/srt/layers/quantization/mxfp4.py:1599"),
    ("vllm-0.26.0", "lm-format-enforcer-0.11.3", "opt-in lmformatenforcer/integrations/vllm.py:4"),
    ("transformers-5.5.1", "mistral-common-1.9.1", "path transformers/tokenization_mistral_common.py:42"),
    ("llmcompressor-0.14.0", "compressed-tensors-0.18.0", "start llmcompressor/entrypoints/model_free/__init__.py:13"),
    ("llmcompressor-0.9.0", "compressed-tensors-0.12.2", "start llmcompressor/observers/helpers.py:14"),
    ("vllm-0.11.0", "transformers-5.1.0", "start vllm/transformers_utils/tokenizer.py:99"),
    ("sglang-0.4.0.post2", "outlines-0.1.11", "start sglang/srt/constrained/outlines_backend.py:23"),
)


def opened(name: str) -> Distribution:
    distribution, _, version = name.rpartition("-")
    return wheel(distribution, version)


def builds(row: tuple[str, str, str]) -> list[str]:
    return ["==".join(one.rsplit("-", 1)) for one in row[:2]]


@pytest.mark.parametrize(("engine", "library", "expected"), chosen(ROWS, builds))
def test_a_pair_of_released_wheels_is_judged_as_it_was_by_hand(engine: str, library: str, expected: str) -> None:
    installed = Installed(engine=opened(engine), others=(opened(library),))
    found = findings(installed, capability=(10, 3), model={"text_config": {"hidden_act": "situ"}})
    seen = {
        f"{one.severity.value} {one.engine.file}:{one.engine.position.removeprefix('line ')}"
        for one in found
        if one.engine
    }
    harmful = {one for one in seen if one.startswith(("start", "path"))}
    assert expected in seen if expected else not harmful
