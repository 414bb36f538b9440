"""Each locator hits the one place that it names, or misses."""

import csv
import io
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evidence.archives import WHEEL, archive

from dayzero.core.errors import EvidenceError
from dayzero.core.pins import Sha256
from dayzero.evidence.locate import (
    Located,
    line_count,
    lines_between,
    locate,
    locate_jsonl,
    member_locator,
    range_locator,
    span_locator,
)
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
from dayzero.evidence.raw_bytes import Newlines, RawBytes, once

LOG = b"start\ncapture 1\ncapture 2\nFailed: Cuda error\r\n\nend"
ROWS = b'{"cell": "c1", "ms": 1.50}\n{"cell": "c4", "ms": 2}\n'
TABLE = b'name,p50,note\r\nc1,140.30,"a, ""b"""\r\nc4,12,"two\nlines"\r\nc8,13,\r\n'
_NONE = Sha256("ab" * 32)


@pytest.mark.parametrize(
    ("raw", "locator", "found"),
    [
        (LOG, WholeFile(), Located(content=LOG, position="", line=0)),
        (LOG, range_locator(LOG, 2, 3), Located(content=b"capture 1\ncapture 2", position="line 2-3", line=2)),
        (LOG, range_locator(LOG, 4, 6), Located(content=b"Failed: Cuda error\r\n\nend", position="line 4-6", line=4)),
        (LOG, span_locator(LOG, 6, 7), Located(content=b"capture", position="byte 0x6", line=0)),
        (ROWS, JsonlLocator(line=1, pointer="/ms"), Located(content=b"1.50", position="line 1", line=1)),
        (ROWS, JsonlLocator(line=2, pointer=""), Located(content=ROWS[27:-1], position="line 2", line=2)),
        (
            TABLE,
            CsvLocator(key_column="name", key="c1", column="p50"),
            Located(content=b"140.30", position="line 2", line=2),
        ),
        (
            TABLE,
            CsvLocator(key_column="name", key="c1", column="note"),
            Located(content=b'a, "b"', position="line 2", line=2),
        ),
        (
            TABLE,
            CsvLocator(key_column="name", key="c8", column="p50"),
            Located(content=b"13", position="line 5", line=5),
        ),
        (
            TABLE,
            CsvLocator(key_column="p50", key="12", column="name"),
            Located(content=b"c4", position="line 3", line=3),
        ),
        (
            WHEEL,
            member_locator(WHEEL, "vllm/models/qwen3.py"),
            Located(content=b"class Qwen3:\n    pass\n", position="member vllm/models/qwen3.py", line=0),
        ),
    ],
)
def test_a_locator_finds_its_place(raw: bytes, locator: Locator, found: Located):
    assert locate(raw, locator) == found
    assert locate(RawBytes(raw), locator) == found


@pytest.mark.parametrize(
    ("raw", "locator"),
    [
        (LOG, RangeLocator(first=2, last=3, sha256=_NONE)),
        (LOG, RangeLocator(first=6, last=7, sha256=_NONE)),
        (LOG, SpanLocator(offset=6, length=7, sha256=_NONE)),
        (LOG, SpanLocator(offset=len(LOG), length=1, sha256=Sha256.of(b""))),
        (LOG, SpanLocator(offset=len(LOG) - 3, length=4, sha256=Sha256.of(b"end"))),
        (ROWS, JsonlLocator(line=3, pointer="/ms")),
        (ROWS, JsonlLocator(line=1, pointer="/p50")),
        (ROWS + b"\n", JsonlLocator(line=3, pointer="")),
        (b'{"a": 1, "a": 2}\n', JsonlLocator(line=1, pointer="/a")),
        (b'{"a": 1} {"a": 2}\n', JsonlLocator(line=1, pointer="/a")),
        (b'{"a":\n1}\n', JsonlLocator(line=1, pointer="/a")),
        (b'{"a": NaN}\n', JsonlLocator(line=1, pointer="/a")),
        (TABLE, CsvLocator(key_column="name", key="c2", column="p50")),
        (TABLE, CsvLocator(key_column="Name", key="c1", column="p50")),
        (TABLE, CsvLocator(key_column="name", key="c1", column="p99")),
        (TABLE, CsvLocator(key_column="name", key="c1 ", column="p50")),
        (b"a,b\n1,2\n1,3\n", CsvLocator(key_column="a", key="1", column="b")),
        (b"a,a\n1,2\n", CsvLocator(key_column="a", key="1", column="a")),
        (b"a,b\n1,2\n3\n", CsvLocator(key_column="a", key="1", column="b")),
        (b"a,b\n1,2\n\n", CsvLocator(key_column="a", key="1", column="b")),
        (b'a,b\n1,"2\n', CsvLocator(key_column="a", key="1", column="b")),
        (b'a,b\n1,"2"x\n', CsvLocator(key_column="a", key="1", column="b")),
        (b"a,b\n1,2\r3,4\n", CsvLocator(key_column="a", key="1", column="b")),
        (b"a,b\n1,\xff\n", CsvLocator(key_column="a", key="1", column="b")),
        (b"", CsvLocator(key_column="a", key="1", column="b")),
        (WHEEL, MemberLocator(member="vllm/models/qwen3.py", sha256=_NONE)),
        (WHEEL, MemberLocator(member="vllm/models/kimi_k3.py", sha256=_NONE)),
        (b"PK\x03\x04 no archive", MemberLocator(member="a", sha256=_NONE)),
        (archive({"folder/": b""}), MemberLocator(member="folder/", sha256=Sha256.of(b""))),
    ],
)
def test_a_locator_that_does_not_hit_once_misses(raw: bytes, locator: Locator):
    with pytest.raises(EvidenceError):
        locate(raw, locator)
    kept = RawBytes(raw)
    for _ in range(2):
        with pytest.raises(EvidenceError):
            locate(kept, locator)


def test_an_archive_that_names_a_member_twice_is_refused():
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = _twice()
    with pytest.raises(EvidenceError, match="names a member twice"):
        locate(twice, MemberLocator(member="a", sha256=Sha256.of(b"1")))


def _twice() -> bytes:
    import zipfile  # noqa: PLC0415  (only here is an archive made wrongly)

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        made.writestr("a", b"1")
        made.writestr("a", b"2")
    return out.getvalue()


def test_a_damaged_member_is_refused():
    whole = archive({"a": b"content of a member, long enough to be deflated " * 9})
    at = whole.index(b"a") + 4
    broken = whole[:at] + bytes((whole[at] ^ 0x55,)) + whole[at + 1 :]
    with pytest.raises(EvidenceError, match="cannot be unpacked"):
        locate(broken, MemberLocator(member="a", sha256=_NONE))


def test_a_member_that_says_it_is_huge_is_not_unpacked():
    small = archive({"a": b"x" * 100})
    at = small.rindex(b"PK\x01\x02") + 24
    with pytest.raises(EvidenceError, match="larger than 256 MiB"):
        locate(small[:at] + struct.pack("<I", (1 << 28) + 1) + small[at + 4 :], MemberLocator(member="a", sha256=_NONE))


_lines = st.lists(st.binary(max_size=6).map(lambda line: line.replace(b"\n", b"\r")), min_size=1, max_size=12)


@given(_lines, st.data())
def test_a_line_or_range_is_hit_where_it_stands_and_nowhere_else(lines: list[bytes], data: st.DataObject):
    raw = b"\n".join(lines) + b"\n"
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    locator = range_locator(raw, first, last)
    assert locate(raw, locator).content == b"\n".join(lines[first - 1 : last])
    for other in range(1, len(lines) - (last - first) + 1):
        moved = RangeLocator(first=other, last=other + last - first, sha256=locator.sha256)
        if lines[other - 1 : other + last - first] != lines[first - 1 : last]:
            with pytest.raises(EvidenceError):
                locate(raw, moved)


@given(st.binary(min_size=1, max_size=40), st.data())
def test_a_span_is_hit_where_it_stands_and_nowhere_else(raw: bytes, data: st.DataObject):
    offset = data.draw(st.integers(0, len(raw) - 1))
    length = data.draw(st.integers(1, len(raw) - offset))
    locator = span_locator(raw, offset, length)
    assert locate(raw, locator).content == raw[offset : offset + length]
    for other in range(len(raw) - length + 1):
        if raw[other : other + length] != raw[offset : offset + length]:
            with pytest.raises(EvidenceError):
                locate(raw, SpanLocator(offset=other, length=length, sha256=locator.sha256))


_cell = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=6)


@given(st.lists(_cell, min_size=1, max_size=6, unique=True), st.data(), st.sampled_from(("\n", "\r\n")))
def test_a_cell_is_hit_by_its_key_and_column_only(keys: list[str], data: st.DataObject, end: str):
    cells = [data.draw(_cell) for _ in keys]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([("k", "v"), *zip(keys, cells, strict=True)])
    raw = out.getvalue().encode()
    for number, (key, cell) in enumerate(zip(keys, cells, strict=True)):
        found = locate(raw, CsvLocator(key_column="k", key=key, column="v"))
        assert (found.content.decode(), found.line) == (cell, number + 2)


_values = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=4), min_size=1, max_size=3)


@given(st.lists(_values, min_size=1, max_size=5))
def test_a_value_of_a_json_line_is_hit_on_its_line(rows: list[dict[str, object]]):
    raw = "".join(json.dumps(row) + "\n" for row in rows).encode()
    for number, row in enumerate(rows, 1):
        for name, value in row.items():
            pointer = "/" + name.replace("~", "~0").replace("/", "~1")
            assert json.loads(locate_jsonl(raw, JsonlLocator(line=number, pointer=pointer))) == value


@given(st.lists(st.sampled_from((b"a" * 70_000, b"", b"b", b"\n" * 66_000)), max_size=5), st.sampled_from((b"", b"\n")))
def test_an_index_of_lines_agrees_with_splitting_across_its_blocks(pieces: list[bytes], end: bytes):
    raw = b"\n".join(pieces) + end
    split = raw.split(b"\n")
    lines = split[:-1] if split[-1] == b"" else split
    assert line_count(raw) == len(lines)
    index = Newlines(raw, b"\n")
    for number in {1, 2, len(lines) // 2, len(lines) - 1, len(lines)} & set(range(1, len(lines) + 1)):
        assert lines_between(raw, number, number) == (lines[number - 1],)
        assert index.line_at(index.start(number)) == number


def test_what_is_worked_out_of_a_raw_file_is_worked_out_once():
    calls: list[int] = []

    def build(raw: bytes) -> int:
        calls.append(len(raw))
        return len(raw)

    kept = RawBytes(b"abc")
    assert [once(kept, build), once(kept, build), once(b"abc", build)] == [3, 3, 3]
    assert calls == [3, 3]


def test_a_line_after_many_is_still_found_by_its_pointer():
    raw = b'{"pad": "' + b"x" * 70_000 + b'",\n"a":\n 1}'
    assert locate(raw, PointerLocator(pointer="/a")) == Located(content=b"1", position="line 3", line=3)
    assert locate(raw, LineLocator(line=3, sha256=Sha256.of(b" 1}"))).content == b" 1}"
