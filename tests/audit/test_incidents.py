"""The shape of every public incident in a few lines: found where it is, and silent once the library has what was asked for.

``tests/wheels/incidents.toml`` has the same incidents on the released wheels.
"""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.engines.vllm.capabilities.builds import ENGINE
from tests.simulators.distributions import distribution

from dayzero.audit.finding import Finding
from dayzero.audit.installed import Distribution, Installed
from dayzero.audit.report import audited
from dayzero.audit.rules import Subject
from dayzero.core.verdict import Proven, Refuted
from dayzero.wiring.audit import rules

Case = tuple[Distribution, tuple[Distribution, ...], Mapping[str, Any]]
SM120 = {"capability": (12, 0)}
B300 = {"capability": (10, 3)}
AUTO = "transformers/models/auto"
CHECK = (
    "def _get_cubin_dir():\n"
    '    if not os.getenv("FLASHINFER_DISABLE_VERSION_CHECK") and a != b:\n'
    '        raise RuntimeError(f"flashinfer-cubin version ({b}) does not match flashinfer version ({a})")\n'
)
WIDE_ONLY = ENGINE["vllm/backends/plain.py"] + (
    "    @classmethod\n    def get_supported_head_sizes(cls):\n        return [64, 128, 256]\n"
)
MLA = {"model_type": "deepseek_v3", "num_attention_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64}
SPARSE = "flashinfer/data/csrc/sparse_mla_sm120_decode_dsv4.cu"


def vllm(version: str, files: Mapping[str, str], *requires: str) -> Distribution:
    return distribution("vllm", version, {"vllm/__init__.py": "", **files}, requires=requires)


def sglang(version: str, files: Mapping[str, str], *requires: str) -> Distribution:
    return distribution("sglang", version, {"sglang/__init__.py": "", **files}, requires=requires)


def flashinfer(version: str, files: Mapping[str, str]) -> Distribution:
    return distribution("flashinfer-python", version, {"flashinfer/__init__.py": "", **files})


def sparse_kwargs(*, mended: bool) -> Case:
    gate = "from importlib.util import find_spec\ndef has_sparse():\n    return find_spec('flashinfer.decode') is not None\n"
    engine = {
        "vllm/utils/flashinfer.py": gate,
        "vllm/models/deepseek_v4/nvidia/flashinfer_sparse.py": (
            "from flashinfer.decode import sparse_mla_dsv4\nclass FlashInferSM120Attention:\n    def decode(self):\n"
            "        sparse_mla_dsv4(1, swa_topk_lens=2)\n"
        ),
    }
    taken = "def sparse_mla_dsv4(q, swa_topk_lens): ...\n" if mended else "def sparse_mla_dsv4(q, seq_lens): ...\n"
    model = {"model_type": "deepseek_v4"}
    return vllm("0.24.0", engine), (flashinfer("0.6.12", {"flashinfer/decode.py": taken}),), {**SM120, "model": model}


def renamed_parameter(*, mended: bool) -> Case:
    word = "activation" if mended else "activation_type"
    engine = {
        "sglang/srt/fast_dsl.py": "from flashinfer import Wrapper\ndef make(use_fast):\n    return Wrapper(activation=1)\n"
    }
    library = {"flashinfer/__init__.py": f"class Wrapper:\n    def __init__(self, *, {word}=0): ...\n"}
    return sglang("0.5.16", engine), (flashinfer("0.6.15", library),), {"flags": ("--moe-runner-backend", "fast_dsl")}


def companion(*, mended: bool) -> Case:
    library = flashinfer("0.6.14", {"flashinfer/jit/env.py": CHECK})
    return vllm("0.26.0", {}), (library, distribution("flashinfer-cubin", "0.6.14" if mended else "0.6.13")), {}


def companion_of_no_release(*, mended: bool) -> Case:
    library = flashinfer("0.6.16.post3", {"flashinfer/jit/env.py": CHECK})
    return vllm("0.28.0", {}), (library, *(() if mended else (distribution("flashinfer-cubin", "0.6.13"),))), {}


def plugin(*, mended: bool) -> Case:
    tokenizer = {"vllm/transformers_utils/tokenizer.py": "class MistralTokenizer: ...\n"}
    text = "from vllm.transformers_utils.tokenizer import MistralTokenizer\n"
    reader = distribution("lm-format-enforcer", "0.11.3", {"lmformatenforcer/integrations/vllm.py": text})
    return vllm("0.26.0", tokenizer if mended else {"vllm/transformers_utils/__init__.py": ""}), (reader,), {}


def name_under_a_gate(*, mended: bool) -> Case:
    text = (
        "from .utils import is_mistral_common_available\nif is_mistral_common_available():\n"
        "    from mistral_common.request import ReasoningEffort\n"
    )
    files = {
        "transformers/__init__.py": "",
        "transformers/utils.py": "from importlib.util import find_spec\ndef is_mistral_common_available():\n"
        "    return find_spec('mistral_common') is not None\n",
        "transformers/tokenization_mistral_common.py": text,
    }
    held = "class ReasoningEffort: ...\n" if mended else "class Request: ...\n"
    library = {"mistral_common/__init__.py": "", "mistral_common/request.py": held}
    asker = distribution(
        "transformers", "5.5.1", files, requires=('mistral-common>=1.10.0; extra == "mistral-common"',)
    )
    return asker, (distribution("mistral-common", "1.10.0" if mended else "1.9.1", library),), {}


def attribute_of_every_tokenizer(*, mended: bool) -> Case:
    engine = {
        "vllm/transformers_utils/tokenizer.py": (
            "from transformers import AutoTokenizer\ndef get_tokenizer(name):\n"
            "    tokenizer = AutoTokenizer.from_pretrained(name)\n    return tokenizer.all_special_tokens_extended\n"
        )
    }
    base = (
        "class Base:\n    all_special_tokens_extended = []\n"
        if mended
        else "class Base:\n    all_special_tokens = []\n"
    )
    library = {
        "transformers/__init__.py": f"{base}class AutoTokenizer:\n    @staticmethod\n    def from_pretrained(name) -> Base: ...\n"
    }
    return vllm("0.11.0", engine), (distribution("transformers", "5.1.0", library),), {}


def collision(*, mended: bool) -> Case:
    engine = {
        "vllm/configs/__init__.py": "from vllm.configs.ovis import C\n",
        "vllm/configs/ovis.py": 'AutoConfig.register("aimv2", C)\n',
    }
    held = "llama" if mended else "aimv2"
    library = {f"{AUTO}/configuration_auto.py": f'CONFIG_MAPPING_NAMES = OrderedDict([("{held}", "C")])\n'}
    return vllm("0.9.2", engine), (distribution("transformers", "4.54.1", library),), {}


def limit_of_an_extra(*, mended: bool) -> Case:
    text = "import kernels\n"
    library = distribution(
        "transformers",
        "5.6.0",
        {"transformers/__init__.py": "", "transformers/hub_kernels.py": text},
        requires=('kernels<0.13,>=0.12.0; extra == "kernels"',),
    )
    kernels = distribution("kernels", "0.12.1" if mended else "0.15.2", {"kernels/__init__.py": ""})
    return sglang("0.5.12", {}, "transformers==5.6.0", "kernels"), (library, kernels), {}


def conflicting_pins(*, mended: bool) -> Case:
    engine = {
        "llmcompressor/__init__.py": "from llmcompressor import helpers\n",
        "llmcompressor/helpers.py": "from compressed_tensors.utils import strategy_cdiv\n",
    }
    held = "def strategy_cdiv(): ...\n" if mended else "def cdiv(): ...\n"
    library = {"compressed_tensors/__init__.py": "", "compressed_tensors/utils.py": held}
    asker = distribution("llmcompressor", "0.9.0", engine, requires=("compressed-tensors==0.13.0",))
    version = "0.13.0" if mended else "0.12.2"
    return asker, (distribution("compressed-tensors", version, library),), {}


def missing_module(*, mended: bool) -> Case:
    engine = {
        "llmcompressor/__init__.py": "from llmcompressor.model_free import run\n",
        "llmcompressor/model_free.py": "from compressed_tensors.convert.memory import TensorProfiler\n",
    }
    library = {"compressed_tensors/__init__.py": "", "compressed_tensors/convert/__init__.py": ""}
    library |= {"compressed_tensors/convert/memory.py": "class TensorProfiler: ...\n"} if mended else {}
    asker = distribution("llmcompressor", "0.14.0", engine)
    return asker, (distribution("compressed-tensors", "0.18.0", library),), {}


def outside_the_range(*, mended: bool) -> Case:
    library = distribution("transformers", "4.57.1" if mended else "5.3.0", {"transformers/__init__.py": ""})
    return vllm("0.17.1", {}, "transformers<5,>=4.56.0"), (library,), {}


def collision_by_class(*, mended: bool) -> Case:
    engine = {
        "sglang/configs/__init__.py": "from sglang.configs.qwen import Qwen2_5_VLConfig\n",
        "sglang/configs/qwen.py": "AutoImageProcessor.register(Qwen2_5_VLConfig, None, P, None)\n",
    }
    held = "qwen2_vl" if mended else "qwen2_5_vl"
    library = {
        f"{AUTO}/configuration_auto.py": 'CONFIG_MAPPING_NAMES = OrderedDict([("qwen2_5_vl", "Qwen2_5_VLConfig")])\n',
        f"{AUTO}/image_processing_auto.py": f'IMAGE_PROCESSOR_MAPPING_NAMES = OrderedDict([("{held}", ("P", "F"))])\n',
    }
    return sglang("0.4.4.post1", engine), (distribution("transformers", "4.49.0", library),), {}


def moved_name(*, mended: bool) -> Case:
    engine = {
        "sglang/srt/server.py": "from sglang.srt.constrained import backend\n",
        "sglang/srt/constrained/backend.py": "from outlines.fsm.json_schema import build_regex_from_schema\n",
        "sglang/srt/constrained/__init__.py": "",
    }
    held = "def build_regex_from_schema(): ...\n" if mended else "def get_schema(): ...\n"
    library = {"outlines/__init__.py": "", "outlines/fsm/__init__.py": "", "outlines/fsm/json_schema.py": held}
    return sglang("0.4.0.post2", engine), (distribution("outlines", "0.1.11", library),), {}


def head_size(*, mended: bool) -> Case:
    model = {"model_type": "gemma4", "head_dim": 256 if mended else 512, "num_attention_heads": 8, "hidden_size": 64}
    asked = {"model": model, "capability": (9, 0), "flags": ("--attention-backend", "WIDE")}
    return vllm("0.19.1", {**ENGINE, "vllm/backends/plain.py": WIDE_ONLY}), (), asked


def no_backend(*, mended: bool) -> Case:
    quantization = {"quant_method": "modelopt", **({} if mended else {"kv_cache_quant_algo": "FP8"})}
    return vllm("0.14.0", ENGINE), (), {**SM120, "model": {**MLA, "quantization_config": quantization}}


def no_compiled_pair(*, mended: bool) -> Case:
    pairs = "  DSV4_DISPATCH(32, 512)\n" + ("  DSV4_DISPATCH(32, 256)\n" if mended else "")
    model = {"model_type": "deepseek_v4", "num_attention_heads": 32, "index_topk": 256}
    return vllm("0.27.0", {}), (flashinfer("0.6.15.post1", {SPARSE: pairs}),), {**SM120, "model": model}


def member_that_the_model_names(*, mended: bool) -> Case:
    text = "from flashinfer.enums import ActivationType\ndef number():\n    return ActivationType.Situ\n"
    members = "    Silu = 2\n" + ("    Situ = 10\n" if mended else "")
    library = {"flashinfer/enums.py": f"from enum import IntEnum\nclass ActivationType(IntEnum):\n{members}"}
    model = {"model_type": "kimi_k3", "text_config": {"hidden_act": "situ"}}
    return (
        sglang("0.5.18", {"sglang/srt/mxfp4.py": text}),
        (flashinfer("0.6.16rc3", library),),
        {**B300, "model": model},
    )


INCIDENTS = {
    "vllm#48054": (sparse_kwargs, "python-signature path flashinfer_sparse.py:4", Refuted),
    "sglang#31502": (renamed_parameter, "python-signature path fast_dsl.py:3", Refuted),
    "vllm#49804": (companion, "companion-version start env.py:3", Refuted),
    "flashinfer#4781": (companion_of_no_release, "companion-version start env.py:3", Refuted),
    "vllm#52614": (plugin, "python-plugin opt-in vllm.py:1", Proven),
    "transformers#45372": (name_under_a_gate, "python-name path tokenization_mistral_common.py:3", Refuted),
    "es-at-scale#41": (attribute_of_every_tokenizer, "python-member start tokenizer.py:4", Refuted),
    "EuroEval#1117": (collision, "registry-collision start ovis.py:1", Refuted),
    "sglang#27654": (limit_of_an_extra, "pin-conflict path METADATA", Refuted),
    "llm-compressor#2258": (conflicting_pins, "python-name start helpers.py:1", Refuted),
    "llm-compressor#3210": (missing_module, "python-name start model_free.py:1", Refuted),
    "GLM-OCR#140": (outside_the_range, "pin-conflict path METADATA", Refuted),
    "sglang#4607": (collision_by_class, "registry-collision start qwen.py:1", Refuted),
    "sglang#2550": (moved_name, "python-name start backend.py:1", Refuted),
    "vllm#40677": (head_size, "attention-backend path plain.py:5", Refuted),
    "vllm#32732": (no_backend, "attention-backend path cuda.py:10", Refuted),
    "flashinfer#4336": (no_compiled_pair, "dispatch-table path sparse_mla_sm120_decode_dsv4.cu:1", Refuted),
    "ml-containers#201": (member_that_the_model_names, "python-member start mxfp4.py:3", Refuted),
}


def said(case: Case) -> tuple[list[str], type]:
    """Give what every installed rule says of a case, as ``rule severity file:line``, and the verdict."""
    engine, others, asked = case
    installed = Installed(engine=engine, others=others)
    answer = audited(rules(), Subject(installed=installed, engine=engine.name, **asked))
    return [written(one) for one in answer.findings], type(answer.verdict)


def written(finding: Finding) -> str:
    place = finding.engine or finding.library
    file = place.file.rpartition("/")[2] if place else ""
    line = place.position.replace("line ", ":") if place else ""
    return f"{finding.rule} {finding.severity.value} {file}{line}"


@pytest.mark.parametrize("name", INCIDENTS)
def test_an_incident_is_found_at_its_place(name: str) -> None:
    case, expected, verdict = INCIDENTS[name]
    found, judged = said(case(mended=False))
    assert expected in found
    assert judged is verdict


@pytest.mark.parametrize("name", INCIDENTS)
def test_an_incident_is_over_once_what_was_asked_for_is_there(name: str) -> None:
    case, expected, _ = INCIDENTS[name]
    found, judged = said(case(mended=True))
    assert [one for one in found if one.split()[0] == expected.split()[0]] == []
    assert judged is not Refuted
