import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.core.errors import EvidenceError, InputError
from dayzero.core.pins import Sha256
from dayzero.evidence.locate import line_locator, lines_between, locate_line, locate_pointer
from dayzero.evidence.locator import LineLocator, PointerLocator

_DOCUMENT = (
    b'{\n  "a": [1, {"b/c": "x"}, []],\n  "": 1.50,\n  "m~n": {"k": -0.0e-3},\n  "caf\\u00e9": "caf\xc3\xa9",\n'
    b' "big": 123456789012345678901\n}\n'
)


@pytest.mark.parametrize(
    ("pointer", "literal", "line"),
    [
        ("/a/0", "1", 2),
        ("/a/1/b~1c", '"x"', 2),
        ("/a/2", "[]", 2),
        ("/", "1.50", 3),
        ("/m~0n/k", "-0.0e-3", 4),
        ("/caf\u00e9", '"caf\u00e9"', 5),
        ("/big", "123456789012345678901", 6),
    ],
)
def test_a_pointer_finds_the_value_as_it_is_written(pointer: str, literal: str, line: int):
    found = locate_pointer(_DOCUMENT, PointerLocator(pointer=pointer))
    assert (found.literal, found.line) == (literal, line)


def test_the_empty_pointer_is_the_whole_document():
    assert locate_pointer(b" 12 ", PointerLocator(pointer="")).literal == "12"


@pytest.mark.parametrize("pointer", ["/b", "/a/3", "/a/00", "/a/-", "/a/0/0", "/a/1/b", "/m~0n/k/"])
def test_a_pointer_to_nothing_misses(pointer: str):
    with pytest.raises(EvidenceError):
        locate_pointer(_DOCUMENT, PointerLocator(pointer=pointer))


@pytest.mark.parametrize("pointer", ["a", "/~", "/a~2", "/a/~x"])
def test_what_is_no_pointer_is_refused(pointer: str):
    with pytest.raises(InputError):
        PointerLocator(pointer=pointer)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b'{"a": 1, "a": 1}',
        b'{"a": [{"b": 1, "b": 2}], "c": 1}',
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'\xef\xbb\xbf{"a": 1}',
        b'{"a": "\xff"}',
        b'{"a": 1} x',
        b"[" * 100_000,
    ],
)
def test_json_with_more_than_one_meaning_is_refused(raw: bytes):
    with pytest.raises(EvidenceError):
        locate_pointer(raw, PointerLocator(pointer="/a"))


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def _paths(document: object, pointer: str = "") -> list[tuple[str, object]]:
    found = [(pointer, document)]
    members: list[tuple[str, object]] = []
    if isinstance(document, dict):
        members = [(name.replace("~", "~0").replace("/", "~1"), value) for name, value in document.items()]
    elif isinstance(document, list):
        members = [(str(index), value) for index, value in enumerate(document)]
    for name, value in members:
        found += _paths(value, f"{pointer}/{name}")
    return found


@given(_json, st.sampled_from((None, 1)))
def test_every_value_of_a_document_is_found_by_its_pointer(document: object, indent: int | None):
    raw = json.dumps(document, indent=indent).encode()
    for pointer, value in _paths(document):
        assert json.loads(locate_pointer(raw, PointerLocator(pointer=pointer)).literal) == value


@pytest.mark.parametrize(
    ("raw", "line", "content"),
    [
        (b"a\nb\n", 1, b"a"),
        (b"a\nb\n", 2, b"b"),
        (b"a\nb", 2, b"b"),
        (b"a\r\nb\rc\x0bd\xe2\x80\xa8e\n", 1, b"a\r"),
        (b"a\r\nb\rc\x0bd\xe2\x80\xa8e\n", 2, b"b\rc\x0bd\xe2\x80\xa8e"),
        (b"\n\n", 2, b""),
    ],
)
def test_only_a_newline_ends_a_line_as_in_sed(raw: bytes, line: int, content: bytes, tmp_path: Path):
    assert lines_between(raw, line, line) == (content,)
    (tmp_path / "raw").write_bytes(raw)
    shown = subprocess.run(["sed", "-n", f"{line}p", "raw"], cwd=tmp_path, capture_output=True, check=True).stdout
    assert shown.removesuffix(b"\n") == content


@pytest.mark.parametrize(("first", "last"), [(0, 1), (3, 3), (2, 1), (1, 3), (-1, 1)])
def test_lines_that_are_not_there_miss(first: int, last: int):
    with pytest.raises(EvidenceError):
        lines_between(b"a\nb\n", first, last)


def test_an_empty_file_has_no_line():
    with pytest.raises(EvidenceError):
        lines_between(b"", 1, 1)


def test_a_line_is_held_to_its_digest():
    raw = b"a\np50 140.30\nc\n"
    locator = line_locator(raw, 2)
    assert locator == LineLocator(line=2, sha256=Sha256(hashlib.sha256(b"p50 140.30").hexdigest()))
    assert locate_line(raw, locator) == b"p50 140.30"
    with pytest.raises(EvidenceError) as caught:
        locate_line(raw.replace(b"140.30", b"140.31"), locator)
    assert caught.value.message == "line 2 is not the line that was pointed at: 'p50 140.31' stands there"


def test_lines_are_counted_from_one():
    with pytest.raises(InputError):
        LineLocator(line=0, sha256=Sha256("ab" * 32))
