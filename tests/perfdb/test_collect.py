"""A run: what is measured, what fails, and how it goes on."""

import json
import sys

import pytest
from tests.perfdb.worker_simulator import MACHINE, gpus_at, measured, simulator

from dayzero.adapters.collecting import clocks as clocks_module
from dayzero.adapters.collecting.run_folder import RunFolder

CONV = "kimi-k3/vllm/kda/context/conv1d"
FEW = ("--where", "num_v_heads=12", "--where", "batch_size=2", "--where", "seq_len<=8")


@pytest.fixture
def run(tmp_path, dayzero):
    """Collect a few shapes of the convolution from a simulator; give its exit code, what it printed and the run."""

    def call(answers, *more: str, machine=MACHINE, lane=CONV, few=FEW) -> tuple[int, str, RunFolder]:
        python = simulator(tmp_path / "sim", answers, machine)
        words = (lane, *few, "--system", "h200_sxm", "-o", tmp_path / "run", "--python", python, *more)
        code, out, err = dayzero("perfdb", "collect", *words)
        return code, out + err, RunFolder(tmp_path / "run")

    return call


def states(folder):
    return [line["state"] for line in folder.lines("cases.jsonl")]


def test_a_lane_on_the_processor_is_measured_by_a_real_process(tmp_path, answer):
    words = ("cpu/numpy", "--where", "m=1", "--where", "n=256", "--system", "a_cpu", "-o", tmp_path / "run")
    code, told = answer("perfdb", "collect", *words)
    (lane,) = told["lanes"]
    assert (code, lane["states"], lane["to_do"]) == (0, {"measured": 2}, 0)
    first = RunFolder(tmp_path / "run").lines("cases.jsonl")[0]
    assert first["check"]["state"] == "agrees"
    assert first["files"]["checked"] > 0
    assert first["files"]["differ"] == []
    assert first["n_samples"] == len(first["samples_us"])
    assert min(first["samples_us"]) == first["latency_us"]["min"] > 0


def test_a_run_goes_on_where_it_was_and_measures_nothing_twice(run):
    code, said, folder = run({"*": measured()}, "--seconds", "0.000001")
    assert (code, "4 to do" in said) == (3, True)
    run({"*": measured()})
    path = folder.root / "cases.jsonl"
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:3]))
    code, said, folder = run({"*": measured(6.0)})
    assert code == 0, said
    assert path.read_bytes().splitlines(keepends=True)[:3] == whole[:3]
    assert [line["latency_us"]["mean"] for line in folder.lines("cases.jsonl")] == [5.0, 5.0, 5.0, 6.0]


def test_a_line_that_was_cut_off_is_taken_off_and_its_case_measured_again(run):
    run({"*": measured()})
    code, said, folder = run({"*": measured()})
    path = folder.root / "cases.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    code, said, folder = run({"*": measured(7.0)})
    assert code == 0, said
    assert [line["latency_us"]["mean"] for line in folder.lines("cases.jsonl")] == [5.0, 5.0, 5.0, 7.0]


def test_a_killed_process_loses_its_case_only(run):
    code, said, folder = run({"seq_len=2": "kill", "*": measured()})
    assert code == 1, said
    assert states(folder) == ["measured", "failed", "measured", "measured"]
    line = folder.lines("cases.jsonl")[1]
    assert (line["error"]["class"], line["error"]["message"]) == ("Crashed", "it was ended by SIGKILL")
    assert line["error"]["raw"] == ["about to be killed"]
    assert [one["worker"] for one in folder.lines("cases.jsonl")] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("hang", ("TimedOut", "no answer within 0.4 s")),
        ("exit", ("Crashed", "it ended with exit code 3")),
        ({"state": "failed", "lost": True, "error": {"class": "Runtime", "message": "CUDA"}}, ("Runtime", "CUDA")),
    ],
)
def test_what_ended_a_case_is_said(run, answer, error):
    code, said, folder = run({"seq_len=2": answer, "*": measured()}, "--case-seconds", "0.4")
    assert code == 1, said
    found = folder.lines("cases.jsonl")[1]["error"]
    assert (found["class"], found["message"]) == error
    assert states(folder).count("measured") == 3


def test_an_absent_library_is_unsupported_and_no_pass(run):
    absent = {"state": "unsupported", "error": {"class": "Unsupported", "message": "no vllm"}}
    code, said, folder = run({"*": absent})
    assert code == 3
    assert "4 unsupported" in said
    assert folder.lines("cases.jsonl")[0]["error"]["message"] == "no vllm"


def test_what_the_gpu_cannot_hold_is_left_out_with_the_reason(run):
    small = {**MACHINE, "gpus": [{**MACHINE["gpus"][0], "memory_bytes": 1_000_000_000}]}
    where = ("--where", "num_v_heads=96", "--where", "batch_size=64", "--where", "seq_len>=2048")
    code, said, _ = run({"*": measured()}, machine=small, few=where)
    assert code == 3
    assert "1 left out: it needs 19327352832 bytes at least, and the GPU has 1000000000" in said


def test_a_collective_says_how_many_gpus_it_lacks_and_how_it_would_be_run(run):
    code, said, folder = run({"*": measured()}, lane="nccl/collectives", few=())
    assert code == 3
    assert "168 left out: it needs 8 GPUs, and this machine has 1" in said
    assert "dayzero perfdb collect nccl/collectives --ranks 8 --system" in said
    assert folder.lines("cases.jsonl") == ()


def test_a_lane_that_nothing_makes_inputs_for_says_its_recipe(run):
    code, said, _ = run({}, lane="kimi-k3/vllm/moe/w4a8_mxfp4_mxfp8", few=())
    assert code == 3
    assert "11 left out: nothing makes its inputs yet" in said
    assert "to measure it: Eight Blackwell GPUs" in said


def test_the_machine_has_to_be_the_named_system(run):
    other = {**MACHINE, "gpus": [{**MACHINE["gpus"][0], "name": "NVIDIA H100 80GB HBM3"}]}
    code, said, _ = run({"*": measured()}, machine=other)
    assert code == 2
    assert "this GPU is NVIDIA H100 80GB HBM3, and h200_sxm has NVIDIA H200" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--build", "vllm 0.27.1"), "not a build: 'vllm 0.27.1'"),
        (("--build", f"vllm==0.26.0@sha256:{'0' * 64}"), "vllm 0.27.1 is installed, not 0.26.0"),
        (("--shard", "3/2"), "not a shard: '3/2'"),
        (("--where", "nothing=1"), "has no column 'nothing'"),
        (("--plan", "/nowhere.toml"), "/nowhere.toml cannot be read"),
        (("--slurm", "partition"), "not an option of sbatch: 'partition'"),
        (("--slurm", "array=1-8"), "--slurm sets array itself"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_runs(run, words, message):
    code, said, folder = run({"*": measured()}, *words)
    assert code == 2
    assert message in said
    assert not folder.exists


def test_another_plan_does_not_go_into_the_same_folder(run):
    run({"*": measured()})
    code, said, _ = run({"*": measured()}, "--where", "seq_len=2")
    assert code == 2
    assert "holds a run with another plan_sha256" in said


def test_an_interpreter_that_does_not_measure_is_refused(tmp_path, dayzero):
    python = simulator(tmp_path / "sim", {}, mute="no module named encodings")
    words = ("--system", "h200_sxm", "-o", tmp_path / "run")
    code, _, err = dayzero("perfdb", "collect", CONV, *words, "--python", python)
    assert code == 2
    assert "does not measure: it ended with exit code 7" in err
    assert "no module named encodings" in err
    code, _, err = dayzero("perfdb", "collect", CONV, *words, "--python", tmp_path / "nothing")
    assert (code, "cannot be started" in err) == (2, True)


def test_without_a_lane_the_lanes_are_listed(dayzero):
    code, out, _ = dayzero("perfdb", "collect")
    assert code == 0
    assert CONV in out
    assert "not written" in next(line for line in out.splitlines() if "w4a8" in line)
    assert dayzero("perfdb", "collect", CONV)[0] == 2
    assert dayzero("perfdb", "collect", "no/such/lane", "--system", "x", "-o", "/nowhere/run")[0] == 2


def test_a_plan_names_lanes_and_their_cases(tmp_path, run):
    plan = tmp_path / "plan.toml"
    plan.write_text(f'[[lane]]\ntitle = "{CONV}"\nwhere = ["num_v_heads=12", "batch_size=1", "seq_len=1"]\n')
    code, said, folder = run({"*": measured()}, "--plan", plan, lane="--no-trace", few=())
    assert code == 0, said
    assert len(folder.lines("cases.jsonl")) == 1
    assert [json.loads(line)["trace"] for line in (tmp_path / "sim" / "asked.jsonl").read_text().splitlines()] == [
        False
    ]
    plan.write_text("[[lane]]\nname = 1\n")
    assert run({}, "--plan", plan, lane="--no-trace", few=())[0] == 2


def test_all_shards_together_hold_each_case_once(tmp_path, dayzero):
    python = simulator(tmp_path / "sim", {"*": measured()})
    seen = []
    for shard in ("1/3", "2/3", "3/3"):
        folder = tmp_path / shard.replace("/", "-")
        words = (*FEW, "--system", "h200_sxm", "-o", folder, "--python", python, "--shard", shard)
        assert dayzero("perfdb", "collect", CONV, *words)[0] == 0
        seen += [line["case"] for line in RunFolder(folder).lines("cases.jsonl")]
    assert len(seen) == len(set(seen)) == 4


def test_kernels_that_are_not_those_of_the_label_are_said(run):
    other = measured(trace={"kernels": [["memset", 1]], "busy_us": 1.0, "tool": "t"})
    blind = measured(trace={"error": "CUPTI is not allowed"})
    _, _, folder = run({"seq_len=2": other, "seq_len=4": blind, "*": measured()})
    lines = folder.lines("cases.jsonl")
    assert [line["kernels"] for line in lines] == ["agree", "differ", "unseen", "agree"]
    assert lines[2]["trace_error"] == "CUPTI is not allowed"
    assert [line["kernels"] for line in folder.lines("kernels.jsonl")] == [
        [["_causal_conv1d_fwd_kernel", 3]],
        [["memset", 1]],
    ]


def test_the_clocks_of_a_case_are_those_that_were_seen_in_its_window(run, monkeypatch):
    monkeypatch.setattr(clocks_module, "Gpus", gpus_at({"throttle": 0x4}))
    _, _, folder = run({"*": measured()})
    (worker,) = folder.lines("workers.jsonl")
    assert (worker["driver"], worker["ecc"], worker["power_limit_w"]) == ("580.95", "on", 700.0)
    assert worker["gpus"][0]["uuid"] not in {"", "0a1b"}
    clocks = folder.lines("cases.jsonl")[0]["clocks"]
    assert clocks["looks"] > 0
    assert (clocks["sm_mhz_min"], clocks["sm_mhz_mean"], clocks["memory_mhz_min"]) == (1755, 1755.0, 3201)
    assert clocks["throttle"] == 0x4


def test_the_processor_of_this_python_measures_by_default(tmp_path, dayzero):
    words = ("cpu/numpy", "--where", "m=1", "--where", "n=256", "--where", "k=256", "--system", "a_cpu")
    assert dayzero("perfdb", "collect", *words, "-o", tmp_path / "run", "--python", sys.executable)[0] == 0
