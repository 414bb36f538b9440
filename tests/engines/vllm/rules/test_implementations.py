"""What a backend's implementation refuses when it is made, and what releases take that choose in one function."""

from typing import Any

import pytest
from tests.engines.vllm.builds import WrittenBuild
from tests.engines.vllm.capabilities.builds import ENGINE, subject

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.installed import Distribution, Installed
from dayzero.audit.rules import Subject
from dayzero.engines.vllm.capabilities.attention import layers
from dayzero.engines.vllm.capabilities.situation import Situation, situation
from dayzero.engines.vllm.rules.attention_backend import RULE as ATTENTION
from dayzero.engines.vllm.rules.experts_backend import RULE as EXPERTS

DENSE = {"kv_lora_rank": None, "head_dim": 128, "num_experts": 0, "num_key_value_heads": 8}
SINKS = DENSE | {"model_type": "gpt_oss"}
PLAIN = """
import torch
from vllm.v1.attention.backend import AttentionBackend
from vllm.platforms import current_platform
class PlainImpl:
    def __init__(self, num_heads, head_size, scale, num_kv_heads, kv_cache_dtype, attn_type, sinks=None, **more):
        self.heads = num_heads
        if kv_cache_dtype.startswith("fp8") and not current_platform.has_device_capability(89):
            raise NotImplementedError("no fp8 cache on this device")
        if attn_type not in ("decoder", "encoder"):
            raise NotImplementedError(f"{attn_type} is not implemented")
        assert num_heads % num_kv_heads == 0, "heads do not divide"
        if sinks is not None:
            assert version() == 3, "sinks need version 3"
def version():
    return torch.ops.version()
class PlainBackend(AttentionBackend):
    supported_kv_cache_dtypes = ["auto", "fp8", "fp8_inc"]
    @staticmethod
    def get_impl_cls():
        return PlainImpl
    @staticmethod
    def get_fp8_type(kv_cache_dtype):
        if kv_cache_dtype in ("fp8", "fp8_e4m3"):
            return torch.float8_e4m3fn
        raise ValueError(f"Unrecognized FP8 dtype: {kv_cache_dtype}")
class WideImpl:
    def __init__(self, num_heads, head_size):
        self.size = head_size
class WideBackend(PlainBackend):
    @staticmethod
    def get_impl_cls():
        return WideImpl
"""
BY_ORDER = ENGINE | {"vllm/backends/plain.py": PLAIN}
IN_ONE = """
from vllm.platforms.interface import DeviceCapability, Platform, PlatformEnum, _Backend
class CudaPlatformBase(Platform):
    _enum = PlatformEnum.CUDA
    @classmethod
    def get_attn_backend_cls(cls, selected_backend, head_size, dtype, kv_cache_dtype, block_size, use_v1, use_mla):
        if selected_backend == _Backend.PLAIN:
            return "vllm.backends.plain.PlainBackend"
        elif selected_backend:
            raise ValueError(f"invalid backend for {cls.device_name}")
        if use_v1:
            logger.info_once("the new engine")
            if cls.has_device_capability(90):
                return "vllm.backends.plain.WideBackend"
        return "vllm.backends.plain.PlainBackend"
"""
NAMES = """
import enum
class _Backend(enum.Enum):
    PLAIN = enum.auto()
    WIDE = enum.auto()
"""
CHOSEN_IN_ONE = BY_ORDER | {
    "vllm/platforms/cuda.py": IN_ONE,
    "vllm/platforms/interface.py": ENGINE["vllm/platforms/interface.py"] + NAMES,
}
SIZES = """
    @staticmethod
    def get_impl_cls():
        return PlainImpl
    @staticmethod
    def sizes():
        return [64]
"""
FP8, INC = ("--kv-cache-dtype", "fp8"), ("--kv-cache-dtype", "fp8_inc")


def said(**parts: Any) -> list[Finding | NotChecked]:
    return list(ATTENTION.check(subject(**parts)))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"capability": (8, 9)}, ""),
        ({"capability": (8, 9), "flags": FP8}, ""),
        (
            {"capability": (8, 0), "flags": FP8},
            "takes the attention backend PLAIN for full attention with heads of 128 on",
        ),
        ({"capability": (8, 0), "flags": FP8}, "which fails: no fp8 cache on this device"),
        ({"capability": (8, 9), "flags": INC}, "Unrecognized FP8 dtype: fp8_inc"),
        ({"capability": (8, 9), "model": DENSE | {"num_key_value_heads": 7}}, "which fails: AssertionError"),
        ({"capability": (8, 9), "model": SINKS}, ""),
        ({"capability": (9, 0), "model": SINKS}, "WideImpl.__init__() takes no sinks, which this model gives"),
        ({"capability": (9, 0)}, ""),
    ],
)
def test_what_the_implementation_says_itself_counts(parts, message):
    found = said(**{"engine": BY_ORDER, "model": DENSE} | parts)
    assert [one.severity for one in found] == ([Severity.PATH] if message else []), found
    assert all(message in one.message and one.applies is Applies.YES for one in found)


def test_an_implementation_that_is_not_in_the_files_is_not_held_against_anything():
    lost = PLAIN.replace("        return PlainImpl\n", "        return load()\n")
    assert not said(engine=ENGINE | {"vllm/backends/plain.py": lost}, model=DENSE, capability=(8, 0))


def test_what_fails_without_being_said_is_no_refusal():
    fails = PLAIN.replace("self.heads = num_heads", 'self.heads = {}["none"]')
    assert not said(engine=ENGINE | {"vllm/backends/plain.py": fails}, model=DENSE, capability=(8, 0))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"capability": (8, 0)}, ""),
        ({"capability": (9, 0)}, ""),
        ({"capability": (8, 0), "flags": FP8}, "PlainBackend: no fp8 cache on this device"),
        ({"capability": (8, 9), "flags": INC}, "PlainBackend: Unrecognized FP8 dtype: fp8_inc"),
        ({"capability": (9, 0), "env": {"VLLM_ATTENTION_BACKEND": "WIDE"}}, "WIDE: invalid backend for cuda"),
        ({"capability": (9, 0), "env": {"VLLM_ATTENTION_BACKEND": "PLAIN"}}, ""),
        (
            {"capability": (9, 0), "env": {"VLLM_USE_V1": "1"}, "model": SINKS},
            "WideBackend: WideImpl.__init__() takes no",
        ),
        ({"capability": (9, 0), "env": {"VLLM_USE_V1": "0"}, "model": SINKS}, ""),
    ],
)
def test_a_release_that_chooses_in_one_function_is_asked_that(parts, message):
    found = said(**{"engine": CHOSEN_IN_ONE, "model": DENSE} | parts)
    assert [one.severity for one in found] == ([Severity.PATH] if message else []), found
    assert all(message in one.message for one in found)


TRITON = (
    PLAIN.replace("import torch\n", "import torch\nimport triton\n", 1)
    + """
    def forward(self, cache):
        return cache.view(self.fp8_dtype)
"""
)
TRITON = TRITON.replace("if kv_cache_dtype.startswith", "if False and kv_cache_dtype.startswith")


@pytest.mark.parametrize(
    ("text", "capability", "flags", "expected"),
    [
        (TRITON, (8, 6), FP8, 1),
        (TRITON, (8, 6), ("--kv-cache-dtype", "fp8_e4m3"), 1),
        (TRITON, (8, 9), FP8, 0),
        (TRITON, (8, 6), (), 0),
        (TRITON + "    # fp8e4nv is converted here\n", (8, 6), FP8, 0),
        (TRITON.replace("import triton\n", ""), (8, 6), FP8, 0),
    ],
)
def test_tritons_kernels_read_an_fp8_cache_on_newer_gpus_alone(text, capability, flags, expected):
    text = text.replace('["auto", "fp8", "fp8_inc"]', '["auto", "fp8", "fp8_e4m3"]')
    found = said(engine=ENGINE | {"vllm/backends/plain.py": text}, model=DENSE, capability=capability, flags=flags)
    assert len(found) == expected, found
    assert all("read the KV cache as fp8e4nv" in one.message for one in found)


ASKING = """
from importlib import import_module
from vllm.platforms.interface import DeviceCapability, Platform, PlatformEnum, _Backend
class Answer:
    def __init__(self, fits):
        self.fits = fits
    def __bool__(self):
        return self.fits
def supported(path, head_size):
    module, name = path.rsplit(".", 1)
    backend = getattr(import_module(module), name)
    assert isinstance(backend, type)
    return Answer(head_size in backend.sizes())
class CudaPlatformBase(Platform):
    _enum = PlatformEnum.CUDA
    @classmethod
    def get_attn_backend_cls(cls, selected_backend, head_size, use_v1):
        if fits := supported("vllm.backends.plain.PlainBackend", head_size):
            return "vllm.backends.plain.PlainBackend"
        assert not fits
        return "vllm.backends.plain.WideBackend"
"""


@pytest.mark.parametrize(("size", "message"), [(64, ""), (128, "WideImpl.__init__() takes no sinks")])
def test_the_release_is_believed_what_it_says_is_true(size, message):
    plain = PLAIN + "    @staticmethod\n    def sizes():\n        return []\n"
    plain = plain.replace("    @staticmethod\n    def get_impl_cls():\n        return PlainImpl\n", SIZES, 1)
    files = CHOSEN_IN_ONE | {"vllm/platforms/cuda.py": ASKING, "vllm/backends/plain.py": plain}
    found = said(engine=files, model=SINKS | {"head_dim": size}, capability=(9, 0))
    assert [type(one) for one in found] == ([Finding] if message else []), found
    assert all(message in one.message for one in found)


MAPPING = """
CONFIG_MAPPING_NAMES = OrderedDict(
    [
        ("own", "OwnConfig"),
    ]
)
"""
TRANSFORMERS = {
    "transformers/__init__.py": "",
    "transformers/models/auto/configuration_auto.py": MAPPING,
    "transformers/models/own/configuration_own.py": "class OwnConfig(object):\n    def __init__(self, head_dim=256): ...\n",
}


@pytest.mark.parametrize(
    ("model", "size"),
    [
        ({"model_type": "own"}, 256),
        ({"model_type": "own", "head_dim": 64}, 64),
        ({"model_type": "own", "head_dim": None}, 2),
        ({"model_type": "other"}, 2),
    ],
)
def test_the_size_of_a_head_that_is_left_out_is_that_of_the_configurations_class(model, size):
    whole = DENSE | {"hidden_size": 192, "num_attention_heads": 96} | model
    if "head_dim" not in model:
        whole = {key: value for key, value in whole.items() if key != "head_dim"}
    beside = Distribution(
        name="transformers", version="5.0", requires=(), files=WrittenBuild(TRANSFORMERS, "transformers 5.0")
    )
    held = Installed(engine=subject().installed.engine, others=(beside,))
    made = situation(Subject(installed=held, engine="vllm", model=whole, capability=(9, 0)))
    assert isinstance(made, Situation)
    assert [layer.head_size for layer in layers(made)] == [size]


def test_what_an_encoder_takes_is_chosen_elsewhere():
    whisper = DENSE | {"is_encoder_decoder": True}
    found = said(engine=CHOSEN_IN_ONE, model=whisper, capability=(8, 0))
    assert [type(one) for one in found] == [NotChecked, NotChecked]


OLD_EXPERTS = {name: text for name, text in ENGINE.items() if "/oracle/" not in name} | {
    "vllm/model_executor/layers/fused_moe/layer.py": "class UnquantizedFusedMoEMethod(Base):\n    pass\n",
    "vllm/model_executor/layers/quantization/fp8.py": "class Fp8MoEMethod(Base):\n    pass\n",
}
WITH_MARLIN = {
    "vllm/model_executor/layers/quantization/fp8.py": "class Fp8MoEMethod(Base):\n    def f(self):\n        self.use_marlin = 1\n"
}
BLOCKS = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}


@pytest.mark.parametrize(
    ("model", "capability", "more", "expected"),
    [
        ({"quantization_config": None}, (8, 0), {}, []),
        (BLOCKS, (8, 9), {}, []),
        (BLOCKS, (8, 0), {}, [Severity.PATH]),
        ({"quantization_config": {"quant_method": "fp8"}}, (8, 0), {}, [Severity.PATH]),
        (BLOCKS, (8, 0), WITH_MARLIN, []),
        ({"quantization_config": {"quant_method": "mxfp4"}}, (8, 0), {}, [None]),
    ],
)
def test_a_release_without_a_selection_of_experts_runs_them_with_triton(model, capability, more, expected):
    asked = subject(engine=OLD_EXPERTS | more, model=model, capability=capability)
    found = list(EXPERTS.check(asked))
    assert [getattr(one, "severity", None) for one in found] == expected, found


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"env": {"VLLM_ATTENTION_BACKEND": "NONE_SUCH"}}, "no attention backend NONE_SUCH"),
        ({"model": SINKS}, "it is not known which of"),
    ],
)
def test_what_depends_on_what_is_not_known_stays_open(parts, why):
    (one,) = said(**{"engine": CHOSEN_IN_ONE, "model": DENSE, "capability": (9, 0)} | parts)
    assert isinstance(one, NotChecked)
    assert why in one.why
