import io
import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.catalog.page_model import Quote, QuotedLine
from dayzero.catalog.quote import FIRST_ROWS, LONGEST_LINE, MOST_LINES, cut_middle, quote, visible
from dayzero.core.pins import Sha256
from dayzero.evidence.locate import line_locator, member_locator, range_locator, span_locator
from dayzero.evidence.locator import CsvLocator, JsonlLocator, LineLocator, Locator, PointerLocator, WholeFile

LINES = b"one\ntwo\r\nthree\nfour\nfive\nsix\nseven"
ROWS = b"".join(
    json.dumps({"cell": f"c{number % 2}", "n": number}, separators=(",", ":")).encode() + b"\n" for number in range(14)
)
TABLE = b"tp,rate\n1,140\n8,900\n"
DOCUMENT = b'{\n "a": {"b": 0.64},\n "c": 1\n}\n'


def archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("a/b.py", "x = 1\ny = 2\n")
    return file.getvalue()


@pytest.mark.parametrize(
    ("raw", "locator", "lines", "note", "found"),
    [
        (LINES, WholeFile(), [1, 2, 3, 4, 5], "the first 5 of 7 lines", ""),
        (b"a\nb\n", WholeFile(), [1, 2], "all 2 lines", ""),
        (b"a", WholeFile(), [1], "the only line of the file", ""),
        (LINES, line_locator(LINES, 7), [7], "line 7 of 7", ""),
        (LINES, range_locator(LINES, 2, 4), [2, 3, 4], "lines 2 to 4 of 7", ""),
        (DOCUMENT, PointerLocator(pointer="/a/b"), [2], "line 2 of 4", "0.64"),
        (ROWS, JsonlLocator(line=3, pointer="/n"), [3], "line 3 of 14", "2"),
        (TABLE, CsvLocator(key_column="tp", key="8", column="rate"), [1, 3], "the header and line 3 of 3", "900"),
        (archive(), member_locator(archive(), "a/b.py"), [1, 2], "all 2 lines of its member a/b.py", ""),
        (LINES, span_locator(LINES, 4, 3), [1], "byte 0x4", ""),
    ],
)
def test_the_place_that_a_locator_points_at_is_quoted(
    raw: bytes, locator: Locator, lines: list[int], note: str, found: str
):
    quoted = quote(raw, locator)
    assert ([line.number for line in quoted.lines], quoted.note, quoted.found) == (lines, note, found)


def test_a_carriage_return_and_the_last_line_without_newline_are_quoted_as_they_read():
    assert [line.head for line in quote(LINES, WholeFile()).lines] == ["one", "two", "three", "four", "five"]
    assert quote(LINES, line_locator(LINES, 7)).lines == (QuotedLine(number=7, head="seven"),)


def test_the_rows_of_the_cell_that_the_claim_is_about_are_quoted():
    quoted = quote(ROWS, WholeFile(), cell="c1")
    assert [line.number for line in quoted.lines] == [2, 4, 6, 8, 10]
    assert quoted.note == "the first 5 of 7 lines that name cell c1 (14 lines in all)"
    assert [line.number for line in quote(ROWS, WholeFile(), cell="c9").lines] == [1, 2, 3, 4, 5]


def test_a_long_range_is_quoted_from_its_beginning():
    raw = b"x\n" * 400
    assert len(quote(raw, range_locator(raw, 10, 390)).lines) == MOST_LINES


@pytest.mark.parametrize("raw", [b"\0\1\2", b"text\n\0"])
def test_what_is_not_text_is_not_quoted(raw: bytes):
    assert quote(raw, WholeFile()).lines == ()


def test_a_line_that_says_something_else_now_is_not_quoted():
    quoted = quote(LINES, LineLocator(line=1, sha256=Sha256("0" * 64)))
    assert quoted.lines == ()
    assert "is not the line that was pointed at" in quoted.note


@given(st.text(max_size=1000), st.integers(3, 400))
def test_a_line_is_cut_in_the_middle_and_what_is_left_are_its_two_ends(text: str, longest: int):
    line = cut_middle(1, text, longest)
    assert len(line.head) + line.cut + len(line.tail) == len(text)
    assert text.startswith(line.head)
    assert text.endswith(line.tail)
    assert len(line.head) + len(line.tail) <= longest
    assert (line.cut == 0) == (len(text) <= longest)


@given(st.binary(max_size=200))
def test_every_character_of_a_quoted_line_is_seen_and_none_acts(content: bytes):
    assert all(character.isprintable() or character in "\t\ufffd" for character in visible(content))


@given(st.binary(max_size=4000), st.sampled_from(["", "c1"]))
def test_any_file_at_all_can_be_quoted(raw: bytes, cell: str):
    quoted = quote(raw, WholeFile(), cell=cell)
    assert isinstance(quoted, Quote)
    assert len(quoted.lines) <= FIRST_ROWS
    assert all(len(line.head) + len(line.tail) <= LONGEST_LINE for line in quoted.lines)
