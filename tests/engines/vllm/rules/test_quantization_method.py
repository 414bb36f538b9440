"""Which quantization method a build takes for a checkpoint, and what it refuses."""

import pytest
from tests.engines.vllm.capabilities.builds import ENGINE
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import NotChecked, Severity
from dayzero.engines.vllm.rules import quantization_method

_FOLDER = "vllm/model_executor/layers/quantization"
PACKAGE = """
from typing import Literal, get_args
QuantizationMethods = Literal["fp8", "awq", "awq_marlin", "old"]
QUANTIZATION_METHODS: list[str] = list(get_args(QuantizationMethods))
DEPRECATED_QUANTIZATION_METHODS = ["old"]
def get_quantization_config(quantization):
    if quantization not in QUANTIZATION_METHODS:
        raise ValueError(f"Invalid quantization method: {quantization}")
    from .awq import Awq, AwqMarlin
    from .fp8 import Fp8
    return {"fp8": Fp8, "awq": Awq, "awq_marlin": AwqMarlin, "old": Fp8}[quantization]
"""
BASE = """
import torch
class Config:
    @classmethod
    def get_min_capability(cls):
        return 80
    @classmethod
    def override_quantization_method(cls, hf_quant_cfg, user_quant, hf_config=None):
        return None
    @classmethod
    def get_supported_act_dtypes(cls):
        return [torch.half, torch.bfloat16]
"""
FP8 = "from .base import Config\nclass Fp8(Config): ...\n"
AWQ = """
import torch
from dataclasses import dataclass
from vllm.platforms import current_platform
from .base import Config
@dataclass(frozen=True)
class Kind:
    bits: int
    signed: bool
def served():
    return [Kind(4, False)]
class Awq(Config):
    @classmethod
    def get_min_capability(cls):
        return 75
    @classmethod
    def get_supported_act_dtypes(cls):
        return [torch.half]
class AwqMarlin(Config):
    @classmethod
    def override_quantization_method(cls, hf_quant_cfg, user_quant):
        fits = hf_quant_cfg.get("quant_method") == "awq" and Kind(hf_quant_cfg.get("bits"), False) in served()
        if fits and current_platform.has_device_capability(80) and user_quant in (None, "awq_marlin", "marlin"):
            return "awq_marlin"
        return None
"""
FILES = {
    **ENGINE,
    f"{_FOLDER}/__init__.py": PACKAGE,
    f"{_FOLDER}/base.py": BASE,
    f"{_FOLDER}/fp8.py": FP8,
    f"{_FOLDER}/awq.py": AWQ,
}
AWQ4 = {"quant_method": "awq", "bits": 4}
A100, T4 = (8, 0), (7, 5)


def asked(settings, words="", capability=A100, files=FILES, **model: object):
    whole = {"model_type": "llama", "torch_dtype": "bfloat16", "num_attention_heads": 8, **model}
    whole |= {"quantization_config": settings} if settings is not None else {}
    engine = distribution("vllm", "1.0", files)
    return found_by(quantization_method.RULE, engine, model=whole, capability=capability, flags=tuple(words.split()))


@pytest.mark.parametrize(
    ("settings", "words", "capability", "severity", "message"),
    [
        (None, "", A100, None, ""),
        ({"quant_method": "fp8"}, "", A100, None, ""),
        ({"quant_method": "FP8"}, "--quantization fp8", A100, None, ""),
        ({"quant_method": "aqlm"}, "", A100, Severity.START, "no quantization method 'aqlm'"),
        ({"quant_method": ""}, "", A100, Severity.START, "no quantization method ''"),
        ({"quant_algo": "NVFP4"}, "", A100, Severity.START, "no quantization method ''"),
        (None, "--quantization awq_turbo", A100, Severity.START, "no quantization method 'awq_turbo'"),
        (None, "-q fp8", T4, Severity.PATH, "wants compute capability 8.0, and this GPU has 7.5"),
        (
            {"quant_method": "fp8"},
            "--quantization awq",
            A100,
            Severity.START,
            "stored as 'fp8', and --quantization asks",
        ),
        ({"quant_method": "old"}, "", A100, Severity.START, "deprecated"),
        ({"quant_method": "old"}, "--allow-deprecated-quantization", A100, None, ""),
        (AWQ4, "", A100, None, ""),
        (AWQ4, "--quantization awq_marlin", A100, None, ""),
        (AWQ4, "--quantization marlin", A100, None, ""),
        (AWQ4, "--quantization awq", A100, Severity.PATH, "takes no bfloat16, but only float16"),
        (AWQ4 | {"bits": 3}, "", A100, Severity.PATH, "takes no bfloat16"),
        (AWQ4, "", T4, None, ""),
        (AWQ4, "--dtype bfloat16", T4, Severity.PATH, "takes no bfloat16"),
        (AWQ4, "--quantization awq --dtype half", A100, None, ""),
    ],
)
def test_a_checkpoint_is_held_to_the_methods_of_the_release(settings, words, capability, severity, message):
    found = asked(settings, words, capability)
    assert [one.severity for one in found] == ([severity] if severity else []), found
    assert all(message in one.message for one in found)


def test_a_release_that_takes_settings_without_a_name_for_none_refuses_nothing():
    takes = {"vllm/config/model.py": 'quant_method = quant_method if quant_method != "" else None\n'}
    assert not asked({"quant_algo": "NVFP4"}, files=FILES | takes)


def test_the_settings_of_the_language_model_count_where_the_whole_model_has_none():
    assert [one.severity for one in asked(None, text_config={"quantization_config": {"quant_method": "aqlm"}})] == [
        Severity.START
    ]


def test_a_method_that_a_plug_in_registers_is_known():
    plugin = {"vllm/plugin.py": '@register_quantization_config("aqlm")\nclass Own: ...\n'}
    assert not asked({"quant_method": "aqlm"}, files=FILES | plugin)
    assert asked({"quant_method": "other"}, files=FILES | plugin)


def test_where_a_method_may_claim_the_checkpoint_nothing_is_refused():
    doubtful = AWQ.replace('Kind(hf_quant_cfg.get("bits"), False) in served()', "outside.fits(hf_quant_cfg)")
    doubtful = doubtful.replace('hf_quant_cfg.get("quant_method") == "awq" and ', "")
    (one,) = asked({"quant_method": "aqlm"}, files=FILES | {f"{_FOLDER}/awq.py": doubtful})
    assert isinstance(one, NotChecked)


def test_a_release_that_keeps_them_in_another_way_is_not_held_to_them():
    (one,) = asked({"quant_method": "aqlm"}, files=FILES | {f"{_FOLDER}/__init__.py": "METHODS = load()\n"})
    assert isinstance(one, NotChecked)
    assert not one.needed
