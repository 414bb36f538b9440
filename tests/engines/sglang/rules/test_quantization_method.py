"""Which quantization methods SGLang registers, and what it refuses."""

import pytest
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import NotChecked, Severity
from dayzero.core.hardware import parse_system
from dayzero.engines.sglang.rules import quantization_method

_FOLDER = "sglang/srt/layers/quantization"
PACKAGE = """
from sglang.srt.layers.quantization.own import Awq, AwqMarlin, Fp8, Mxfp4
from sglang.srt.utils import is_cuda, is_hip, is_npu
_is_hip = is_hip()
BASE_QUANTIZATION_METHODS: Dict[str, Type] = {"fp8": Fp8, "awq": Awq, "awq_marlin": AwqMarlin}
if is_cuda() or _is_hip:
    BASE_QUANTIZATION_METHODS.update({"mxfp4": Mxfp4})
if is_npu():
    BASE_QUANTIZATION_METHODS.update({"modelslim": Fp8})
EXTRA = {"quark": Fp8}
QUANTIZATION_METHODS = {**BASE_QUANTIZATION_METHODS}
QUANTIZATION_METHODS.update(EXTRA)
CPU_QUANTIZATION_METHODS = {"gptq": Fp8}
"""
OWN = """
class Base:
    @classmethod
    def get_min_capability(cls):
        return 80
    @classmethod
    def override_quantization_method(cls, hf_quant_cfg, user_quant):
        return None
class Fp8(Base): ...
class Mxfp4(Base):
    @classmethod
    def get_min_capability(cls):
        return 90
class Awq(Base):
    @classmethod
    def get_min_capability(cls):
        return 75
class AwqMarlin(Base):
    @classmethod
    def override_quantization_method(cls, hf_quant_cfg, user_quant):
        if hf_quant_cfg.get("quant_method") == "awq" and user_quant in (None, "awq_marlin") and device() >= (8, 0):
            return "awq_marlin"
        return None
def device():
    return torch.cuda.get_device_capability()
"""
CONFIG = """
REQUANTIZATION_METHODS = ["quark"]
class ModelConfig:
    def _verify_quantization(self):
        compatible_quantization_methods = {"awq_marlin": ["gptq"], "fp8": ["compressed-tensors"]}
"""
FILES = {
    f"{_FOLDER}/__init__.py": PACKAGE,
    f"{_FOLDER}/own.py": "import torch\n" + OWN,
    "sglang/srt/configs/model_config.py": CONFIG,
    "sglang/srt/utils/__init__.py": "from .common import *\n",
    "sglang/srt/utils/common.py": "def is_cuda(): ...\ndef is_hip(): ...\ndef is_npu(): ...\n",
}
A100, T4 = (8, 0), (7, 5)


def asked(settings, words="", capability=A100, files=FILES, **about: object):
    model = {"model_type": "llama"} | ({"quantization_config": settings} if settings is not None else {})
    engine = distribution("sglang", "1.0", files)
    return found_by(
        quantization_method.RULE, engine, model=model, capability=capability, flags=tuple(words.split()), **about
    )


@pytest.mark.parametrize(
    ("settings", "words", "capability", "severity", "message"),
    [
        (None, "", A100, None, ""),
        (None, "--quantization fp8", A100, None, ""),
        (None, "--quantization fp8", T4, Severity.PATH, "fp8 wants compute capability 8.0, and this GPU has 7.5"),
        ({"quant_method": "FP8"}, "", A100, None, ""),
        ({"quant_method": "fp8"}, "--quantization fp8", A100, None, ""),
        ({"quant_method": "fp8"}, "", T4, Severity.PATH, "fp8 wants compute capability 8.0"),
        ({"quant_method": "fp8"}, "", None, None, ""),
        ({"quant_method": "mxfp4"}, "", A100, Severity.PATH, "mxfp4 wants compute capability 9.0"),
        ({"quant_method": "gptq"}, "", A100, Severity.START, "no quantization method 'gptq', but only fp8, awq"),
        ({"quant_method": "modelslim"}, "", A100, Severity.START, "no quantization method 'modelslim'"),
        ({"quant_method": "fp8"}, "--quantization awq", A100, Severity.START, "stored as 'fp8', and --quantization"),
        ({"quant_method": "gptq"}, "--quantization awq_marlin", A100, None, ""),
        ({"quant_method": "gptq"}, "--quantization quark", A100, None, ""),
        ({"quant_method": "gptq"}, "--quantization unquant", A100, Severity.START, "no quantization method 'gptq'"),
        ({"quant_method": "awq"}, "", A100, None, ""),
        ({"quant_method": "awq"}, "", T4, None, ""),
        ({"quant_method": "awq"}, "--quantization awq", T4, None, ""),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "", A100, None, ""),
        ({"quant_algo": "FP8"}, "", A100, None, ""),
        ({}, "", A100, None, ""),
    ],
)
def test_a_checkpoint_is_held_to_the_methods_of_the_release(settings, words, capability, severity, message):
    found = asked(settings, words, capability)
    assert [one.severity for one in found] == ([severity] if severity else []), found
    assert all(message in one.message for one in found)


def test_where_a_method_may_claim_the_checkpoint_nothing_is_refused():
    doubtful = OWN.replace(
        'hf_quant_cfg.get("quant_method") == "awq" and user_quant', "outside(hf_quant_cfg) and user_quant"
    )
    (one,) = asked(
        {"quant_method": "aqlm"}, files=FILES | {f"{_FOLDER}/own.py": "from far import outside\n" + doubtful}
    )
    assert isinstance(one, NotChecked)


@pytest.mark.parametrize(
    "changed",
    [
        {f"{_FOLDER}/__init__.py": "QUANTIZATION_METHODS = load()\n"},
        {f"{_FOLDER}/__init__.py": PACKAGE + "QUANTIZATION_METHODS.update(load())\n"},
        {"sglang/srt/configs/model_config.py": "class ModelConfig: ...\n"},
    ],
)
def test_a_release_that_keeps_them_in_another_way_is_not_held_to_them(changed):
    (one,) = asked({"quant_method": "aqlm"}, files=FILES | changed)
    assert isinstance(one, NotChecked)
    assert not one.needed


def test_other_gpus_than_nvidias_are_not_looked_at():
    assert not asked({"quant_method": "aqlm"}, capability=None, system=parse_system("1xmi300x"))
