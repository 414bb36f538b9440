"""What follows from a search, by what the comparison and the gate say."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.optimize.searching import plan as searched_plan
from tests.optimize.searching import product_of, run, space
from tests.simulators.flag_bench import FlagBench, died

from dayzero.cli.optimize import _CODES
from dayzero.optimize.model import Outcome
from dayzero.optimize.plan import View
from dayzero.wiring import optimize_conclude, optimize_confirm
from dayzero.wiring.optimize_conclude import Conclusion
from dayzero.wiring.optimize_confirm import Confirmation, Gated, gated, parse_flags
from dayzero.wiring.optimize_study import Opened, Question, begin
from dayzero.wiring.window_arms import Waiting

QUIET = Waiting(lambda _seconds, _line: None, lambda _progress: None)
SAME = Gated(verdict="same", because=("same: yes",), same=True, different=False)
OTHER = Gated(verdict="different", because=("different: no",), same=False, different=True)
UNSURE = Gated(verdict="unsound", because=("unsound: who knows",), same=False, different=False)


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """Begin a study of one flag; nothing is started."""
    (tmp_path / "space.toml").write_text('[[setting]]\nflag = "--n-batch"\nvalues = ["64"]\n')
    question = Question(package="demo-kimi-k3-tiny", workload="c4", space=str(tmp_path / "space.toml"))
    return begin(question, tmp_path / "study", lambda _: None)


def view_of(opened: Opened, batch_64: float = 2.0, **bench: object) -> View:
    def speed(given: Mapping[str, str]) -> float:
        return batch_64 if given.get("n-batch") == "64" else 1.0

    asked = searched_plan(opened.study.space)
    return run(asked, FlagBench(speed, **bench))[1]  # type: ignore[arg-type]


def compared(verdict: str):
    document = {
        "verdict": verdict,
        "because": [f"{verdict}, said the windows"],
        "margin": 0.02,
        "pairs": 4,
        "load": {},
        "comparison": {"difference": {"value": 0.9, "low": 0.8, "high": 1.0}},
    }
    return lambda *_: document


@pytest.mark.engine
@pytest.mark.usefixtures("embedded_engine")
@pytest.mark.parametrize(
    ("windows", "gate", "verdict", "code", "winner"),
    [
        ("BETTER", None, "BETTER", 0, True),
        ("BETTER", SAME, "BETTER", 0, True),
        ("BETTER", OTHER, "NOT-THE-SAME", 1, False),
        ("BETTER", UNSURE, "UNDECIDED", 3, False),
        ("WORSE", SAME, "NO-BETTER-FOUND", 0, False),
        ("EQUIVALENT", None, "NO-BETTER-FOUND", 0, False),
        ("INCONCLUSIVE", None, "NO-BETTER-FOUND", 0, False),
        ("INSTRUMENT-BAD", None, "UNDECIDED", 3, False),
        ("DOES-NOT-SERVE", None, "UNDECIDED", 3, False),
    ],
)
def test_windows_and_gate_decide(  # noqa: PLR0913, PLR0917  (each column of the table is an argument)
    opened, monkeypatch, windows, gate, verdict, code, winner
):
    monkeypatch.setattr(optimize_conclude, "compared", compared(windows))
    monkeypatch.setattr(optimize_conclude, "gated", lambda *_: gate)
    how = Confirmation(gate=gate is not None)
    found = Conclusion(opened, view_of(opened), how, lambda _: None, QUIET).found("exhausted")
    assert (found.verdict, _CODES[found.verdict], found.winner is not None) == (verdict, code, winner)
    assert found.because[1] == f"{windows}, said the windows"
    assert found.gate["asked"] is (gate is not None and windows == "BETTER")
    if found.winner:
        assert "64" in (opened.folder.root / found.winner / "package.toml").read_text()


@pytest.mark.engine
@pytest.mark.usefixtures("embedded_engine")
def test_a_package_that_nothing_beats_is_a_result_without_a_comparison(opened):
    found = Conclusion(opened, view_of(opened, 0.5), Confirmation(), lambda _: None, QUIET).found("exhausted")
    assert found.verdict == "NO-BETTER-FOUND"
    assert found.because == ("no combination was better than the package; every combination was started or taken out",)
    assert found.confirmation is None


@pytest.mark.engine
@pytest.mark.usefixtures("embedded_engine")
@pytest.mark.parametrize(
    ("outcome", "verdict", "because"),
    [
        (died("died after 1.0 s"), "DOES-NOT-SERVE", "the package as it is died after 1.0 s"),
        (
            Outcome(kind="invalid", reason="the client lagged", figures={}, missing={}),
            "UNDECIDED",
            "the package as it is was not measured: the client lagged",
        ),
        (
            Outcome(kind="measured", figures={}, missing={"output_tok_s": "no usage"}),
            "UNDECIDED",
            "the package as it is was not measured: no usage",
        ),
    ],
)
def test_a_package_without_figures_of_its_own_says_why(opened, outcome, verdict, because):
    now = view_of(opened, falls=lambda _: outcome)
    found = Conclusion(opened, now, Confirmation(), lambda _: None, QUIET).found("stock")
    assert (found.verdict, found.because) == (verdict, (because,))


def test_flags_of_the_confirmation_are_taken_apart():
    assert parse_flags("--gpu-memory-utilization 0.42 --x 'a b'") == ("--gpu-memory-utilization", "0.42", "--x", "a b")
    assert parse_flags("") == ()
    assert product_of({}) == 2.0
    assert space().flags


@pytest.mark.gates
@pytest.mark.usefixtures("embedded_engine")
def test_the_gate_never_calls_a_winner_that_changes_nothing_another_model(opened, monkeypatch):
    """With so few prompts it may not be able to tell; that is then what it says."""
    monkeypatch.setattr(optimize_confirm, "_PROMPTS", 16)
    monkeypatch.setattr(optimize_confirm, "_POSITIONS", 8)
    point = (("n-batch", "64"),)
    found = gated(opened, point, Confirmation(gate=True), QUIET)
    assert found.different is False
    assert found.verdict in {"same", "inconclusive", "unsound", "undecided"}, found.because
    (attempt,) = (opened.folder.gate / "attempts").glob("*/gate.json")
    assert json.loads(attempt.read_text())["schema"] == "dayzero/gate/v1"
