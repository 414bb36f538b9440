"""Lanes against the real torch, and the real vLLM's own convolution: what their inputs make is what they say that it is."""

import json
import select
import subprocess
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import pytest

pytestmark = pytest.mark.vllm

Ask: TypeAlias = Callable[..., list[dict[str, Any]]]

KDA = {"num_v_heads": 2, "head_v_dim": 128, "d_conv": 4}
ATTENTION = {"batch_size": 2, "num_heads": 8, "num_key_value_heads": 2, "head_dim": 64}


@pytest.fixture(scope="module")
def ask(vllm_environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Ask one process of the environment with vLLM, as a run does, case after case."""
    log = tmp_path_factory.mktemp("lanes") / "stderr.log"
    command = (str(vllm_environment / "bin" / "python"), str(files("dayzero.collector")))
    pipe = subprocess.PIPE
    with log.open("wb") as said, subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=said) as process:
        assert process.stdin
        assert process.stdout
        requests, answers = process.stdin, process.stdout

        def call(*cases: dict[str, object]) -> list[dict[str, Any]]:
            found = []
            for case in cases:
                request = {"do": "case", "options": {"device": "cpu"}, "method": {"most": 3}, **case}
                requests.write(json.dumps(request).encode() + b"\n")
                requests.flush()
                ready, _, _ = select.select([answers], [], [], 300)
                assert ready, log.read_text()
                found.append(json.loads(answers.readline() or pytest.fail(log.read_text())))
            return found

        yield call
        requests.close()
        try:
            process.wait(60)
        finally:
            process.kill()
    assert process.returncode == 0, log.read_text()


def test_torchs_products_and_attention_agree_with_their_references(ask):
    found = ask(
        {"kind": "linear", "columns": {"gemm_dtype": "bfloat16", "m": 64, "n": 96, "k": 64}},
        {"kind": "linear", "columns": {"gemm_dtype": "float32", "m": 1, "n": 96, "k": 64}},
        {"kind": "sdpa", "columns": {**ATTENTION, "isl": 64, "step": 0}},
        {"kind": "sdpa", "columns": {**ATTENTION, "isl": 1, "step": 63}},
    )
    assert [(one["state"], one["check"]["state"]) for one in found] == [("measured", "agrees")] * 4
    assert any(name.startswith("aten::") for name, _ in found[0]["trace"]["kernels"])
    assert found[0]["files"]["package"] == "torch"


def test_vllms_convolution_agrees_with_its_reference(ask):
    found = ask(
        {"kind": "conv_context", "columns": {**KDA, "phase": "context", "batch_size": 3, "seq_len": 20}},
        {"kind": "conv_context", "columns": {**KDA, "phase": "context", "batch_size": 1, "seq_len": 1}},
        {"kind": "conv_update", "columns": {**KDA, "phase": "generation", "batch_size": 3, "seq_len": 1}},
    )
    assert [(one["state"], one["check"]["state"]) for one in found] == [("measured", "agrees")] * 3


def test_inputs_of_the_recurrences_pass_all_that_vllm_asks_of_them_up_to_the_launch(ask):
    found = ask(
        {"kind": "packed_decode", "columns": {**KDA, "phase": "generation", "batch_size": 3, "seq_len": 1}},
        {"kind": "recurrent_verify", "columns": {**KDA, "phase": "verify", "batch_size": 3, "seq_len": 4}},
    )
    assert [one["error"]["message"] for one in found] == [
        "'function' object is not subscriptable"
    ] * 2  # no Triton here


def test_what_this_machine_lacks_is_unsupported(ask):
    (flash,) = ask({"kind": "flash3", "columns": {**ATTENTION, "isl": 64, "step": 0}, "options": {}})
    assert flash["state"] in {"unsupported", "failed"}
    (alone,) = ask({"kind": "collective", "columns": {"num_gpus": 2, "nccl_dtype": "half", "message_size": 64}})
    assert (alone["state"], "no ranks" in alone["error"]["message"]) == ("unsupported", True)
