"""Which backend and which kernel vLLM takes, what it refuses and why, and what that means for the service."""

from typing import Any

import pytest
from tests.engines.vllm.capabilities.builds import (
    ENGINE,
    FLASHINFER,
    WITHOUT_SITU,
    installed,
    shared,
    subject,
)
from tests.wheels.released import wheel

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.installed import Installed
from dayzero.audit.rules import Subject
from dayzero.core.hardware import parse_system
from dayzero.engines.vllm.capabilities.attention import choose, layers
from dayzero.engines.vllm.capabilities.moe import Experts, choose_experts
from dayzero.engines.vllm.capabilities.situation import Situation, situation
from dayzero.engines.vllm.rules.attention_backend import RULE as ATTENTION
from dayzero.engines.vllm.rules.experts_backend import RULE as EXPERTS

DENSE = {"kv_lora_rank": None, "head_dim": 128, "num_experts": 0}
NO_DECODE = FLASHINFER | {"flashinfer/decode.py": ""}


def made(**parts: Any) -> Situation:
    found = situation(subject(**parts))
    assert isinstance(found, Situation), found
    return found


@pytest.mark.parametrize(
    ("parts", "chosen", "refused"),
    [
        ({}, "FAST_MLA", {}),
        ({"capability": (9, 0)}, "SLOW_MLA", {}),
        ({"model": {"qk_nope_head_dim": 96}}, "SLOW_MLA", {"FAST_MLA": ("needs qk_nope_head_dim in [64, 128]",)}),
        ({"model": DENSE, "capability": (9, 0)}, "WIDE", {}),
        ({"model": DENSE, "capability": (8, 0)}, "PLAIN", {}),
        (
            {"model": DENSE, "flags": ("--block-size", "16")},
            "PLAIN",
            {"WIDE": ("block_size not supported",)},
        ),
        (
            {"libraries": NO_DECODE},
            "SLOW_MLA",
            {"FAST_MLA": ("ImportError: cannot import name 'mla_decode' from 'flashinfer.decode'",)},
        ),
        (
            {"flags": ("--kv-cache-dtype", "fp8"), "capability": (12, 0)},
            None,
            {"SLOW_MLA": ("kv_cache_dtype not supported",)},
        ),
    ],
)
def test_the_builds_own_order_and_checks_decide(parts, chosen, refused):
    one = made(**parts)
    (layer,) = layers(one)
    choice = choose(one, layer)
    assert not isinstance(choice, str)
    assert (choice.chosen.name if choice.chosen else None) == chosen
    assert {each.name: each.reasons for each in choice.order if each.reasons} == refused


@pytest.mark.parametrize(
    ("parts", "severity", "words", "advice"),
    [
        (
            {"model": {"quantization_config": {"quant_method": "mxfp4", "kv_cache_quant_algo": "FP8"}}, "capability": (12, 0)},
            Severity.PATH,
            "no valid attention backend",
            "--kv-cache-dtype auto",
        ),
        (
            {"flags": ("--attention-backend", "FAST_MLA"), "capability": (9, 0)},
            Severity.PATH,
            "refuses the attention backend FAST_MLA for MLA with heads of 576 on compute capability 9.0: compute",
            "then takes SLOW_MLA",
        ),
        ({"libraries": NO_DECODE}, Severity.DOWNGRADE, "runs on SLOW_MLA and not on FAST_MLA", "has it"),
        ({"model": DENSE, "flags": ("--block-size", "16")}, Severity.DOWNGRADE, "not on WIDE", "--block-size out"),
    ],
)  # fmt: skip
def test_what_is_refused_is_said_with_what_helps(parts, severity, words, advice):
    (found,) = (one for one in ATTENTION.check(subject(**parts)) if isinstance(one, Finding))
    assert (found.severity, found.applies) == (severity, Applies.YES)
    assert words in found.message
    assert advice in found.resolution


def test_what_a_flag_mends_is_advised_before_another_gpu():
    platform = ENGINE["vllm/platforms/cuda.py"].replace(
        "device_capability.major == 10", "device_capability.major >= 10"
    )
    fp8 = {"quantization_config": {"quant_method": "mxfp4", "kv_cache_quant_algo": "FP8"}}
    asked = subject(engine=ENGINE | {"vllm/platforms/cuda.py": platform}, model=fp8, capability=(12, 0))
    (found,) = (one for one in ATTENTION.check(asked) if isinstance(one, Finding))
    assert "FAST_MLA: compute capability not supported; SLOW_MLA: kv_cache_dtype" in found.message
    assert "--kv-cache-dtype auto, or use a release whose SLOW_MLA takes fp8" in found.resolution


def test_a_refusal_for_another_reason_is_no_lost_lane():
    assert not list(ATTENTION.check(subject(model={"qk_nope_head_dim": 96})))


@pytest.mark.parametrize(
    ("change", "words"),
    [({"model": None}, None), ({"capability": None}, "no GPU is given"), ({"engine": "sglang"}, None)],
)
def test_without_a_gpu_the_question_stays_open(change, words):
    asked = subject()
    parts = {"model": asked.model, "capability": asked.capability, "engine": "vllm"} | change
    said = list(ATTENTION.check(Subject(installed=asked.installed, **parts)))
    assert [words in one.why for one in said if isinstance(one, NotChecked)] == ([True] if words else [])


def test_the_backends_are_found_where_older_releases_register_them():
    new, old = "vllm/v1/attention/backends/registry.py", "vllm/attention/backends/registry.py"
    moved = {name: text.replace("vllm.v1.attention.backends.registry", "vllm.attention.backends.registry")
             for name, text in ENGINE.items() if name != new}  # fmt: skip
    one = made(engine=moved | {old: ENGINE[new], "vllm/attention/__init__.py": ""})
    choice = choose(one, layers(one)[0])
    assert not isinstance(choice, str), choice
    assert choice.chosen is not None
    assert choice.chosen.name == "FAST_MLA"


def test_a_model_that_names_its_heads_otherwise_and_has_an_encoder_has_three_kinds_of_attention():
    whisper = DENSE | {"head_dim": None, "hidden_size": None, "num_attention_heads": None}
    whisper |= {"d_model": 1280, "decoder_attention_heads": 20, "encoder_attention_heads": 20}
    found = layers(made(model=whisper))
    assert {(one.kind, one.head_size, one.heads) for one in found} == {
        ("decoder", 64, 20),
        ("encoder", 64, 20),
        ("encoder_decoder", 64, 20),
    }


def test_an_activation_that_the_build_names_otherwise_leaves_the_experts_in_doubt():
    chosen = choose_experts(made(model={"hidden_act": "gelu_pytorch_tanh"}))
    assert isinstance(chosen, Experts)
    assert not chosen.error


def test_a_check_that_asks_for_what_is_unknown_leaves_the_backend_in_doubt():
    slow = ENGINE["vllm/backends/slow.py"].replace("    pass", "    supported_kv_cache_dtypes = torch.kinds()")
    engine = ENGINE | {"vllm/backends/slow.py": "import torch\n" + slow}
    (said,) = ATTENTION.check(subject(engine=engine, capability=(9, 0)))
    assert isinstance(said, NotChecked)
    assert "SLOW_MLA depends on torch.kinds() is outside the files" in said.why
    assert said.needed


@pytest.mark.parametrize(
    ("parts", "kernel", "reasons"),
    [
        ({}, "FastExperts", [""]),
        ({"capability": (9, 0)}, "SlowExperts", ["kernel does not support current device cuda", ""]),
        ({"env": {"VLLM_PREFER_SLOW": "1"}}, "SlowExperts", [""]),
        ({"libraries": WITHOUT_SITU}, "SlowExperts", ["kernel does not support MoEActivation.SITU activation", ""]),
        ({"libraries": WITHOUT_SITU, "model": {"hidden_act": "silu"}}, "FastExperts", [""]),
        ({"flags": ("--moe-backend", "slow")}, "SlowExperts", [""]),
    ],
)
def test_the_builds_own_selection_of_a_kernel_for_experts_is_followed(parts, kernel, reasons):
    chosen = choose_experts(made(**parts))
    assert isinstance(chosen, Experts)
    assert (chosen.kernel, [one.reason for one in chosen.asked]) == (kernel, reasons)


def test_a_kernel_lost_to_a_name_that_a_library_lacks_is_a_downgrade():
    (found,) = (one for one in EXPERTS.check(subject(libraries=WITHOUT_SITU)) if isinstance(one, Finding))
    assert found.severity is Severity.DOWNGRADE
    assert "run on SLOW (SlowExperts) and not on FAST (FastExperts)" in found.message
    assert found.library is not None
    assert (found.library.file, "Situ" in found.resolution) == ("flashinfer/enums.py", True)


def test_a_forced_kernel_that_is_refused_stops_the_path_and_names_what_is_lacking():
    asked = subject(libraries=WITHOUT_SITU, flags=("--moe-backend", "fast"))
    (found,) = (one for one in EXPERTS.check(asked) if isinstance(one, Finding))
    assert found.severity is Severity.PATH
    assert "does not support MoEActivation.SITU activation" in found.message
    assert "whose flashinfer.enums.ActivationType has Situ" in found.resolution


def test_experts_that_are_stored_in_a_way_not_followed_leave_the_question_open():
    asked = subject(model={"quantization_config": {"quant_method": "exotic"}})
    (said,) = EXPERTS.check(asked)
    assert isinstance(said, NotChecked)
    assert "exotic" in said.why


def test_a_model_without_experts_is_not_asked():
    assert not list(EXPERTS.check(subject(model={"num_experts": 0})))


def test_without_flashinfer_what_depends_on_it_is_in_doubt_and_not_lost():
    said = list(EXPERTS.check(subject(libraries={})))
    assert [type(one) for one in said] == [NotChecked]


REAL = [
    ("0.27.0", "0.6.16.post3", "8xb300", "FLASHINFER_MLA", "TrtLlmMxfp4ExpertsMonolithic"),
    ("0.27.0", "0.6.16rc3", "8xb300", "FLASHINFER_MLA", "DeepGemmFP4Experts"),
    ("0.27.0", "0.6.14", "8xb300", "CUTLASS_MLA", "DeepGemmFP4Experts"),
    ("0.27.0", "0.6.16.post3", "8xh200", "FLASH_ATTN_MLA", "MarlinExperts"),
    ("0.33.0", "0.7.2.post1", "8xb300", "FLASHINFER_MLA", "TrtLlmMxfp4ExpertsMonolithic"),
    ("0.33.0", "0.7.2.post1", "8xh200", "FLASH_ATTN_MLA", "MarlinExperts"),
]


@pytest.mark.wheels
@pytest.mark.parametrize(("engine", "library", "system", "attention", "kernel"), REAL)
def test_what_a_release_chooses_for_kimi_k3_is_what_its_files_say(engine, library, system, attention, kernel):
    model = shared("models/kimi-k3/config.json")
    files = Installed(engine=wheel("vllm", engine), others=(wheel("flashinfer-python", library),))
    gpus = parse_system(system)
    asked = Subject(
        installed=files,
        engine="vllm",
        model=model,
        system=gpus,
        capability=(10, 3) if gpus.accelerator == "b300" else (9, 0),
    )
    one = situation(asked)
    assert isinstance(one, Situation)
    (layer,) = layers(one)
    choice = choose(one, layer)
    assert not isinstance(choice, str)
    assert choice.chosen is not None
    experts = choose_experts(one)
    assert isinstance(experts, Experts)
    assert (choice.chosen.name, experts.kernel) == (attention, kernel)


def test_head_size_is_refused_where_the_backend_lists_others():
    one = made(model={"qk_rope_head_dim": 32}, capability=(9, 0))
    (layer,) = layers(one)
    choice = choose(one, layer)
    assert not isinstance(choice, str)
    assert choice.order[0].reasons == ("head_size not supported",)


def test_the_layers_of_a_model_are_each_asked_for():
    model = DENSE | {"global_head_dim": 512, "sliding_window": 64, "layer_types": ["sliding_attention", "full"]}
    assert [(one.head_size, one.sliding) for one in layers(made(model=model))] == [(512, False), (128, True)]
    assert installed().find("flashinfer_python") is not None
