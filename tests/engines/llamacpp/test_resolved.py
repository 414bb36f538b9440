"""What llama.cpp's log says it resolved."""

from dataclasses import replace

import pytest
from tests import samples

from dayzero.core.launch import LaunchSpec
from dayzero.engines.llamacpp.launch import launch
from dayzero.engines.llamacpp.resolved import asked, resolved, start_phases
from dayzero.serve.dispatch import compare, differences

# A real start of the embedded engine.
LOG = b"""\
0.00.001.741 I srv          init: build_info: b0-unknown
0.00.003.358 I srv          init: loading model
0.00.003.398 I srv    load_model: loading model 'model/SmolLM2-135M-Instruct.Q4_1.gguf'
0.00.245.583 I cmn          init: llama threadpool init, n_threads = 1
0.00.270.761 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 8192, kv_unified = 'true'
0.00.272.371 I srv          init: model loaded
0.00.272.387 I srv          init: listening on http://127.0.0.1:18481
listening on http://127.0.0.1:18481
0.00.389.989 I slot launch_slot_: id  3 | task 0 | processing task, is_child = 0
"""


def started_with(*flags: str) -> LaunchSpec:
    return launch(replace(samples.recipe(), flags=flags), memory_bytes=1)


def test_a_real_log_gives_what_it_states():
    assert {one.name: (one.value, one.line) for one in resolved(LOG)} == {
        "version": ("b0-unknown", 1),
        "n_threads": ("1", 4),
        "n_slots": ("4", 5),
        "n_ctx_slot": ("8192", 5),
        "kv_unified": ("true", 5),
    }


def test_phases_are_differences_of_the_stamps():
    assert {phase.name: (phase.seconds, phase.line) for phase in start_phases(LOG)} == {
        "weights": (0.242185, 4),
        "context": (0.00161, 6),
        "listening": (0.272387, 7),
    }


def test_a_start_that_failed_has_the_phases_that_it_reached():
    failed = b"\n".join(LOG.split(b"\n")[:3]) + b"\n0.00.004.815 E llama_model_load: error loading model\n"
    assert start_phases(failed) == ()


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--n-ctx", "8192", "--n-parallel", "4", "--kv-unified", "true"), ()),
        (
            ("--n-ctx", "16384", "--n-parallel", "4", "--kv-unified", "true"),
            ("--n-ctx asks for 16384, and the log says n_ctx_slot is 8192 (line 5)",),
        ),
        (
            ("--n-ctx", "8192", "--n-parallel", "4"),
            ("--n-ctx asks for 2048, and the log says n_ctx_slot is 8192 (line 5)",),
        ),
        (
            ("--cpuparams.n-threads", "2"),
            ("--cpuparams.n-threads asks for 2, and the log says n_threads is 1 (line 4)",),
        ),
        (("--n-ctx", "0"), ()),
    ],
)
def test_what_came_out_otherwise_is_a_finding(flags, expected):
    assert differences(compare(asked(started_with(*flags)), resolved(LOG))) == expected
