"""What vLLM's log says it resolved, on excerpts of real starts (lines that say nothing are left out)."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests import samples

from dayzero.core.launch import LaunchSpec
from dayzero.engines.vllm.launch import launch
from dayzero.engines.vllm.resolved import asked, resolved, start_phases
from dayzero.serve.dispatch import compare, differences

LOGS = Path(__file__).parent / "logs"
HOPPER, KIMI, CPU = "healthy-0.26.0-h200.log", "healthy-0.27.1-h200.log", "healthy-0.32.0-cpu.log"


def read(name: str) -> bytes:
    return (LOGS / name).read_bytes()


def values(name: str) -> dict[str, str]:
    return {one.name: one.value for one in resolved(read(name))}


def started_with(*flags: str, env: tuple[tuple[str, str], ...] = ()) -> LaunchSpec:
    return launch(replace(samples.recipe(), flags=flags, env=env, start_budget_s=600), memory_bytes=1)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (
            HOPPER,
            {
                "version": "0.26.0",
                "dtype": "bfloat16",
                "attention_backend": "FLASH_ATTN",
                "cudagraph_mode": "FULL_AND_PIECEWISE",
                "compilation_mode": "VLLM_COMPILE",
                "kv_cache_dtype": "auto",
                "kv_cache_tokens": "743120",
                "max_model_len": "40960",
                "enable_prefix_caching": "True",
                "model_runner": "V2",
            },
        ),
        (
            KIMI,
            {
                "version": "0.27.1",
                "quantization": "mxfp4",
                "attention_backend": "TRITON_MLA",
                "mla_prefill_backend": "FLASH_ATTN",
                "moe_backend": "MARLIN",
                "moe_experts": "MarlinExperts",
                "block_size": "5760",
                "disable_custom_all_reduce": "True",
                "kv_cache_tokens": "15389789",
            },
        ),
        (
            CPU,
            {
                "version": "0.32.0",
                "communicator": "gloo",
                "cudagraph_mode": "NONE",
                "kv_cache_tokens": "1048576",
                "model_runner": "V1",
            },
        ),
    ],
)
def test_a_real_log_gives_what_it_states(log, expected):
    assert {name: values(log).get(name) for name in expected} == expected


def test_what_a_log_does_not_state_is_missing():
    assert "block_size" not in values(HOPPER)
    assert "moe_backend" not in values(HOPPER)
    assert "attention_backend" not in values(CPU)
    assert resolved(b"") == start_phases(b"") == ()


def test_every_value_stands_on_its_line():
    for name in (HOPPER, KIMI, CPU):
        lines = read(name).decode().split("\n")
        for one in resolved(read(name)):
            assert one.value in lines[one.line - 1].replace(",", "" if one.name == "kv_cache_tokens" else ",")


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (
            HOPPER,
            {
                "weights": 3.946148,
                "compile": 38.09,
                "profile": 0.76,
                "autotune": 0.051,
                "capture": 7.0,
                "init_engine": 67.8,
                "listening": 122.0,
            },
        ),
        (KIMI, {"weights": 3.47069, "autotune": 0.25, "capture": 35.0, "init_engine": 56.67, "listening": 88.0}),
        (CPU, {"weights_read": 0.01, "init_engine": 0.68, "listening": 45.0}),
    ],
)
def test_a_real_log_gives_the_phases_it_states(log, expected):
    assert {phase.name: phase.seconds for phase in start_phases(read(log))} == expected


def test_the_slowest_rank_is_the_phase():
    log = b"(Worker_TP0) Loading weights took 3.10 seconds\n(Worker_TP1) Loading weights took 4.20 seconds\n"
    (phase,) = start_phases(log)
    assert (phase.seconds, phase.line) == (4.2, 2)


def test_a_block_size_that_the_engine_replaced_is_a_finding():
    """The real start: --block-size 128 was asked, and a hybrid model's page size made it 5,760."""
    spec = started_with("--attention-backend", "TRITON_MLA", "--block-size=128", "--max-model-len", "40960")
    found = compare(asked(spec), resolved(read(KIMI)))
    assert [(one.asked.name, one.agrees) for one in found] == [
        ("attention_backend", True),
        ("block_size", False),
        ("max_model_len", True),
    ]
    line = next(one.line for one in resolved(read(KIMI)) if one.name == "block_size")
    assert differences(found) == (f"--block-size asks for 128, and the log says block_size is 5760 (line {line})",)


def test_what_the_log_does_not_state_is_not_agreed():
    (found,) = compare(asked(started_with("--moe-backend", "marlin")), resolved(read(HOPPER)))
    assert found.agrees is None


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--max-model-len", "40k"), ("max_model_len", "40000")),
        (("--max_model_len=40K",), ("max_model_len", "40960")),
        (("--enforce-eager",), ("enforce_eager", "True")),
        (("--no-enable-prefix-caching",), ("enable_prefix_caching", "False")),
        (("-tp", "4"), ("tensor_parallel_size", "4")),
    ],
)
def test_flags_are_named_as_the_log_names_them(flags, expected):
    (one,) = asked(started_with(*flags))
    assert (one.name, one.value) == expected


def test_a_variable_asks_too():
    (one,) = asked(started_with(env=(("VLLM_ATTENTION_BACKEND", "FLASHINFER"), ("HOME", "/"))))
    assert (one.name, one.by) == ("attention_backend", "VLLM_ATTENTION_BACKEND")


def test_leaving_it_to_the_engine_asks_for_nothing():
    assert compare(asked(started_with("--dtype", "auto", "--kv-cache-dtype", "auto")), resolved(read(HOPPER))) == ()
