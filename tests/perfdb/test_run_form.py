"""A run comes in only as a run says it: no name in it leads elsewhere, and no two builds or runs become one."""

import json
import multiprocessing
import shutil
from pathlib import Path

import pytest
from tests.perfdb.worker_simulator import measured, simulator

from dayzero.adapters.collecting.run_folder import RunFolder
from dayzero.core.errors import InputError
from dayzero.perfdb.run import FIRST, sealed

CONV = "kimi-k3/vllm/kda/context/conv1d"
SHAPE = ("--where", "num_v_heads=12", "--where", "batch_size=1", "--where", "seq_len<=8")


@pytest.fixture
def collect(tmp_path, dayzero):
    """Collect four shapes from a simulator into a folder."""

    def make(name="run", *more: str, answers=None) -> Path:
        python = simulator(tmp_path / "sim", answers or {"*": measured()})
        words = (*SHAPE, "--system", "h200_sxm", "-o", tmp_path / name, "--python", python, *more)
        code, out, err = dayzero("perfdb", "collect", CONV, *words)
        assert code == 0, out + err
        return tmp_path / name

    return make


def reseal(folder: Path, change, name="cases.jsonl") -> None:
    """Change lines and chain them anew, as a forger would."""
    prev, lines = FIRST, []
    for told in map(json.loads, (folder / name).read_bytes().splitlines()):
        body = {key: value for key, value in told.items() if key not in {"prev", "sha256"}}
        change(body)
        line = sealed(body, prev)
        prev = json.loads(line)["sha256"]
        lines.append(line)
    (folder / name).write_bytes(b"".join(lines))


def retold(folder: Path, **members: object) -> None:
    file = folder / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **members}))


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (lambda line: line.pop("table"), 2, "cases.jsonl:1: Object missing required field `table`"),
        (lambda line: line.pop("latency_us"), 2, "cases.jsonl:1: Object missing required field `latency_us`"),
        (lambda line: line["latency_us"].pop("p90"), 2, "missing required field `p90`"),
        (lambda line: line.update(latency_us=5.0), 2, "Expected `object`, got `float`"),
        (lambda line: line.update(state="fine"), 2, "Invalid value 'fine'"),
        (lambda line: line.update(version="../../../.."), 2, "matching regex"),
        (lambda line: line.update(engine="a/b"), 2, "matching regex"),
        (lambda line: line.update(table="../kda_perf"), 2, "matching regex"),
        (lambda line: line["columns"].update(seq_len=2**63), 2, "cases.jsonl:1"),
        (lambda line: line["columns"].update(seq_len=1.5), 2, "cases.jsonl:1"),
        (lambda line: line["columns"].update({'a" BIGINT); --': 1}), 2, "cases.jsonl:1"),
        (lambda line: line["latency_us"].update(mean=float("nan")), 2, "latency is negative or not a number"),
        (lambda line: line["latency_us"].update(mean=-1.0), 2, "latency is negative or not a number"),
        (lambda line: line.update(worker=9), 4, "names process 9, and workers.jsonl has 1"),
        (lambda line: line.update(worker=0), 2, "cases.jsonl:1"),
    ],
)
def test_a_line_that_says_less_or_something_else_is_refused(collect, dayzero, change, code, message):
    run = collect()
    tmp_path = run.parent
    reseal(run, change)
    got, out, err = dayzero("perfdb", "import", run, "-o", tmp_path / "db")
    assert (got, out) == (code, ""), err
    assert message in err
    assert "Traceback" not in err
    assert list((tmp_path / "db").glob("imports/*")) == list((tmp_path / "db").glob("scratch/*")) == []


@pytest.mark.parametrize(
    "told",
    [
        {"run": "../../../../elsewhere"},
        {"run": "r-0123456789abcdef\n"},
        {"system": "../.."},
        {"schema": "dayzero/perfdb-run/v2"},
        {"collector": None},
        {"collector": {"lanes_sha256": "x"}},
        {"shard": "0/0"},
        {"lanes": "all"},
    ],
)
def test_a_run_whose_names_lead_elsewhere_is_refused(tmp_path, collect, dayzero, told):
    run = collect()
    retold(run, **told)
    code, _, err = dayzero("perfdb", "import", run, "-o", tmp_path / "db")
    assert (code, "run.json: " in err) == (2, True)
    assert not (tmp_path.parent / "elsewhere").exists()


def test_a_run_that_is_none_is_refused(tmp_path, collect, dayzero):
    run = collect()
    (run / "run.json").write_text("[1]")
    code, _, err = dayzero("perfdb", "import", run, "-o", tmp_path / "db")
    assert (code, "holds no run" in err) == (2, True)


def test_a_lost_list_of_processes_is_said(tmp_path, collect, dayzero):
    run = collect()
    (run / "workers.jsonl").unlink()
    code, _, err = dayzero("perfdb", "import", run, "-o", tmp_path / "db")
    assert (code, "names process 1, and workers.jsonl has 0" in err) == (4, True)


def test_a_line_that_was_cut_off_says_so_and_what_takes_it_off(tmp_path, collect, dayzero):
    run = collect()
    file = run / "cases.jsonl"
    file.write_bytes(file.read_bytes()[:-40])
    code, _, err = dayzero("perfdb", "import", run, "-o", tmp_path / "db")
    assert (code, "cases.jsonl:4 was cut off while it was written" in err) == (4, True)
    assert "takes it off" in err
    assert dayzero("perfdb", "import", collect(), "-o", tmp_path / "db")[0] == 0


def test_lines_that_are_lost_from_the_end_are_counted(tmp_path, collect, dayzero):
    run = collect()
    file = run / "cases.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:3]))
    code, _, err = dayzero("perfdb", "import", run, "-o", tmp_path / "db")
    assert (code, "1 cases have no line; they were not run, or lines are lost" in err) == (0, True)


@pytest.mark.parametrize(
    "change", [lambda b: b[:-9], lambda b: b[b.index(b"\n") + 1 :], lambda _: b"", lambda b: b + b"[]\n"]
)
def test_a_plan_that_is_not_the_one_that_was_asked_is_no_plan(tmp_path, collect, dayzero, change):
    run = collect()
    file = run / "plan.jsonl"
    file.write_bytes(change(file.read_bytes()))
    code, _, err = dayzero("perfdb", "import", run, "-o", tmp_path / "db")
    assert (code, "plan.jsonl is not what was" in err) == (4, True)


def test_lines_that_are_there_twice_are_no_chain(tmp_path, collect, dayzero):
    run = collect()
    file = run / "cases.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join((*lines[:2], *lines[1:])))
    code, _, err = dayzero("perfdb", "import", run, "-o", tmp_path / "db")
    assert (code, "cases.jsonl:3 is not the line that was written" in err) == (4, True)


def test_two_builds_of_one_version_do_not_become_one(tmp_path, collect, dayzero):
    other = measured(
        files={"package": "vllm", "version": "0.27.1", "record_sha256": "cd" * 32, "checked": 1, "differ": []}
    )
    run = collect(answers={"seq_len=2": other, "*": measured()})
    code, _, err = dayzero("perfdb", "import", run, "-o", tmp_path / "db")
    assert (code, "two builds call themselves vllm 0.27.1: record sha256:abab" in err) == (2, True)


def test_shards_of_different_runs_do_not_become_one(tmp_path, collect, dayzero):
    build = f"vllm==0.27.1@sha256:{'1' * 64}"
    collect("run/shard-1-of-2", "--shard", "1/2")
    collect("run/shard-2-of-2", "--shard", "2/2", "--build", build)
    code, _, err = dayzero("perfdb", "import", tmp_path / "run", "-o", tmp_path / "db")
    assert (code, "shard-2-of-2 has another build than shard-1-of-2" in err) == (2, True)
    shutil.rmtree(tmp_path / "run" / "shard-2-of-2")
    collect("run/shard-2-of-2", "--shard", "2/2")
    retold(tmp_path / "run" / "shard-2-of-2", system="b300_sxm")
    code, _, err = dayzero("perfdb", "import", tmp_path / "run", "-o", tmp_path / "db")
    assert (code, "shard-2-of-2 has another system than shard-1-of-2" in err) == (2, True)


def test_a_shard_that_is_there_twice_is_refused(tmp_path, collect, dayzero):
    collect("run/shard-1-of-2", "--shard", "1/2")
    shutil.copytree(tmp_path / "run" / "shard-1-of-2", tmp_path / "run" / "shard-2-of-2")
    code, _, err = dayzero("perfdb", "import", tmp_path / "run", "-o", tmp_path / "db")
    assert (code, "shard-2-of-2 holds what shard-1-of-2 holds" in err) == (2, True)


def test_a_pin_is_for_wheels(tmp_path, collect, dayzero):
    code, _, err = dayzero("perfdb", "import", collect(), "-o", tmp_path / "db", "--sha256", "0" * 64)
    assert (code, "a run has no digest to compare" in err) == (2, True)


def _hold(folder: Path, ready, done) -> None:
    with RunFolder(folder).held():
        ready.set()
        done.wait(30)


def test_two_processes_do_not_measure_into_one_run(tmp_path, dayzero):
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(tmp_path / "run", ready, done))
    other.start()
    try:
        assert ready.wait(30)
        python = simulator(tmp_path / "sim", {"*": measured()})
        words = (*SHAPE, "--system", "h200_sxm", "-o", tmp_path / "run", "--python", python)
        code, _, err = dayzero("perfdb", "collect", CONV, *words)
        assert (code, "another process measures into" in err) == (2, True)
    finally:
        done.set()
        other.join(30)
    assert dayzero("perfdb", "collect", CONV, *words)[0] == 0


@pytest.mark.parametrize("where", ["seq_len<abc", "seq_len=abc", "phase<context", "phase>=a"])
def test_a_condition_that_compares_unlike_things_is_refused(tmp_path, dayzero, where):
    python = simulator(tmp_path / "sim", {"*": measured()})
    words = ("--where", where, "--system", "h200_sxm", "-o", tmp_path / "run", "--python", python)
    code, _, err = dayzero("perfdb", "collect", CONV, *words)
    assert (code, "hint: " in err, "Traceback" in err) == (2, True, False)


@pytest.mark.parametrize(
    "words", [("--samples", 0), ("--case-seconds", 0), ("--ranks", -1), ("--jobs", 0), ("--seconds", -1)]
)
def test_a_count_that_is_none_is_refused(tmp_path, dayzero, words):
    code, _, err = dayzero("perfdb", "collect", CONV, "--system", "h200_sxm", "-o", tmp_path / "run", *words)
    assert (code, "Traceback" in err) == (2, False)
    assert not (tmp_path / "run").exists()


def test_a_held_run_is_free_after_an_error(tmp_path):
    run = RunFolder(tmp_path)
    with pytest.raises(InputError, match="x"), run.held():
        raise InputError("x", hint="y")
    with run.held():
        pass
