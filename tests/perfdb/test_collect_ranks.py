"""Ranks of a collective: asked the same, failing together, and computing what they say over a real Gloo."""

import json
import time
from typing import Any

import pytest
from tests.perfdb.worker_simulator import MACHINE, gpus_at, measured, simulator

from dayzero.adapters.collecting import clocks as clocks_module
from dayzero.adapters.collecting.run_folder import RunFolder
from dayzero.perfdb.run import Line

TWO = {**MACHINE, "gpus": [{**MACHINE["gpus"][0], "uuid": f"{index}a1b"} for index in range(2)]}
ONE_SIZE = ("--where", "message_size=512", "--where", "nccl_dtype=half")
WRONG = {"state": "failed", "error": {"class": "WrongResult", "message": "the result differs"}}
OUT = {"state": "failed", "error": {"class": "OutOfMemory", "message": "no memory"}}


@pytest.fixture
def ranks(tmp_path, dayzero):
    """Collect one size of each collective from two simulators; give the exit code, the lines of the run, and what was asked."""

    def call(answers, *more: str) -> tuple[int, tuple[Line, ...], list[dict[str, Any]]]:
        python = simulator(tmp_path / "sim", answers, TWO)
        words = ("--ranks", 2, *ONE_SIZE, "--system", "h200_sxm", "-o", tmp_path / "run", "--python", python, *more)
        code, _, _ = dayzero("perfdb", "collect", "nccl/collectives", *words)
        asked = [json.loads(line) for line in (tmp_path / "sim" / "asked.jsonl").read_text().splitlines()]
        return code, RunFolder(tmp_path / "run").lines("cases.jsonl"), asked

    return call


def test_all_ranks_are_asked_the_same_and_only_the_first_one_is_told(ranks):
    code, lines, asked = ranks({"rank=0": measured(7.0), "rank=1": measured(9.0)})
    assert (code, len(lines), len(asked)) == (0, 4, 8)
    assert {one["options"]["operation"] for one in asked} == {"all_reduce", "all_gather", "reduce_scatter", "alltoall"}
    assert all(one["columns"]["num_gpus"] == 2 for one in asked)
    assert all(one["method"]["warmup"] == 40 for one in asked)
    assert "operation" not in asked[0]["columns"]
    assert {line["latency_us"]["mean"] for line in lines} == {7.0}
    assert {line["kernel_label"] for line in lines} == {"NCCL"}


def test_how_long_a_kernel_of_one_rank_waited_for_the_others_is_no_time_of_the_row(ranks):
    _, lines, _ = ranks({"*": measured()})
    assert "kernel_digest" in lines[0]
    assert "busy_us" not in lines[0]


def test_a_rank_that_computes_something_else_fails_the_case(ranks):
    code, lines, _ = ranks({"rank=1": WRONG, "*": measured()})
    assert code == 1
    assert {(line["state"], line["error"]["message"]) for line in lines} == {("failed", "rank 1: the result differs")}
    assert {line["worker"] for line in lines} == {1}


@pytest.mark.parametrize(
    ("rank", "answer", "error"),
    [
        ("1", OUT, ("OutOfMemory", "rank 1: no memory")),
        ("0", OUT, ("OutOfMemory", "no memory")),
        ("1", "kill", ("Crashed", "it was ended by SIGKILL")),
        ("0", "exit", ("Crashed", "it ended with exit code 3")),
    ],
)
def test_ranks_that_wait_for_one_that_failed_are_ended_soon_and_its_reason_is_told(
    ranks, monkeypatch, rank, answer, error
):
    monkeypatch.setattr("dayzero.adapters.collecting.worker._OTHERS_S", 0.2)
    monkeypatch.setattr("dayzero.adapters.collecting.worker._END_S", 0.2)
    began = time.monotonic()
    code, lines, _ = ranks({f"rank={rank}": answer, "*": "hang"})
    assert code == 1
    assert [(line["error"]["class"], line["error"]["message"]) for line in lines] == [error] * 4
    assert [line["worker"] for line in lines] == [1, 2, 3, 4]
    assert time.monotonic() - began < 60


def test_clocks_are_those_of_all_gpus_of_the_case(ranks, monkeypatch):
    slow = {"sm_mhz": 1200, "power_w": 290.0, "temperature_c": 70, "throttle": 0x40}
    monkeypatch.setattr(clocks_module, "Gpus", gpus_at({}, slow, {"sm_mhz": 345, "throttle": 0x8}))
    _, lines, _ = ranks({"*": measured()})
    clocks = lines[0]["clocks"]
    assert (clocks["sm_mhz_min"], clocks["sm_mhz_mean"], clocks["power_w_mean"]) == (1200, 1477.5, 300.0)
    assert (clocks["temperature_c_end"], clocks["throttle"]) == (70, 0x40)


FAULTS = {
    "half is not reduced": "def all_reduce(t):\n    g.all_reduce_(t[: t.numel() // 2])",
    "the parts lie in another order": "def all_gather_into_tensor(i, p):\n    g.all_gather_into_tensor_(i, p); i.copy_(i.flip(0))",
    "nothing is sent": "def all_to_all_single(i, w):\n    pass",
    "the part of another rank": "def reduce_scatter_tensor(p, w):\n    g.reduce_scatter_tensor_(p, w.roll(w.numel() // 2))",
    "one element is off": "def all_reduce(t):\n    g.all_reduce_(t); t[-1] += 1",
}


@pytest.mark.vllm
@pytest.mark.parametrize("fault", FAULTS)
def test_a_collective_that_computes_something_else_is_seen(vllm_environment, tmp_path, dayzero, fault):
    """Plant a fault into torch's own function, in a process that is otherwise the one that measures."""
    name = FAULTS[fault].split("(")[0].removeprefix("def ")
    case = {"all_reduce": "all_reduce", "all_gather_into_tensor": "all_gather", "all_to_all_single": "alltoall"}
    planted = tmp_path / "python"
    planted.write_text(f"""#!{vllm_environment / "bin" / "python"}
import runpy, sys
import torch.distributed as g
g.{name}_ = g.{name}
if g.is_available():
    real = g.{name}
    exec({FAULTS[fault]!r})
    def {name}_once(*args, **named):
        return real(*args, **named) if args[0].numel() < 8 else {name}(*args)
    g.{name} = {name}_once
sys.argv = sys.argv[-1:]
runpy.run_path(sys.argv[0], run_name="__main__")
""")
    planted.chmod(0o755)
    words = ("cpu/torch/collectives", "--where", "message_size=4096", "--where", "nccl_dtype=half", "--system", "a_cpu")
    code, out, err = dayzero("perfdb", "collect", *words, "-o", tmp_path / "run", "--python", planted)
    assert code == 1, out + err
    lines = RunFolder(tmp_path / "run").lines("cases.jsonl")
    wrong = [line["op_name"] for line in lines if line.get("error", {}).get("class") == "WrongResult"]
    assert wrong == [case.get(name, "reduce_scatter")]


@pytest.mark.vllm
def test_two_ranks_agree_with_what_each_element_has_to_be(vllm_environment, tmp_path, dayzero):
    words = ("cpu/torch/collectives", "--where", "message_size=4096", "--system", "a_cpu", "-o", tmp_path / "run")
    code, out, err = dayzero("perfdb", "collect", *words, "--python", vllm_environment / "bin" / "python")
    assert code == 0, out + err
    lines = RunFolder(tmp_path / "run").lines("cases.jsonl")
    assert [(line["check"]["state"], line["check"]["against"]) for line in lines] == [
        ("agrees", "each element, exactly")
    ] * 8
    assert "destroy_process_group" not in (tmp_path / "run" / "worker.log").read_text()
