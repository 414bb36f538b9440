"""A survey in a process of its own: its answer is the work's, and where it gives none the work is done here."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from dayzero.adapters.survey_fork import ForkedSurvey
from dayzero.audit.model import HalfSurvey, KeptSurvey

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="cores are counted as Linux does")


def found() -> HalfSurvey:
    own = KeptSurvey(lacking=("eng.bad",), probing=(), unread=(), found=str(os.getpid()), within={"eng.bad": (3,)})
    return HalfSurvey(found=own, outline=KeptSurvey(lacking=(), probing=("eng.probe",), unread=(), found=""))


def begun(monkeypatch: pytest.MonkeyPatch, work: Callable[[], HalfSurvey], cores: int = 2) -> HalfSurvey | None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    waited = ForkedSurvey().begin(work)
    return waited() if waited is not None else None


def test_the_work_is_done_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = begun(monkeypatch, found)
    assert answer is not None
    assert answer.outline == found().outline
    assert (answer.found.within, answer.found.found == str(os.getpid())) == ({"eng.bad": (3,)}, False)


def test_with_one_core_nothing_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    assert begun(monkeypatch, found, cores=1) is None


@pytest.mark.parametrize("end", [lambda: os._exit(0), lambda: os.kill(os.getpid(), 9), lambda: int("none")])
def test_where_the_process_gives_no_answer_the_work_is_done_here(
    monkeypatch: pytest.MonkeyPatch, end: Callable[[], None]
) -> None:
    parent = os.getpid()

    def work() -> HalfSurvey:
        if os.getpid() != parent:
            end()
        return found()

    assert begun(monkeypatch, work) == found()


@pytest.mark.parametrize(("work", "said"), [(found, True), (lambda: int("none"), False)])
def test_the_other_process_answers_and_ends_without_cleaning_up(
    monkeypatch: pytest.MonkeyPatch, work: Callable[[], HalfSurvey], *, said: bool
) -> None:
    class EndedError(Exception):
        pass

    def end(code: int) -> None:
        assert code == 0
        raise EndedError

    reading, writing = os.pipe()
    monkeypatch.setattr(os, "pipe", lambda: (reading, writing))
    monkeypatch.setattr(os, "fork", lambda: 0)  # as it is in the other process
    monkeypatch.setattr(os, "_exit", end)
    with pytest.raises(EndedError):
        begun(monkeypatch, work)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    assert (answer == msgspec.json.encode(found())) if said else not answer


def test_work_ahead_is_done_when_it_returns_and_leaves_nothing_in_this_process(tmp_path: Path) -> None:
    seen: list[int] = []

    def work() -> None:
        seen.append(1)
        (tmp_path / "kept").write_text(str(os.getpid()))

    ForkedSurvey().ahead(work)
    assert (tmp_path / "kept").read_text() != str(os.getpid())
    assert not seen


def test_work_ahead_that_fails_is_left_for_later(tmp_path: Path) -> None:
    ForkedSurvey().ahead(lambda: int("none"))
    assert not any(tmp_path.iterdir())
