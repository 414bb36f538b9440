import pytest
from inline_snapshot import snapshot
from tests.evidence.samples import COMPARISON

from dayzero.core.errors import EvidenceError
from dayzero.evidence.locate import line_locator
from dayzero.evidence.locator import LineLocator, WholeFile
from dayzero.extractors.text_line import EXTRACTOR

_RAW = COMPARISON + b"\xff 1 ms\nempty=\n\xd9\xa1\xd9\xa2 ms\r\n"


def _extract(line: int, *parameters: tuple[str, str]) -> str:
    return EXTRACTOR.extract(_RAW, line_locator(_RAW, line), parameters)


@pytest.mark.parametrize(
    ("line", "pattern", "value"),
    [
        (3, r"p50 (\d+\.\d+) tok/s", "140.30"),
        (3, r"p50 (.*)$", "140.30 tok/s"),
        (3, r"^(arm B)", "arm B"),
        (4, "cause: (.+)", "failed autotune tactics poison the CUDA context"),
    ],
)
def test_the_value_is_the_group_of_exactly_that_line(line: int, pattern: str, value: str):
    assert _extract(line, ("pattern", pattern)) == value


@pytest.mark.parametrize(
    ("line", "parameters"),
    [
        (3, (("pattern", r"p99 (\d+)"),)),
        (3, (("pattern", r"(\d)"),)),
        (3, (("pattern", r"p50 \d+"),)),
        (3, (("pattern", r"(p)(50)"),)),
        (3, (("pattern", r"(p"),)),
        (3, (("pattern", "(" * 300 + ")" * 300),)),
        (3, (("pattern", r"(arm B).{0,99999999999}"),)),
        (3, (("pattern", r"(?L)(p50)"),)),
        (3, ()),
        (3, (("pattern", "(arm)"), ("decimals", "1"))),
        (3, (("pattern", "(arm)"), ("pattern", "(arm)"))),
        (5, (("pattern", r"(\d) ms"),)),
        (6, (("pattern", r"empty=(.*)"),)),
        (6, (("pattern", r"empty(x)?="),)),
        (7, (("pattern", r"(\d+) ms"),)),
        (1, (("pattern", r"p50 (\d+\.\d+) tok/s"),)),
    ],
)
def test_what_does_not_say_one_text_of_one_line_is_refused(line: int, parameters: tuple[tuple[str, str], ...]):
    with pytest.raises(EvidenceError):
        _extract(line, *parameters)


def test_another_line_in_its_place_is_refused():
    locator = line_locator(_RAW, 3)
    with pytest.raises(EvidenceError):
        EXTRACTOR.extract(b"\n" + _RAW, locator, (("pattern", "(140.30)"),))
    with pytest.raises(EvidenceError):
        EXTRACTOR.extract(_RAW, LineLocator(line=99, sha256=locator.sha256), (("pattern", "(140.30)"),))


def test_a_file_as_a_whole_is_refused():
    with pytest.raises(EvidenceError):
        EXTRACTOR.extract(_RAW, WholeFile(), (("pattern", "(140.30)"),))


def test_an_ambiguous_pattern_is_told_how_often_it_matches():
    with pytest.raises(EvidenceError) as caught:
        _extract(3, ("pattern", r"(\d+)"))
    assert caught.value.message == snapshot("'(\\\\d+)' matches 3 times in line 3, not once")
