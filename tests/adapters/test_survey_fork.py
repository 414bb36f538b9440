"""A survey in a process of its own: its answer is the work's, and where it gives none the work is done here."""

import os
import sys
from collections.abc import Callable

import msgspec
import pytest

from dayzero.adapters.survey_fork import ForkedSurvey
from dayzero.audit.model import KeptSurvey

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="cores are counted as Linux does")


def found() -> KeptSurvey:
    return KeptSurvey(lacking=("eng.bad",), probing=("eng.probe",), unread=(), found=str(os.getpid()))


def begun(monkeypatch: pytest.MonkeyPatch, work: Callable[[], KeptSurvey], cores: int = 2) -> KeptSurvey | None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    waited = ForkedSurvey().begin(work)
    return waited() if waited is not None else None


def test_the_work_is_done_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = begun(monkeypatch, found)
    assert answer is not None
    assert (answer.lacking, answer.probing, answer.found == str(os.getpid())) == (("eng.bad",), ("eng.probe",), False)


def test_with_one_core_nothing_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    assert begun(monkeypatch, found, cores=1) is None


@pytest.mark.parametrize("end", [lambda: os._exit(0), lambda: os.kill(os.getpid(), 9), lambda: int("none")])
def test_where_the_process_gives_no_answer_the_work_is_done_here(
    monkeypatch: pytest.MonkeyPatch, end: Callable[[], None]
) -> None:
    parent = os.getpid()

    def work() -> KeptSurvey:
        if os.getpid() != parent:
            end()
        return found()

    assert begun(monkeypatch, work) == found()


@pytest.mark.parametrize(("work", "said"), [(found, True), (lambda: int("none"), False)])
def test_the_other_process_answers_and_ends_without_cleaning_up(
    monkeypatch: pytest.MonkeyPatch, work: Callable[[], KeptSurvey], *, said: bool
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
