"""A file of raw reads may be interleaved, read in any pieces, or cut off anywhere."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bench.raw_reads import (
    DONE,
    FIRST,
    HEAD,
    HEADER,
    LAST,
    MS,
    STEP,
    T0,
    TAIL,
    Reads,
    chunk,
    row_of,
    stream,
    text,
    usage,
)

from dayzero.bench.model import Usage
from dayzero.bench.openai import read_usage
from dayzero.bench.parse import parse
from dayzero.bench.reads import RECORD, encode_header
from dayzero.core.errors import EvidenceError


def many(draw_order: list[int] | None = None, count: int = 6) -> Reads:
    """Interleaved requests, the records of each in its own order; ``draw_order`` says whose turn it is."""
    each: list[list[bytes]] = []
    for number in range(count):
        reads = Reads()
        stream(reads, number, [HEAD + chunk(text()), chunk(text(), text()), *TAIL], start_ns=T0 + number * MS)
        each.append(reads.records)
    merged = Reads()
    merged.clock(T0 - MS)
    for number in (draw_order or []) + [number for number in range(count) for _ in range(20)]:
        if each[number]:
            merged.records.append(each[number].pop(0))
    merged.clock(T0 + 900 * MS)
    return merged


@given(st.lists(st.integers(0, 5), max_size=40))
def test_the_order_in_which_requests_were_interleaved_changes_no_row(order: list[int]):
    assert many(order).parsed().rows == many().parsed().rows


@given(st.lists(st.integers(0, 9_000), max_size=20))
@settings(max_examples=50)
def test_the_file_may_be_read_in_pieces_of_any_size(cuts: list[int]):
    def cut(raw: bytes) -> list[bytes]:
        places = sorted(min(place, len(raw)) for place in cuts)
        return [raw[start:end] for start, end in zip([0, *places], [*places, len(raw)], strict=True)]

    assert many().parsed(cut) == many().parsed()


@given(st.data())
@settings(max_examples=50)
def test_the_bytes_of_an_answer_may_come_in_any_reads(data: st.DataObject):
    stream_bytes = HEAD + b"".join(chunk(part) for part in (text(), text() + text(), usage(), DONE)) + LAST
    cuts = sorted(data.draw(st.lists(st.integers(1, len(stream_bytes) - 1), max_size=9, unique=True)))
    parts = [stream_bytes[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream_bytes)], strict=True)]
    row = row_of(*parts)
    assert (len(row.content_ns), row.usage, row.error) == (
        3,
        Usage(prompt_tokens=8, completion_tokens=3, cached_tokens=0),
        "",
    )
    for position, needle in enumerate((text(), text() + text(), text() + text())):
        end = (
            stream_bytes.index(needle) + len(needle)
            if position < 2
            else stream_bytes.index(text() + text()) + len(text()) * 2
        )
        if position != 1:
            assert row.content_ns[position] == FIRST + STEP * sum(cut < end for cut in cuts)


@given(st.integers(0, 3_000))
@settings(max_examples=60)
def test_a_file_that_a_crash_cut_off_loses_at_most_the_requests_in_flight(cut: int):
    raw = many().raw()
    header = len(encode_header(HEADER))
    place = min(header + cut * 4, len(raw))
    parsed = parse((raw[:place],), read_usage)
    whole = {row.number: row for row in many().parsed().rows}
    for row in parsed.rows:
        assert replace(whole[row.number]) == row
    assert 0 <= parsed.set_aside < RECORD.size + 400


def test_a_record_that_was_cut_off_is_set_aside():
    raw = many().raw()
    assert parse((raw,), read_usage).set_aside == 0
    assert parse((raw[:-1],), read_usage).set_aside == RECORD.size - 1


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        (b"", "not a file of raw reads"),
        (b"hello", "not a file of raw reads"),
        (b'{"schema":"dayzero/bench-row/v2"}\n', "not a file of raw reads"),
        (encode_header(HEADER) + bytes(RECORD.size), "a record of no known kind"),
        (encode_header(HEADER) + RECORD.pack(2, 0, bytes(16), 0, 0, 1 << 30), "a record of no known kind"),
        (encode_header(HEADER) + RECORD.pack(1, 0, bytes(16), 0, 0, 2) + b"{}", "a request of the raw reads cannot be read"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_refused(raw: bytes, complaint: str):
    with pytest.raises(EvidenceError, match=complaint):
        parse((raw,), read_usage)


def test_the_header_comes_back():
    assert Reads().parsed().header == HEADER
