"""What every installed extractor keeps, whoever wrote it."""

import inspect
import locale
from collections.abc import Iterator

import pytest
from tests.evidence.archives import WHEEL

from dayzero.core.errors import EvidenceError
from dayzero.core.pins import Sha256
from dayzero.evidence.locator import (
    CsvLocator,
    JsonlLocator,
    LineLocator,
    Locator,
    MemberLocator,
    PointerLocator,
    RangeLocator,
    SpanLocator,
    WholeFile,
)
from dayzero.wiring import plugins

_EMPTY = Sha256("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
_LOCATORS: tuple[Locator, ...] = (
    WholeFile(),
    LineLocator(line=1, sha256=_EMPTY),
    RangeLocator(first=1, last=1, sha256=_EMPTY),
    PointerLocator(pointer=""),
    JsonlLocator(line=1, pointer=""),
    CsvLocator(key_column="a", key="1", column="b"),
    MemberLocator(member="a", sha256=_EMPTY),
    SpanLocator(offset=0, length=1, sha256=_EMPTY),
)
_RAWS = (b"", b"\n", b"140,30 ms\n", b'{"a": 1.5}\n', b"\xff\x00", b"[1, 2]", b'"140.30"', b"a,b\n1,2\n", WHEEL)
_PARAMETERS = (
    (),
    (("pattern", "([0-9,]+) ms"),),
    (("decimals", "1"),),
    (("cell", "c1"), ("metric", "ttft_ms"), ("statistic", "p50"), ("decimals", "1")),
    (("pattern", "absent"), ("control", ".")),
    (("pattern", "."), ("of", "members")),
    (("pointer", ""), ("quantile", "p50"), ("decimals", "1")),
    (("unknown", "x"),),
)


@pytest.fixture(params=plugins.extractor_names())
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def comma_locale() -> Iterator[None]:
    """Switch to a locale that writes 1,5 for one and a half, where the machine has one."""
    before = locale.setlocale(locale.LC_ALL)
    for wanted in ("de_DE.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8", "C"):
        try:
            locale.setlocale(locale.LC_ALL, wanted)
            break
        except locale.Error:
            continue
    yield
    locale.setlocale(locale.LC_ALL, before)


def _answer(name: str, raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...]) -> str:
    """Give the value, or the message of the one error that an extractor may raise."""
    try:
        return plugins.extractor(name).extract(raw, locator, parameters)
    except EvidenceError as error:
        return f"refused: {error.message}"


def _answers(name: str) -> list[str]:
    return [
        _answer(name, raw, locator, parameters) for raw in _RAWS for locator in _LOCATORS for parameters in _PARAMETERS
    ]


def test_it_is_called_like_its_entry_point_and_has_a_version(name: str):
    extractor = plugins.extractor(name)
    assert extractor.name == name
    assert extractor.version >= 1
    assert f"{name}@{extractor.version}" in plugins.extractors()


def test_it_refuses_an_empty_file(name: str):
    for locator in _LOCATORS:
        for parameters in _PARAMETERS:
            with pytest.raises(EvidenceError):
                plugins.extractor(name).extract(b"", locator, parameters)


def test_it_gives_the_same_answer_every_time_and_raises_nothing_but_evidence_errors(name: str):
    assert _answers(name) == _answers(name)


@pytest.mark.usefixtures("comma_locale")
def test_it_answers_the_same_in_another_locale(name: str):
    here = _answers(name)
    locale.setlocale(locale.LC_ALL, "C")
    assert _answers(name) == here


def test_a_refusal_says_what_to_do(name: str):
    with pytest.raises(EvidenceError) as caught:
        plugins.extractor(name).extract(b"", WholeFile(), ())
    assert caught.value.message
    assert caught.value.hint


def test_it_never_reads_the_environment(name: str):
    source = inspect.getsource(inspect.getmodule(type(plugins.extractor(name))))
    for word in ("import locale", "import os", "open(", "environ", "datetime", "random"):
        assert word not in source
