"""Validators of other people, run where they are installed."""

import sys
from pathlib import Path

import pytest

from dayzero.adapters.validator import ask_validator
from dayzero.core.verdict import Proven, Refuted, Undecided

_SAY = "import sys; print(sys.argv[2]); sys.exit(int(sys.argv[1]))"


def _saying(code: int, text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", _SAY, str(code), text)


def test_one_that_is_not_installed_leaves_it_undecided(tmp_path: Path) -> None:
    verdict = ask_validator(("no-such-validator",), tmp_path / "file")
    assert verdict == Undecided("no-such-validator is not installed")


def test_one_that_cannot_be_started_leaves_it_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken-validator"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    verdict = ask_validator(("broken-validator",), tmp_path / "file")
    assert isinstance(verdict, Undecided)
    assert "could not be started" in verdict.reason


def test_exit_code_0_proves_it(tmp_path: Path) -> None:
    assert isinstance(ask_validator(_saying(0, "fine"), tmp_path / "file"), Proven)


def test_any_other_exit_code_refutes_it_with_the_first_line_that_was_said(tmp_path: Path) -> None:
    verdict = ask_validator(_saying(1, "\nline 3: no such key\nmore"), tmp_path / "file")
    assert isinstance(verdict, Refuted)
    assert verdict.reason.endswith(" refuses it: line 3: no such key")
    assert verdict.places[0].quote == "line 3: no such key"


def test_a_failure_without_a_word_is_still_one(tmp_path: Path) -> None:
    verdict = ask_validator(_saying(7, ""), tmp_path / "file", beside_the_point=".*")
    assert isinstance(verdict, Refuted)
    assert "exit code 7" in verdict.reason


@pytest.mark.parametrize(
    ("said", "kind"), [("noise 1\nnoise 2", Proven), ("noise 1\nline 3", Refuted), ("line 3\nnoise 1", Refuted)]
)
def test_a_failure_that_says_only_what_is_beside_the_point_is_none(tmp_path: Path, said: str, kind: type) -> None:
    assert isinstance(ask_validator(_saying(1, said), tmp_path / "file", beside_the_point=r"noise \d"), kind)


def test_the_file_is_given_by_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = (sys.executable, "-c", "import sys, pathlib; sys.exit(not pathlib.Path(sys.argv[1]).is_absolute())")
    assert isinstance(ask_validator(words, Path("file")), Proven)
