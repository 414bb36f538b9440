import sys
from pathlib import Path

import pytest
from verifier.tests.kits import make

from dayzero_verify import rechecks
from dayzero_verify.kit import Content
from dayzero_verify.report import ExitCode, Outcome, Row, Status, extended

ANSWERS = """
from dayzero_verify.report import ExitCode, Outcome, Row, Status

def deploy_files(content):
    return Outcome(Row("deploy_files", Status.FAIL, f"{content.statement.name} drifted"), ExitCode.DEPLOY_DRIFT)

def claims(content):
    return Outcome(Row("claims", Status.PASS, "the same"), ExitCode.VERIFIED)

def another(content):
    return claims(content)

def nothing(content):
    return None
"""


def content() -> Content:
    found = make().examine().content
    assert found is not None
    return found


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave nothing installed but what is put into a folder."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(sys, "modules", {name: module for name, module in sys.modules.items() if name != "answers"})
    (tmp_path / "answers.py").write_text(ANSWERS)
    return tmp_path


def install(place: Path, name: str, **points: str) -> None:
    folder = place / f"{name}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = "".join(f"{check} = {value}\n" for check, value in points.items())
    (folder / "entry_points.txt").write_text(f"[dayzero_verify.rechecks]\n{lines}")


def said() -> dict[str, tuple[Status, str]]:
    return {outcome.row.check: (outcome.row.status, outcome.row.reason) for outcome in rechecks.outcomes(content())}


@pytest.mark.usefixtures("place")
def test_without_dayzero_neither_check_is_made_and_both_say_who_makes_them():
    reason = "dayzero makes this check where it is installed beside this program, and it is not"
    unmade = (Status.NOT_CHECKED, reason)
    assert said() == {"deploy_files": unmade, "claims": unmade}


def test_what_is_installed_is_asked_and_its_failure_decides(place: Path):
    install(place, "dayzero", deploy_files="answers:deploy_files", claims="answers:claims")
    assert said() == {"deploy_files": (Status.FAIL, "a 1.0.0 drifted"), "claims": (Status.PASS, "the same")}
    report = extended(make().examine().report, rechecks.outcomes(content()))
    assert report.exit_code is ExitCode.DEPLOY_DRIFT


def test_a_check_of_a_name_that_is_not_known_is_not_asked(place: Path):
    install(place, "stranger", signature="answers:claims")
    assert {status for status, _ in said().values()} == {Status.NOT_CHECKED}


def test_what_cannot_be_loaded_is_not_a_pass(place: Path):
    install(place, "broken", deploy_files="no_such_module:x", claims="answers:no_such_name")
    found = said()
    assert {status for status, _ in found.values()} == {Status.NOT_CHECKED}
    assert all("cannot be loaded" in reason for _, reason in found.values())


def test_two_programs_for_one_check_are_not_chosen_from(place: Path):
    install(place, "one", claims="answers:claims")
    install(place, "two", claims="answers:another")
    status, reason = said()["claims"]
    assert (status, "more than one program" in reason) == (Status.NOT_CHECKED, True)


@pytest.mark.parametrize("answer", ["answers:claims", "answers:nothing"])
def test_an_answer_to_another_question_is_no_answer(place: Path, answer: str):
    install(place, "wrong", deploy_files=answer)
    with pytest.raises(rechecks.RecheckError, match="does not answer for the check deploy_files"):
        rechecks.outcomes(content())


def test_an_outcome_of_a_check_that_was_not_made_never_counts():
    report = make().examine().report
    unmade = Outcome(Row("claims", Status.NOT_CHECKED, "x"), ExitCode.CLAIM)
    assert extended(report, (unmade,)).exit_code is ExitCode.VERIFIED
