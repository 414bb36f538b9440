"""Shards as jobs of a real Slurm on this machine."""

import os

import pytest
from tests.targets.slurm_cluster import started

from dayzero.adapters.collecting.run_folder import RunFolder

LANE = ("cpu/numpy", "--where", "m=1", "--system", "a_cpu")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    pytest.importorskip("submitit", reason="submitit is not installed: pip install dayzero[slurm]")
    with started(tmp_path_factory.mktemp("slurm")) as found:
        yield found


@pytest.fixture
def on_slurm(cluster, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", str(cluster.folder / "slurm.conf"))
    monkeypatch.setenv("PATH", os.pathsep.join((os.environ["PATH"], "/usr/local/sbin", "/usr/sbin", "/usr/bin")))


@pytest.mark.usefixtures("on_slurm")
def test_each_shard_is_a_job_and_what_is_finished_is_not_submitted_again(tmp_path, answer):
    words = (*LANE, "-o", tmp_path / "run", "--slurm", "partition=main,time=5", "--workers", 2)
    code, told = answer("perfdb", "collect", *words)
    (lane,) = told["lanes"]
    assert (code, lane["states"], lane["to_do"]) == (0, {"measured": 4}, 0)
    cases = [
        line["case"] for n in (1, 2) for line in RunFolder(tmp_path / "run" / f"shard-{n}-of-2").lines("cases.jsonl")
    ]
    assert len(set(cases)) == 4
    jobs = sorted((tmp_path / "run" / "slurm").iterdir())
    scripts = [file.read_text() for file in jobs if file.name.endswith("_submission.sh")]
    assert [("--time=5\n" in script, "--partition=main\n" in script) for script in scripts] == [(True, True)] * 2
    assert answer("perfdb", "collect", *words)[0] == 0
    assert sorted((tmp_path / "run" / "slurm").iterdir()) == jobs
    code, told = answer("perfdb", "import", tmp_path / "run", "-o", tmp_path / "db")
    assert (code, told["tables"]) == (0, {"gemm_perf": 4})


@pytest.mark.usefixtures("on_slurm")
def test_options_that_slurm_does_not_take_are_said(tmp_path, dayzero):
    words = (*LANE, "-o", tmp_path / "run", "--slurm", "partition=nowhere", "--workers", 1)
    code, _, err = dayzero("perfdb", "collect", *words)
    assert (code, "Slurm takes no jobs" in err) == (3, True)


@pytest.mark.usefixtures("on_slurm")
def test_a_shard_that_does_not_begin_leaves_no_run(tmp_path, dayzero):
    words = (*LANE, "-o", tmp_path / "run", "--slurm", "partition=main", "--workers", 1, "--python", "/nowhere/python")
    code, _, err = dayzero("perfdb", "collect", *words)
    assert (code, "no shard was begun" in err) == (3, True)
