"""Rows of one's own, beside those of others."""

import json

import pytest
from tests.perfdb.tree_samples import KDA, kda, place, write_tree
from tests.perfdb.worker_simulator import measured, simulator

from dayzero.adapters.collecting.run_folder import RunFolder
from dayzero.core.errors import IntegrityError
from dayzero.perfdb.run import kernels_say, opened, sealed, standing, throttled

K3 = "moonshotai/Kimi-K3"
CONV = "kimi-k3/vllm/kda/context/conv1d"
SHAPE = ("--where", "num_v_heads=12", "--where", "batch_size=1")
CLOCKS = {"looks": 9, "throttle": 0, "sm_mhz_mean": 1755.0, "power_w_mean": 300.0}
FULL = {
    "files": {"checked": 12, "differ": []},
    "check": {"state": "agrees"},
    "kernels": "agree",
    "clocks": CLOCKS,
}


@pytest.fixture
def collected(tmp_path, dayzero):
    """Collect from a simulator, and import."""

    def make(answers, *more: str, name="run", lane=CONV, build=True) -> tuple[int, str, str]:
        python = simulator(tmp_path / f"sim-{name}", answers)
        words = (*SHAPE, *more, "--system", "h200_sxm", "-o", tmp_path / name, "--python", python)
        words += ("--build", f"vllm==0.27.1@sha256:{'1' * 64}") if build else ()
        dayzero("perfdb", "collect", lane, *words)
        return dayzero("perfdb", "import", tmp_path / name, "-o", tmp_path / "db")

    return make


def test_a_row_of_a_run_is_found_by_the_same_question_as_one_of_the_tree(tmp_path, collected, answer):
    code, out, err = collected({"seq_len=128": measured(6.5), "*": measured(3.0)})
    assert code == 0, out + err
    where = ("--table", "kda_perf", "--system", "h200_sxm", "--engine", "vllm", "--label", "0.27.1")
    where += ("--where", "num_v_heads=12", "--where", "batch_size=1", "--where", "seq_len=128")
    code, told = answer("perfdb", "explain", tmp_path / "db", *where)
    assert (code, told["verdict"], told["value_us"], told["channel"]) == (0, "proven", 6.5, "exact")
    (row,) = told["rows"]
    assert row["grade"] == "B"  # no clock was seen on this machine
    assert row["file"] == "data/h200_sxm/kda/vllm/0.27.1/kda_perf.parquet"
    name, _, number = row["line_file"].rpartition(":")
    assert name == f"runs/{row['columns']['run']}/cases.jsonl"
    assert row["line"] == (tmp_path / "run" / "cases.jsonl").read_text().splitlines()[int(number) - 1]
    assert json.loads(row["line"])["latency_us"]["mean"] == 6.5
    assert (row["columns"]["latency"], row["columns"]["raw_line"]) == (0.0065, int(number))


def test_a_build_is_named_by_its_wheel_else_by_what_the_wheel_recorded(tmp_path, collected, answer):
    collected({"*": measured()})
    collected({"*": measured()}, name="other", build=False)
    named = [
        answer("perfdb", "import", tmp_path / name, "-o", tmp_path / "db")[1]["builds"] for name in ("run", "other")
    ]
    assert [builds[0]["identity"] for builds in named] == [f"wheel sha256:{'1' * 64}", f"record sha256:{'ab' * 32}"]


def test_failed_cases_are_on_record_and_control_lanes_are_not_rows(tmp_path, collected, answer):
    wrong = {**measured(0.5), "state": "failed", "error": {"class": "WrongResult", "message": "differs"}}
    code, out, _ = collected({"seq_len=1": wrong, "seq_len=2": "kill", "*": measured()}, lane="kimi-k3/vllm/kda")
    assert code == 0
    assert " failed cases on record" in out
    code, told = answer("perfdb", "import", tmp_path / "run", "-o", tmp_path / "db")
    assert (code, told["new"]) == (0, False)
    assert set(told["failures"]) == {"WrongResult", "Crashed"}
    lines = RunFolder(tmp_path / "run").lines("cases.jsonl")
    assert any(line["lane"].startswith("kimi-k3/vllm/kda/control/") for line in lines)
    counted = [line for line in lines if line["state"] == "measured" and "/control/" not in line["lane"]]
    assert told["tables"] == {"kda_perf": len(counted)}


def test_a_run_is_compared_with_the_tree_key_by_key(tmp_path, answer, dayzero):
    lengths = [2**n for n in range(16)]
    others = ("causal_conv1d_fn_qkv3", "flashkda_fwd")  # theirs has two kernels of one shape, ours one of them
    tree = write_tree(
        tmp_path / "tree",
        {
            place(KDA): [
                kda(0.8, n, num_v_heads=h, num_k_heads=h, model_name=K3, kernel_source=k)
                for n in lengths
                for h in (12, 24)
                for k in others
            ]
        },
    )
    code, theirs = answer("perfdb", "import", tree, "-o", tmp_path / "db")
    python = simulator(tmp_path / "sim", {"*": measured(4.0)})
    words = (CONV, "--where", "batch_size=1", "--system", "h200_sxm", "-o", tmp_path / "run", "--python", python)
    assert dayzero("perfdb", "collect", *words)[0] == 0
    code, ours = answer("perfdb", "import", tmp_path / "run", "-o", tmp_path / "db")
    sides = ("--import-id", theirs["import"], "--other-import", ours["import"])
    labels = ("--label", "vllm/0.24.0", "--other", "vllm/0.27.1")
    code, told = answer("perfdb", "diff", tmp_path / "db", tmp_path / "db", *sides, *labels)
    (found,) = told["differences"]
    assert (code, found["shapes"], found["change"]) == (1, 32, "faster")
    assert found["p50"] == pytest.approx(0.005)


def test_a_retraction_of_the_tree_can_name_a_line_of_a_run(tmp_path, collected, answer):
    tree = write_tree(tmp_path / "tree", {place(KDA): [kda(0.8)]})
    collected({"*": measured()})
    run = json.loads((tmp_path / "run" / "run.json").read_text())["run"]
    _, theirs = answer("perfdb", "import", tree, "-o", tmp_path / "db")
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "ledger.jsonl").touch()
    said = ("--cause", "instrument_artifact", "--why", "a wait in it", "--import", theirs["import"])
    words = ("floor", tmp_path / "db", tmp_path, "--table", "kda_perf", "--where", "phase=context", *said)
    code, told = answer("perfdb", "retract", *words, "--line", f"runs/{run}/cases.jsonl:3")
    assert code == 0
    assert told["record"]["evidence"][0]["file"] == f"runs/{run}/cases.jsonl"
    assert told["record"]["evidence"][0]["line"] == 3


def test_shards_of_a_run_are_imported_together(tmp_path, dayzero, answer):
    python = simulator(tmp_path / "sim", {"*": measured()})
    for number in (1, 2):
        folder = tmp_path / "run" / f"shard-{number}-of-2"
        words = (*SHAPE, "--system", "h200_sxm", "-o", folder, "--python", python, "--shard", f"{number}/2")
        assert dayzero("perfdb", "collect", CONV, *words)[0] == 0
    code, told = answer("perfdb", "import", tmp_path / "run", "-o", tmp_path / "db")
    assert (code, told["tables"]) == (0, {"kda_perf": 16})


def test_a_changed_line_and_a_lost_trace_are_no_run(tmp_path, collected, dayzero):
    collected({"*": measured()})
    path = tmp_path / "run" / "cases.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"mean":5.0', b'"mean":4.0', 1))
    code, _, err = dayzero("perfdb", "import", tmp_path / "run", "-o", tmp_path / "db2")
    assert (code, "cases.jsonl:1 is not the line that was written" in err) == (4, True)
    path.write_bytes(whole)
    (tmp_path / "run" / "kernels.jsonl").unlink()
    code, _, err = dayzero("perfdb", "import", tmp_path / "run", "-o", tmp_path / "db2")
    assert (code, "lacks the kernels" in err) == (4, True)


def test_a_run_in_which_nothing_was_measured_is_no_import(collected):
    code, _, err = collected({"*": "exit"})
    assert (code, "nothing was measured" in err) == (2, True)


@pytest.mark.parametrize(
    ("line", "build", "grade", "because"),
    [
        ({}, "wheel sha256:1", "A", ()),
        ({}, "", "C", ("no digest names the build",)),
        ({"kernels": "differ"}, "wheel sha256:1", "D", ("the kernels are not those of the label",)),
        (
            {"files": {"checked": 2, "differ": ["a.so", "b.so"]}},
            "wheel sha256:1",
            "D",
            ("a.so is not as the wheel recorded it, and 1 more",),
        ),
        ({"kernels": "unseen"}, "wheel sha256:1", "B", ("the kernels were not seen",)),
        ({"check": {"state": "unchecked"}}, "wheel sha256:1", "B", ("the result was not checked",)),
        ({"files": {}}, "wheel sha256:1", "B", ("no loaded file was compared with the wheel's record",)),
        ({"clocks": {"looks": 0}}, "wheel sha256:1", "B", ("no clock was seen while it ran",)),
        ({"clocks": {**CLOCKS, "throttle": 0x20}}, "wheel sha256:1", "B", ("the GPU held its clocks back: 0x20",)),
        (
            {"busy_us": 43.5, "latency_us": {"p50": 1023.0}},
            "wheel sha256:1",
            "B",
            ("the GPU waited for the host: its kernels took 43.5 of 1023 us",),
        ),
        ({"busy_us": 7073.0, "latency_us": {"p50": 7122.0}}, "wheel sha256:1", "A", ()),
        ({"busy_us": 1.5, "latency_us": {"p50": 4.0}, "used_cuda_graph": True}, "wheel sha256:1", "A", ()),
    ],
)
def test_a_grade_says_what_keeps_it_from_being_better(line, build, grade, because):
    found = standing({**FULL, **line}, {"driver": "580"}, build=build)
    assert (found.grade, found.because) == (grade, because)


def test_without_a_driver_there_is_no_best_grade():
    assert standing(FULL, {}, build="wheel sha256:1").because == ("the driver is not known",)


@pytest.mark.parametrize(
    ("reasons", "expected"), [(0, False), (0x1, False), (0x2, False), (0x4, True), (0x8, True), (0x21, True)]
)
def test_idle_and_chosen_clocks_are_not_held_back(reasons, expected):
    assert throttled({"throttle": reasons}, 0) == expected
    assert throttled({"throttle": reasons, **STEADY, "sm_mhz_min": 1965}, 1980) == expected


STEADY = {"sm_mhz_before": 1980, "sm_mhz_min": 1980, "sm_mhz_after": 1980}


@pytest.mark.parametrize(
    ("seen", "highest", "expected"),
    [
        ({}, 1980, False),
        ({"throttle": 0x4 | 0x1}, 1980, False),
        ({"sm_mhz_min": 1965}, 1980, True),
        ({"sm_mhz_before": 1965}, 1980, True),
        ({"sm_mhz_after": 1965}, 1980, True),
        ({"throttle": 0x4 | 0x20}, 1980, True),
        ({"throttle": 0x80}, 1980, True),
        ({}, 0, True),
        ({}, 1981, True),
    ],
)
def test_a_power_limit_that_is_reached_holds_nothing_back_while_the_clocks_stay_at_their_highest(
    seen, highest, expected
):
    assert throttled({"throttle": 0x4, **STEADY, **seen}, highest) == expected


def test_how_far_the_clocks_fell_is_told():
    line = {**FULL, "clocks": {**CLOCKS, **STEADY, "throttle": 0x4, "sm_mhz_min": 1965}}
    worker = {"driver": "580", "sm_max_mhz": 1980}
    found = standing(line, worker, build="wheel sha256:1")
    assert (found.grade, found.because) == ("B", ("the GPU held its clocks back, to 1965 MHz: 0x4",))
    assert standing({**line, "clocks": {**line["clocks"], **STEADY}}, worker, build="wheel sha256:1").grade == "A"


def test_each_expression_of_a_label_needs_a_kernel():
    seen = [["void gemm_a", 1], ["memset", 2]]
    assert [kernels_say(patterns, seen) for patterns in (("gemm",), ("gemm", "situ"), ())] == [
        "agree",
        "differ",
        "unseen",
    ]
    assert kernels_say(("gemm",), None) == "unseen"


def test_a_chain_shows_a_line_that_was_changed_lost_or_moved():
    first = sealed({"case": "a", "text": 'a "quoted" ä'}, "0" * 64)
    second = sealed({"case": "b"}, json.loads(first)["sha256"])
    assert [line["case"] for line in opened((first, second), "x")] == ["a", "b"]
    for wrong in ((second,), (second, first), (first.replace(b"a", b"c", 1), second), (first, second[:-3] + b"\n")):
        with pytest.raises(IntegrityError):
            opened(wrong, "x")
