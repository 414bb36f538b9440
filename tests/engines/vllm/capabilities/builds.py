"""A vLLM of few lines, with the shapes that real releases have: its platform, its backends, its selection of experts."""

import json
from pathlib import Path

import pytest
from tests.engines.vllm.builds import WrittenBuild

from dayzero.audit.installed import Distribution, Installed
from dayzero.audit.rules import Subject

SHARED = Path(__file__).parents[5] / "shared"

PLATFORM = """
from typing import NamedTuple
from enum import Enum, auto

class PlatformEnum(Enum):
    CUDA = auto()
    ROCM = auto()

class DeviceCapability(NamedTuple):
    major: int
    minor: int
    def to_int(self):
        return self.major * 10 + self.minor

class Platform:
    _enum: PlatformEnum
    device_name: str = "cuda"
    def is_cuda(self):
        return self._enum == PlatformEnum.CUDA
    def is_rocm(self):
        return self._enum == PlatformEnum.ROCM
    @classmethod
    def has_device_capability(cls, capability):
        current = cls.get_device_capability()
        if isinstance(capability, tuple):
            return current >= capability
        return current.to_int() >= capability
    @classmethod
    def is_device_capability_family(cls, capability):
        return cls.get_device_capability().to_int() // 10 == capability // 10
"""
CUDA = """
from functools import cache
from vllm.platforms.interface import DeviceCapability, Platform, PlatformEnum
from vllm.v1.attention.backends.registry import AttentionBackendEnum

class CudaPlatformBase(Platform):
    _enum = PlatformEnum.CUDA

@cache
def _get_backend_priorities(use_mla, device_capability, num_heads=None):
    if use_mla:
        if device_capability.major == 10:
            return [AttentionBackendEnum.FAST_MLA, AttentionBackendEnum.SLOW_MLA]
        return [AttentionBackendEnum.SLOW_MLA]
    first = [AttentionBackendEnum.WIDE] if device_capability.major >= 9 else []
    return [*first, AttentionBackendEnum.PLAIN]
"""
REGISTRY = """
from enum import Enum

class AttentionBackendEnum(Enum):
    FAST_MLA = "vllm.backends.fast.FastBackend"
    SLOW_MLA = ("vllm.backends.slow."
                "SlowBackend")
    WIDE = "vllm.backends.plain.WideBackend"
    PLAIN = "vllm.backends.plain.PlainBackend"
    GONE = "vllm.backends.gone.GoneBackend"
    VIT = ""
    CUSTOM = None
"""
BACKEND = '''
class MultipleOf:
    base: int
    def __init__(self, base):
        self.base = base

class AttentionBackend:
    supported_kv_cache_dtypes = ["auto"]
    @staticmethod
    def get_supported_kernel_block_sizes():
        return [MultipleOf(16)]
    @classmethod
    def supports_block_size(cls, block_size):
        if block_size is None:
            return True
        for size in cls.get_supported_kernel_block_sizes():
            if isinstance(size, MultipleOf):
                size = size.base
            if block_size % size == 0:
                return True
        return False
    @classmethod
    def is_mla(cls):
        """Say so."""
        return False
    @classmethod
    def get_supported_head_sizes(cls):
        return []
    @classmethod
    def supports_compute_capability(cls, capability):
        return True
    @classmethod
    def supports_combination(cls, head_size):
        return None
    @classmethod
    def validate_configuration(cls, head_size, kv_cache_dtype, block_size, use_mla, device_capability):
        reasons = []
        sizes = cls.get_supported_head_sizes()
        if sizes and head_size not in sizes:
            reasons.append("head_size not supported")
        if kv_cache_dtype not in cls.supported_kv_cache_dtypes:
            reasons.append("kv_cache_dtype not supported")
        if not cls.supports_block_size(block_size):
            reasons.append("block_size not supported")
        if use_mla != cls.is_mla():
            reasons.append("MLA not supported" if use_mla else "non-MLA not supported")
        if not cls.supports_compute_capability(device_capability):
            reasons.append("compute capability not supported")
        if (reason := cls.supports_combination(head_size)) is not None:
            reasons.append(reason)
        return reasons
'''
MLA = """
from vllm.v1.attention.backend import AttentionBackend
class MlaBackend(AttentionBackend):
    @classmethod
    def is_mla(cls):
        return True
    @classmethod
    def get_supported_head_sizes(cls):
        return [320, 576]
"""
FAST = """
from flashinfer.decode import mla_decode
from vllm.backends.mla import MlaBackend
class FastBackend(MlaBackend):
    supported_kv_cache_dtypes = ["auto", "fp8"]
    @staticmethod
    def get_supported_kernel_block_sizes():
        return [32, 64]
    @classmethod
    def supports_compute_capability(cls, capability):
        return capability.major == 10
    @classmethod
    def supports_combination(cls, head_size):
        from vllm.config import get_current_vllm_config
        text = get_current_vllm_config().model_config.hf_text_config
        if getattr(text, "qk_nope_head_dim", 1) not in [64, 128]:
            return "needs qk_nope_head_dim in [64, 128]"
        return super().supports_combination(head_size)
"""
SLOW = """
from vllm.backends.mla import MlaBackend
class SlowBackend(MlaBackend):
    pass
"""
PLAIN = """
from vllm.v1.attention.backend import AttentionBackend
class PlainBackend(AttentionBackend):
    pass
class WideBackend(AttentionBackend):
    @classmethod
    def supports_block_size(cls, block_size):
        return block_size is None or block_size % 64 == 0
"""
KERNEL = """
from vllm.platforms import current_platform
class FusedMoEExperts:
    @staticmethod
    def is_supported_config(cls, moe_config):
        if not cls._supports_current_device():
            return False, f"kernel does not support current device {current_platform.device_name}"
        if not cls._supports_activation(moe_config.activation):
            return False, f"kernel does not support {moe_config.activation} activation"
        return True, None
    @staticmethod
    def _supports_current_device():
        raise NotImplementedError
"""
PROBE = """
from flashinfer.enums import ActivationType
def has_situ():
    return hasattr(ActivationType, "Situ")
"""
EXPERTS = """
from vllm.model_executor.layers.fused_moe.activation import MoEActivation
from vllm.model_executor.layers.fused_moe.modular_kernel import FusedMoEExperts
from vllm.platforms import current_platform
from vllm.probe import has_situ
class FastExperts(FusedMoEExperts):
    @staticmethod
    def _supports_current_device():
        p = current_platform
        return p.is_cuda() and p.is_device_capability_family(100)
    @staticmethod
    def _supports_activation(activation):
        if activation == MoEActivation.SITU:
            return has_situ()
        return activation in (MoEActivation.SILU,)
class SlowExperts(FusedMoEExperts):
    @staticmethod
    def _supports_current_device():
        return current_platform.has_device_capability((7, 5))
    @staticmethod
    def _supports_activation(activation):
        return activation in [MoEActivation.SILU, MoEActivation.SITU]
"""
ORACLE = """
from enum import Enum
import vllm.envs as envs
class Mxfp4MoeBackend(Enum):
    FAST = "FAST"
    SLOW = "SLOW"
def backend_to_kernel_cls(backend):
    if backend == Mxfp4MoeBackend.FAST:
        from vllm.model_executor.layers.fused_moe.experts.all import FastExperts
        return [FastExperts]
    elif backend == Mxfp4MoeBackend.SLOW:
        from vllm.model_executor.layers.fused_moe.experts.all import SlowExperts
        return [SlowExperts]
    raise ValueError(f"Unknown backend: {backend.value}")
def select_deepseek_v4_mxfp4_moe_backend(config):
    available = [Mxfp4MoeBackend.FAST, Mxfp4MoeBackend.SLOW]
    def move_to_back(backends, backend):
        backends.append(backends.pop(backends.index(backend)))
    if envs.VLLM_PREFER_SLOW:
        move_to_back(available, Mxfp4MoeBackend.FAST)
    if config.moe_backend != "auto":
        available = [{"fast": Mxfp4MoeBackend.FAST, "slow": Mxfp4MoeBackend.SLOW}[config.moe_backend]]
    reason = None
    for backend in available:
        for k_cls in backend_to_kernel_cls(backend):
            supported, reason = k_cls.is_supported_config(k_cls, config)
            if supported:
                return backend, k_cls
    raise ValueError(f"no backend supports the deployment since {reason}.")
"""
ENVS = """
import os
environment_variables = {"VLLM_PREFER_SLOW": lambda: bool(int(os.getenv("VLLM_PREFER_SLOW", "0")))}
def __getattr__(name):
    if name in environment_variables:
        return environment_variables[name]()
    raise AttributeError(name)
"""
ACTIVATION = """
from enum import Enum
class MoEActivation(Enum):
    SILU = "silu"
    SITU = "situ"
"""
CONFIG = """
from dataclasses import dataclass
from enum import IntEnum
class RoutingMethodType(IntEnum):
    Default = 0
def get_routing_method_type(scoring_func, top_k):
    return RoutingMethodType.Default
@dataclass
class FusedMoEParallelConfig:
    tp_size: int
@dataclass
class FusedMoEConfig:
    num_experts: int
"""
_MOE = "vllm/model_executor/layers/fused_moe"
ENGINE = {
    "vllm/platforms/__init__.py": "",
    "vllm/platforms/interface.py": PLATFORM,
    "vllm/platforms/cuda.py": CUDA,
    "vllm/v1/attention/backends/registry.py": REGISTRY,
    "vllm/v1/attention/backend.py": BACKEND,
    "vllm/backends/mla.py": MLA,
    "vllm/backends/fast.py": FAST,
    "vllm/backends/slow.py": SLOW,
    "vllm/backends/plain.py": PLAIN,
    "vllm/config/__init__.py": "",
    "vllm/envs.py": ENVS,
    "vllm/probe.py": PROBE,
    f"{_MOE}/modular_kernel.py": KERNEL,
    f"{_MOE}/activation.py": ACTIVATION,
    f"{_MOE}/config.py": CONFIG,
    f"{_MOE}/experts/all.py": EXPERTS,
    f"{_MOE}/oracle/mxfp4.py": ORACLE,
}
FLASHINFER = {
    "flashinfer/__init__.py": "",
    "flashinfer/decode.py": "def mla_decode(): ...\n",
    "flashinfer/enums.py": "from enum import IntEnum\nclass ActivationType(IntEnum):\n    Silu = 2\n    Situ = 10\n",
}
WITHOUT_SITU = FLASHINFER | {"flashinfer/enums.py": FLASHINFER["flashinfer/enums.py"].replace("    Situ = 10\n", "")}
MODEL = {
    "model_type": "kimi_linear",
    "hidden_size": 64,
    "num_attention_heads": 96,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "hidden_act": "situ",
    "num_experts": 8,
    "quantization_config": {"quant_method": "mxfp4"},
}


def installed(engine=None, libraries=None) -> Installed:
    """Install an engine's files and FlashInfer's; ``libraries={}`` installs none."""
    library = FLASHINFER if libraries is None else libraries
    found = (
        Distribution(
            name="flashinfer-python",
            version="1.0",
            requires=(),
            files=WrittenBuild(library, "flashinfer-python 1.0"),
        ),
    )
    files = WrittenBuild(ENGINE if engine is None else engine, "vllm 0.0.0")
    return Installed(
        engine=Distribution(name="vllm", version="0.0.0", requires=(), files=files), others=found if library else ()
    )


def subject(*, model=None, capability=(10, 3), flags=(), env=None, **parts: dict[str, str]) -> Subject:
    """Ask about the model on a GPU."""
    return Subject(
        installed=installed(**parts),
        engine="vllm",
        model=MODEL | (model or {}),
        capability=capability,
        flags=flags,
        env=env or {},
    )


def shared(path: str):
    """Read a shared case, or skip the test where it is not there."""
    file = SHARED / path
    if not file.is_file():
        pytest.skip(f"the shared cases are not beside this checkout (../shared/{path})")
    return json.loads(file.read_text(encoding="utf-8"))
