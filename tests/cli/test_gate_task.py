"""``dayzero gate task`` with a simulated lm-eval and simulated endpoints: what is kept, and what is said."""

import hashlib
import json
import sys
from pathlib import Path

import pytest
from tests.simulators import lm_eval_program
from tests.simulators.contract_server import ContractServer, serving

from dayzero.cli.main import run
from dayzero.evidence.state import Standing
from dayzero.wiring.store import open_repository

pytestmark = pytest.mark.usefixtures("program")


@pytest.fixture
def program(tmp_path, monkeypatch) -> Path:
    file = tmp_path / "env" / "bin" / "lm_eval"
    file.parent.mkdir(parents=True)
    source = Path(lm_eval_program.__file__).read_text(encoding="utf-8")
    file.write_text(f"#!{sys.executable}\n{source}", encoding="utf-8")
    file.chmod(0o755)
    monkeypatch.setenv("DAYZERO_LM_EVAL_ENV", str(tmp_path / "env"))
    return file


def gate(a: str, b: str, folder: Path, *words: str) -> int:
    return run(["gate", "task", a, b, "--tasks", "t", "--route", "completions", "-o", str(folder), *words])


def result(folder: Path) -> dict:
    return json.loads((folder / "task.json").read_text())


def test_every_answer_that_ends_at_its_limit_is_counted_and_keeps_the_gate_from_passing(tmp_path, capsys):
    out = tmp_path / "out"
    with serving(ContractServer()) as a, serving(ContractServer()) as b:
        assert gate(a, b, out, "--margin", "12") == 3
    said = capsys.readouterr().out
    assert said.startswith("undecided: A: the limit of tokens ended 30 of 30 answers")
    assert result(out)["arms"]["A"]["truncated"] == 30


def test_the_same_server_twice_is_the_same_and_every_request_is_kept_with_its_digest(tmp_path, capsys):
    out = tmp_path / "out"
    with serving(ContractServer(fault="finish")) as a, serving(ContractServer(fault="finish")) as b:
        assert gate(a, b, out, "--margin", "12") == 0
    assert capsys.readouterr().out.startswith("same: ")
    written = result(out)
    assert written["arms"]["A"]["rule_sha256"] == written["arms"]["B"]["rule_sha256"] != ""
    files = {entry["file"] for entry in written["raw"]}
    assert {"plan.json", "A/exchanges.jsonl", "B/exchanges.jsonl"} <= files
    lines = (out / "A" / "exchanges.jsonl").read_text().splitlines()
    assert len(lines) == lm_eval_program.ITEMS
    assert json.loads(lines[0])["finish_reasons"] == ["stop"]


def test_an_endpoint_that_refuses_requests_leaves_it_undecided(tmp_path, capsys):
    out = tmp_path / "out"
    with serving(ContractServer(fault="finish")) as a, serving(ContractServer(refuses="stop")) as b:
        assert gate(a, b, out) == 3
    assert "400: " in capsys.readouterr().out
    assert "stop is not supported" in result(out)["reasons"][0]
    assert result(out)["verdict"] == "undecided"


def test_an_endpoint_that_is_not_there_is_a_remote_failure(tmp_path):
    with serving(ContractServer()) as a:
        assert gate(a, "http://127.0.0.1:9", tmp_path / "out") == 3


def test_a_skipped_gate_is_kept_as_skipped_with_its_reason(tmp_path, capsys):
    out = tmp_path / "out"
    assert gate("http://a", "http://b", out, "--skip", "no task fits this model") == 3
    assert result(out)["verdict"] == "skipped"
    assert result(out)["reasons"] == ["no task fits this model"]
    assert capsys.readouterr().out.startswith("skipped: no task fits this model")


def test_every_attempt_is_filed_and_a_repeated_one_has_half_of_the_error_left(tmp_path, capsys):
    filed = ("--package", "demo-smollm2", "--root", str(tmp_path), "--margin", "12")
    with serving(ContractServer(fault="finish")) as a, serving(ContractServer(fault="finish")) as b:
        codes = [gate(a, b, tmp_path / f"out-{number}", *filed) for number in (1, 2)]
    assert codes == [0, 0]
    label = (
        "t, 30 items, 0 right in A alone, 0 in B alone, margin 12 points; attempt 2, at alpha 0.025; before it: same"
    )
    assert f"claimed: demo-smollm2/gate-task: same ({label})" in capsys.readouterr().out
    assert [result(tmp_path / f"out-{number}")["plan"]["alpha"] for number in (1, 2)] == [0.05, 0.025]
    assert result(tmp_path / "out-2")["earlier_attempts"] == ["same"]
    ledger = open_repository(tmp_path).ledger
    assert len(ledger.history("demo-smollm2/gate-task")) == 2
    assert result(tmp_path / "out-2")["filed_as"].endswith("/attempt-02")
    raw = {entry["sha256"] for number in (1, 2) for entry in result(tmp_path / f"out-{number}")["raw"]}
    assert raw - {digest.hex for digest in ledger.raw_files()} == {hashlib.sha256(b"").hexdigest()}  # an empty log
    assert run(["evidence", "check", str(tmp_path)]) == 0


def test_an_attempt_that_was_killed_at_its_first_request_counts(tmp_path, monkeypatch):
    filed = ("--package", "demo-smollm2", "--root", str(tmp_path), "--margin", "12")
    with serving(ContractServer(fault="finish")) as a, serving(ContractServer(fault="finish")) as b:
        with monkeypatch.context() as patched:
            patched.setattr("dayzero.wiring.gate_task.evaluate", _killed)
            with pytest.raises(SystemExit):
                gate(a, b, tmp_path / "killed", *filed)
        gate(a, b, tmp_path / "out", *filed)
    assert result(tmp_path / "out")["earlier_attempts"] == ["did not end"]
    assert result(tmp_path / "out")["plan"]["alpha"] == 0.025


def _killed(*_: object) -> None:
    raise SystemExit


def test_a_gate_that_was_run_is_not_skipped_afterwards(tmp_path, capsys):
    filed = ("--package", "demo-smollm2", "--root", str(tmp_path))
    with serving(ContractServer()) as a, serving(ContractServer()) as b:
        gate(a, b, tmp_path / "out", *filed)
        assert gate(a, b, tmp_path / "skip", "--skip", "it would not pass", *filed) == 2
    assert "error: an attempt of gate-task at this recipe" in capsys.readouterr().err
    state = open_repository(tmp_path).ledger.standing("demo-smollm2/gate-task")
    assert isinstance(state, Standing)
    assert state.claim.value == "undecided"


def test_without_lm_eval_it_says_how_to_install_it(tmp_path, program, capsys):
    program.unlink()
    assert gate("http://127.0.0.1:9", "http://127.0.0.1:9", tmp_path / "out") == 2
    assert "make lm-eval-env" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--filter", "strict"), ("--metric", "bleu")])
def test_a_rule_that_the_task_does_not_have_is_refused(tmp_path, words):
    with serving(ContractServer()) as a:
        assert gate(a, a, tmp_path / "out", *words) == 2


@pytest.mark.parametrize("words", [("--margin", "0"), ("--margin", "100"), ("--alpha", "0.5"), ("--limit", "-1")])
def test_a_plan_that_means_nothing_is_refused(tmp_path, words):
    assert gate("http://a", "http://b", tmp_path / "out", *words) == 2
