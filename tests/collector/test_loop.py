"""The process that measures, asked in this process and as one of its own."""

import gc
import io
import json
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Never

import pytest

from dayzero.collector import blocked, lanes_gemm, loop, machine, tactics

CASE = {"do": "case", "kind": "numpy_matmul", "columns": {"gemm_dtype": "float32", "m": 4, "n": 8, "k": 8}}


def ask(*requests: dict[str, object]):
    answers = io.StringIO()
    loop.serve([json.dumps(request) for request in requests], answers)
    gc.unfreeze()
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def test_a_process_of_its_own_answers_on_what_stdout_was(tmp_path):
    folder = str(files("dayzero.collector"))
    done = subprocess.run(
        (sys.executable, folder),
        input=json.dumps(CASE) + "\n",
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    told = json.loads(done.stdout)
    assert told["state"] == "measured"
    assert told["files"]["package"] == "numpy"


def test_the_process_imports_nothing_of_dayzero_but_its_own_folder():
    code = (
        "import runpy, sys; sys.stdin = __import__('io').StringIO('');"
        f"runpy.run_path({str(files('dayzero.collector'))!r}, run_name='__main__');"
        "print(sorted({m.split('.')[1] for m in sys.modules if m.startswith('dayzero.')}), file=sys.stderr)"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "['collector']"


def test_what_it_is_is_said_first():
    (told,) = ask({"do": "describe"})
    assert told["machine"]["python"].startswith("3.")
    assert told["machine"]["versions"]["numpy"]
    assert told["machine"]["gpus"] == []


def test_a_case_that_raises_is_a_row_and_the_next_one_is_measured(capfd):
    unknown = {"do": "case", "kind": "numpy_matmul", "columns": {"m": "many", "n": 1, "k": 1}}
    first, second = ask(unknown, CASE)
    assert (first["state"], first["error"]["class"]) == ("failed", "Value")
    assert second["state"] == "measured"
    assert "Traceback" in capfd.readouterr().err


def test_a_lane_without_its_library_is_unsupported(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    (told,) = ask(CASE)
    assert (told["state"], told["error"]["message"]) == ("unsupported", "numpy is not installed")


def test_a_wrong_result_fails_and_keeps_what_it_took(monkeypatch):
    monkeypatch.setitem(lanes_gemm.LIMITS, "float32", -1.0)
    (told,) = ask(CASE)
    assert (told["state"], told["error"]["class"]) == ("failed", "WrongResult")
    assert told["latency_us"]["min"] > 0


def test_after_a_lost_context_nothing_more_is_answered(monkeypatch):
    def gone() -> Never:
        raise RuntimeError("an illegal memory access was encountered")

    cuda = SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, synchronize=gone, empty_cache=gone)
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    monkeypatch.setattr(sys.modules["torch"], "cuda", cuda, raising=False)
    answers = ask({"do": "case", "kind": "nothing", "columns": {}, "no_torch": True}, CASE)
    assert [answer.get("lost") for answer in answers] == [True]


def test_percentiles_are_samples():
    found = loop.summary([5.0, 1.0, 4.0, 2.0, 3.0, 9.0, 6.0, 7.0, 8.0, 10.0])
    assert (found["min"], found["p50"], found["p90"], found["mean"]) == (1.0, 5.0, 9.0, 5.5)
    assert loop.summary([2.0]) == {"mean": 2.0, "p50": 2.0, "min": 2.0, "p90": 2.0, "std": 0.0}


def test_a_file_that_is_not_as_recorded_is_named(tmp_path, monkeypatch):
    (tmp_path / "probe_lane.py").write_text("A = 1\n")
    info = tmp_path / "probe_lane-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: probe_lane\nVersion: 1.0\n")
    recorded = machine.digest_of(tmp_path / "probe_lane.py")
    (info / "RECORD").write_text(f"probe_lane.py,{recorded},6\nprobe_lane-1.0.dist-info/METADATA,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("probe_lane")
    found = machine.loaded_files("probe_lane")
    assert (found["version"], found["checked"], found["differ"]) == ("1.0", 1, [])
    machine.digest_of.cache_clear()
    (tmp_path / "probe_lane.py").write_text("A = 2\n")
    assert machine.loaded_files("probe_lane")["differ"] == ["probe_lane.py"]
    assert machine.loaded_files("not-installed-at-all")["record_sha256"] == ""
    sys.modules.pop("probe_lane")
    machine.digest_of.cache_clear()
    machine.recorded.cache_clear()


@pytest.mark.parametrize(("plant", "state"), [("", "agrees"), ("half_grid", "differs")])
def test_the_planted_candidate_computes_something_else(plant, state):
    columns, options = {"m": 16, "n": 8, "k": 8}, {"candidate": {"block": 4}, "plant": plant}
    assert blocked.blocked_matmul(columns, options, None).check().state == state


class Config:
    """A configuration as Triton has them."""

    def __init__(self, block) -> None:
        self.kwargs, self.num_warps, self.num_stages = {"BLOCK": block}, 4, 2


class Kernel:
    """A kernel as Triton has them; it notes how it was launched."""

    def __init__(self) -> None:
        self.launches = []

    def __getitem__(self, grid) -> Callable[..., None]:
        size = grid({}) if callable(grid) else grid
        return lambda *args, **named: self.launches.append((size, args, named))


@pytest.fixture
def kernel(monkeypatch):
    module = ModuleType("probe_kernels")
    module.plain = Kernel()
    module.tuned = SimpleNamespace(fn=SimpleNamespace(configs=[Config(32), Config(64)]))
    monkeypatch.setitem(sys.modules, "probe_kernels", module)
    lanes = ModuleType("dayzero.collector.probe_lanes")
    lanes.make = lambda *_: module.plain[(4, 2)](1, NUM=3) or "made"
    monkeypatch.setitem(sys.modules, "dayzero.collector.probe_lanes", lanes)
    return module


def test_a_candidate_is_forced_on_each_launch(kernel):
    plain = kernel.plain
    options = {"maker": "probe_lanes:make", "kernel": "probe_kernels:plain", "candidate": {"NUM": 8}}
    assert tactics.triton_candidate({}, options, None) == "made"
    assert plain.launches == [((4, 2), (1,), {"NUM": 8})]


def test_half_a_grid_is_launched_where_that_is_planted(kernel):
    plain = kernel.plain
    options = {"maker": "probe_lanes:make", "kernel": "probe_kernels:plain", "plant": "half_grid"}
    tactics.triton_candidate({}, options, None)
    assert plain.launches == [((2, 2), (1,), {"NUM": 3})]


def test_a_tuner_is_left_one_candidate(kernel):
    listed = tactics.candidates("probe_kernels:tuned")
    assert listed == [{"BLOCK": size, "num_warps": 4, "num_stages": 2} for size in (32, 64)]
    options = {"maker": "probe_lanes:make", "kernel": "probe_kernels:tuned", "candidate": listed[1]}
    tuner = kernel.tuned
    tactics.triton_candidate({}, options, None)
    assert [tactics.told(one) for one in tuner.fn.configs] == [listed[1]]
    assert ask({"do": "candidates", "kernel": "probe_kernels:plain"})[0]["candidates"] == []


@pytest.mark.usefixtures("kernel")
def test_what_is_not_there_is_unsupported():
    (told,) = ask({"do": "candidates", "kernel": "probe_kernels:nothing"})
    assert (told["state"], "probe_kernels:nothing is not here" in told["error"]["message"]) == ("unsupported", True)
    assert Path(str(files("dayzero.collector"))).is_dir()
