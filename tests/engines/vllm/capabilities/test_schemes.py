"""Which scheme of compressed-tensors is taken, and what it wants."""

import pytest
from tests.engines.vllm.capabilities.builds import ENGINE
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import Severity
from dayzero.audit.installed import Distribution
from dayzero.engines.vllm.rules.quantization_method import RULE

_FOLDER = "vllm/model_executor/layers/quantization"
PACKAGE = """
from typing import Literal, get_args
QuantizationMethods = Literal["compressed-tensors", "fp8"]
QUANTIZATION_METHODS: list[str] = list(get_args(QuantizationMethods))
def get_quantization_config(quantization):
    from .compressed_tensors.compressed_tensors import CompressedTensorsConfig
    return CompressedTensorsConfig
"""
CONFIG = """
from compressed_tensors.config import CompressionFormat
from compressed_tensors.quantization import QuantizationStrategy, QuantizationType
from vllm.platforms import current_platform
class CompressedTensorsConfig:
    @classmethod
    def get_min_capability(cls):
        return 70
    def _is_packed(self, weight_quant, input_quant):
        strategies = (QuantizationStrategy.CHANNEL.value, QuantizationStrategy.GROUP.value)
        return weight_quant.strategy in strategies and input_quant is None and not weight_quant.dynamic
    def _get_scheme_from_parts(self, weight_quant, input_quant, format=None):
        format = format if format is not None else self.quant_format
        if self._is_packed(weight_quant, input_quant):
            if format == CompressionFormat.pack_quantized.value:
                return Packed(num_bits=weight_quant.num_bits)
        if weight_quant.type == QuantizationType.FLOAT and weight_quant.strategy == QuantizationStrategy.TENSOR:
            return New() if current_platform.has_device_capability(89) else Old()
        if weight_quant.num_bits == 8:
            return New() if self.sparsity else Old()
        raise NotImplementedError("No compressed-tensors compatible scheme was found.")
class Packed:
    def __init__(self, num_bits):
        if num_bits not in (4, 8):
            raise ValueError(f"Unsupported num_bits = {num_bits}")
    @classmethod
    def get_min_capability(cls):
        return 80
class New:
    @classmethod
    def get_min_capability(cls):
        return 89
class Old:
    @classmethod
    def get_min_capability(cls):
        return 75
"""
FILES = ENGINE | {
    f"{_FOLDER}/__init__.py": PACKAGE,
    f"{_FOLDER}/compressed_tensors/__init__.py": "",
    f"{_FOLDER}/compressed_tensors/compressed_tensors.py": CONFIG,
}
W4A16 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}
FP8 = {"num_bits": 8, "type": "float", "strategy": "tensor"}
LIBRARY = """
from enum import Enum
class CompressionFormat(Enum):
    pack_quantized = "pack-quantized"
class QuantizationStrategy(str, Enum):
    TENSOR = "tensor"
    CHANNEL = "channel"
    GROUP = "group"
class QuantizationType(str, Enum):
    FLOAT = "float"
"""


def asked(weights, capability, *libraries: Distribution, stored="pack-quantized", inputs=None, **model: object):
    groups = {"group_0": {"weights": weights, "input_activations": inputs, "targets": ["Linear"]}}
    settings = {"quant_method": "compressed-tensors", "format": stored, "config_groups": groups}
    whole = {"model_type": "llama", "torch_dtype": "float16", "num_attention_heads": 8, "quantization_config": settings}
    return found_by(RULE, distribution("vllm", "1.0", FILES), *libraries, model=whole | model, capability=capability)


@pytest.mark.parametrize(
    ("weights", "capability", "stored", "message"),
    [
        (W4A16, (8, 0), "pack-quantized", ""),
        (W4A16, (7, 5), "pack-quantized", "on compute capability 7.5: its scheme Packed wants compute capability 8.0"),
        (W4A16 | {"strategy": None}, (7, 5), "pack-quantized", "its scheme Packed wants"),
        (W4A16 | {"strategy": None, "group_size": -1}, (7, 5), "pack-quantized", "its scheme Packed wants"),
        (W4A16 | {"num_bits": 3}, (8, 0), "pack-quantized", "Unsupported num_bits = 3 (group group_0)"),
        (W4A16, (8, 0), "int-quantized", "No compressed-tensors compatible scheme was found"),
        (FP8, (8, 9), "float-quantized", ""),
        (FP8, (7, 5), "float-quantized", ""),
        (FP8, (7, 0), "float-quantized", "its scheme Old wants compute capability 7.5"),
        ({"num_bits": 8, "strategy": "token"}, (7, 5), "int-quantized", ""),
        ({"num_bits": 8, "strategy": "token"}, (7, 0), "int-quantized", "wants compute capability 7.5"),
    ],
)
def test_the_builds_own_choice_decides(weights, capability, stored, message):
    found = asked(weights, capability, stored=stored)
    assert [one.severity for one in found] == ([Severity.PATH] if message else []), found
    assert all(message in one.message for one in found)


def test_the_librarys_own_words_are_read_where_it_is_there():
    files = {f"compressed_tensors/{one}.py": LIBRARY for one in ("__init__", "config", "quantization")}
    library = distribution("compressed-tensors", "0.17.0", files)
    assert not asked(W4A16, (8, 0), library)
    (found,) = asked(W4A16, (7, 5), library)
    assert "its scheme Packed wants" in found.message


def test_experts_choose_in_another_way():
    assert not asked(W4A16, (7, 5), num_experts=8)


def test_a_group_of_which_nothing_is_told_is_left():
    assert not asked(None, (7, 5))
