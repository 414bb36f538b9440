"""Which candidates must not be used, and when "none" can be believed."""

import json

import pytest
from tests.perfdb.worker_simulator import simulator

from dayzero.perfdb.tactics import Fate, Tried, fate_of, operators, verdict

BLOCKED = "cpu/numpy/blocked-gemm"


def tried(*fates: Fate, planted=Fate.WRONG):
    real = [
        Tried(candidate={"block": n}, fate=fate, planted=False, line=n, message="") for n, fate in enumerate(fates, 1)
    ]
    return [*real, Tried(candidate={}, fate=planted, planted=True, line=9, message="")]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (tried(Fate.VALID, Fate.VALID), "proven"),
        (tried(Fate.VALID, Fate.VALID, planted=Fate.VALID), "undecided"),
        (tried(Fate.VALID, Fate.VALID)[:2], "undecided"),
        (tried(Fate.VALID, Fate.UNTRIED), "undecided"),
        (tried(Fate.VALID, Fate.WRONG), "refuted"),
        (tried(Fate.VALID, Fate.CRASHED, planted=Fate.VALID), "refuted"),
        (tried(Fate.VALID, Fate.TIMED_OUT), "refuted"),
        (tried(Fate.VALID, Fate.FAILED), "refuted"),
        (tried(Fate.CRASHED, Fate.CRASHED), "undecided"),
        ([], "undecided"),
    ],
)
def test_none_is_believed_only_with_a_control_that_was_caught(found, said):
    assert verdict(found) == said


@pytest.mark.parametrize(
    ("error", "fate"),
    [
        ("WrongResult", Fate.WRONG),
        ("TimedOut", Fate.TIMED_OUT),
        ("Crashed", Fate.CRASHED),
        ("OutOfResources", Fate.FAILED),
    ],
)
def test_each_end_has_its_word(error, fate):
    assert fate_of({"state": "failed", "error": {"class": error}}) is fate
    assert fate_of({"state": "unsupported"}) is Fate.UNTRIED


def test_real_processes_try_each_candidate_and_the_planted_one_is_caught(tmp_path, answer):
    code, told = answer("perfdb", "collect", "--tactics", BLOCKED, "-o", tmp_path / "run", "--jobs", 2)
    assert (code, told["every_candidate_valid"]) == (0, "proven")
    assert [one["fate"] for one in told["candidates"]] == ["valid"] * 3 + ["wrong result"]
    manifest = json.loads((tmp_path / "run" / "blocklist.json").read_text())
    assert manifest["blocked"] == []
    assert manifest["control"][0]["fate"] == "wrong result"
    lines = (tmp_path / "run" / "tactics.jsonl").read_bytes()
    assert answer("perfdb", "collect", "--tactics", BLOCKED, "-o", tmp_path / "run")[0] == 0
    assert (tmp_path / "run" / "tactics.jsonl").read_bytes() == lines


def test_a_candidate_that_dies_is_blocked_and_the_others_are_not(tmp_path, dayzero):
    python = simulator(tmp_path / "sim", {"*": "kill"})
    code, out, _ = dayzero("perfdb", "collect", "--tactics", BLOCKED, "-o", tmp_path / "run", "--python", python)
    assert (code, out.startswith("undecided")) == (3, True)
    assert "crashed" in out
    assert "it was ended by SIGKILL" in out


def test_a_tuner_without_candidates_and_an_unknown_operator_are_refused(tmp_path, dayzero):
    python = simulator(tmp_path / "sim", {"*": {"state": "unsupported", "error": {"message": "no vllm"}}})
    words = ("-o", tmp_path / "run", "--python", python)
    code, _, err = dayzero("perfdb", "collect", "--tactics", "kimi-k3/vllm/kda-chunk-output", *words)
    assert (code, "the candidates cannot be listed" in err) == (2, True)
    code, _, err = dayzero("perfdb", "collect", "--tactics", "nothing", *words)
    assert (code, "no operator is called 'nothing'" in err) == (2, True)
    assert dayzero("perfdb", "collect", "--tactics", BLOCKED)[0] == 2


def test_every_operator_has_a_plant_and_a_source():
    assert all(one.plant and one.source and (one.autotuned or one.grid) for one in operators())
