"""Pipes that are followed, and the numbers that go to fit."""

import os
import threading
from collections.abc import Iterator, Sequence

import pytest
from tests.triage.samples import LOG, root_found

from dayzero.core.verdict import Proven, Refuted
from dayzero.triage.model import CauseNotInLog, Diagnosis, Link, Role, RootFound, Started, UnknownWall
from dayzero.wiring import triage

FALL = b"(APIServer pid=400) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"
CAUSE = b"(EngineCore pid=412) ERROR 11-29 14:30:44 [core.py:708] ValueError: odd news\n"
SERVES = b"(APIServer pid=400) INFO:     Application startup complete.\n"


@pytest.mark.parametrize(
    ("numbers", "kind", "words"),
    [
        ((("tried", "51.14", "GiB"), ("free", "38.29", "GiB")), Refuted, "12.85 GiB short"),
        ((("free", "38.29", "GiB"), ("tried", "256.00", "MiB")), Proven, "needs 256.00 MiB of 38.29 GiB available"),
        ((("needed", "2", "GiB"), ("available", "1024", "MiB")), Refuted, "needs 2.00 GiB"),
        ((("tried", "9", "GiB"), ("needed", "2", "GiB"), ("available", "1", "GiB")), Refuted, "needs 2.00 GiB"),
        ((("weights", "2", "GB"), ("budget", "1", "GiB")), Refuted, "short"),
    ],
)
def test_sizes_that_a_log_names_are_put_into_a_budget(numbers, kind, words):
    report = triage.memory_budget(root_found(numbers=numbers))
    assert report is not None
    assert isinstance(report.verdict, kind)
    assert words in report.verdict.reason
    assert report.terms[0].source == "line 3 of the log"


@pytest.mark.parametrize(
    "diagnosis",
    [
        root_found(),
        root_found(numbers=(("tried", "51.14", "GiB"),)),
        root_found(numbers=(("free", "51.14", "GiB"),)),
        root_found(numbers=(("needed", "2", "tokens"), ("available", "1", "tokens"))),
        root_found(numbers=(("needed", "many", "GiB"), ("available", "1", "GiB"))),
        root_found(numbers=(("needed", "1.2.3", "GiB"), ("available", "1", "GiB"))),
        root_found(numbers=(("symbol", "2", "GiB"), ("keyword", "1", "GiB"))),
        CauseNotInLog(last=None, chain=(), reason="Killed.", collect=(), wall=UnknownWall(), log=LOG),
    ],
)
def test_a_log_that_does_not_name_both_sizes_gives_no_budget(diagnosis):
    assert triage.memory_budget(diagnosis) is None


@pytest.mark.parametrize(
    ("later", "serves"), [(None, True), (Link(role=Role.ENGINE_CORE, line=12, text="died"), False)]
)
def test_an_engine_that_fell_after_its_start_does_not_serve(later, serves):
    started = Started(marker=Link(role=Role.SERVER, line=9, text="listening"), later=later, log=LOG)
    assert triage.serves(started) is serves
    assert not triage.serves(root_found())


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


def followed(pipe: tuple[int, int], pieces: Sequence[bytes], *, close: bool) -> tuple[Diagnosis, list[str]]:
    """Write pieces while the pipe is read; what was told is given back with the answer."""
    reading, writing = pipe
    news: list[str] = []

    def write() -> None:
        for piece in pieces:
            os.write(writing, piece)
        if close:
            os.close(writing)

    writer = threading.Thread(target=write)
    writer.start()
    diagnosis = triage.follow(reading, news.append)
    writer.join()
    if not close:
        os.close(writing)
    return diagnosis, news


def test_a_pipe_is_answered_after_the_sign_of_a_death_while_it_is_still_open(pipe):
    diagnosis, news = followed(pipe, [CAUSE, FALL], close=False)
    assert isinstance(diagnosis, RootFound)
    assert diagnosis.root.line == 1
    assert news == ["it fell; reading what still comes"]


def test_what_comes_after_the_sign_of_a_death_still_counts(pipe):
    diagnosis, _ = followed(pipe, [FALL, CAUSE], close=False)
    assert isinstance(diagnosis, RootFound)
    assert diagnosis.root.line == 2


@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_pipe_cut_anywhere_gives_the_answer_of_the_whole(pipe, size):
    whole = CAUSE + FALL
    diagnosis, _ = followed(pipe, [whole[at : at + size] for at in range(0, len(whole), size)], close=True)
    assert diagnosis == triage.diagnose(whole)


def test_a_pipe_that_ends_is_answered_and_news_is_told_once(pipe):
    diagnosis, news = followed(pipe, [SERVES, SERVES], close=True)
    assert isinstance(diagnosis, Started)
    assert news == ["it serves"]


def test_a_pipe_without_a_byte_is_a_refusal(pipe):
    diagnosis, news = followed(pipe, [], close=True)
    assert isinstance(diagnosis, CauseNotInLog)
    assert news == []
