"""Rows as JSON lines: nothing is lost, and a crash is seen."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.sample_rows import GOOD, row

from dayzero.bench.model import Row, Usage
from dayzero.bench.rows import decode, encode, read
from dayzero.core.errors import EvidenceError

counts = st.integers(0, 2**62)
texts = st.text(st.characters(exclude_categories=("Cs",)))
usages = st.none() | st.builds(Usage, prompt_tokens=counts, completion_tokens=counts, cached_tokens=st.none() | counts)
any_row = st.builds(
    Row,
    number=counts,
    cell=texts,
    phase=st.sampled_from(("warmup", "measured")),
    index=counts,
    input_tokens=counts,
    output_tokens=counts,
    exact=st.booleans(),
    session=counts,
    turn=counts,
    due_ns=counts,
    sent_ns=counts,
    sent_by_ns=counts,
    first_byte_ns=counts,
    first_event_ns=counts,
    content_ns=st.lists(counts).map(tuple),
    answer_ns=counts,
    censored=st.lists(st.tuples(counts, counts)).map(tuple),
    end_ns=counts,
    lag_ns=st.integers(-1, 2**62),
    new_connection=st.booleans(),
    status=counts,
    usage=usages,
    reasoning_chunks=counts,
    error=texts,
)


@given(st.lists(any_row))
def test_rows_survive_the_way_to_a_file_and_back(written: list[Row]):
    content = read(b"".join(map(encode, written)))
    assert content.rows == tuple(written)
    assert content.set_aside == b""


@given(any_row)
def test_a_row_is_one_line(written: Row):
    assert encode(written).count(b"\n") == 1


@given(st.lists(any_row, min_size=1), st.data())
def test_a_file_cut_anywhere_keeps_its_whole_lines_and_shows_the_rest(written: list[Row], data: st.DataObject):
    whole = b"".join(map(encode, written))
    cut = data.draw(st.integers(0, len(whole)))
    content = read(whole[:cut])
    assert content.rows == tuple(written)[: whole[:cut].count(b"\n")]
    assert b"".join(map(encode, content.rows)) + content.set_aside == whole[:cut]


def test_the_line_says_what_it_is():
    assert json.loads(encode(GOOD)) == {
        "schema": "dayzero/bench-row/v2",
        "number": 0,
        "cell": "c1",
        "phase": "measured",
        "index": 0,
        "input_tokens": 8,
        "output_tokens": 3,
        "exact": True,
        "session": 0,
        "turn": 0,
        "due_ns": 100000000,
        "sent_ns": 100000000,
        "sent_by_ns": 100000000,
        "first_byte_ns": 140000000,
        "first_event_ns": 150000000,
        "content_ns": [150000000, 160000000, 180000000],
        "answer_ns": 150000000,
        "censored": [],
        "end_ns": 190000000,
        "lag_ns": 100000,
        "new_connection": False,
        "status": 200,
        "usage": {"prompt_tokens": 8, "completion_tokens": 3, "cached_tokens": 0},
        "reasoning_chunks": 0,
        "error": "",
    }


V1 = (
    b'{"schema":"dayzero/bench-row/v1","cell":"c1","phase":"measured","index":0,"input_tokens":8,"output_tokens":3,'
    b'"sent_ns":100000000,"first_byte_ns":140000000,"content_ns":[150000000,160000000,180000000],"end_ns":190000000,'
    b'"status":200,"usage":{"prompt_tokens":8,"completion_tokens":3,"cached_tokens":0},"error":""}\n'
)


def test_rows_of_the_client_before_are_read_with_what_they_know():
    content = read(V1 * 2)
    assert content.schema == "dayzero/bench-row/v1"
    first, second = content.rows
    assert first == row(first_event_ns=0, answer_ns=0, lag_ns=-1)
    assert (second.number, second.session) == (1, 1)
    assert decode(V1, number=1) == first


def test_a_file_holds_rows_of_one_schema():
    with pytest.raises(EvidenceError, match="line 2 is not a dayzero/bench-row/v1 row"):
        read(V1 + encode(GOOD))
    with pytest.raises(EvidenceError, match="line 2 is not a dayzero/bench-row/v2 row"):
        read(encode(GOOD) + V1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"bench-row/v2", b"bench-row/v3"),
        (b'"index":0', b'"index":-1'),
        (b'"index":0', b'"index":0.5'),
        (b'"phase":"measured"', b'"phase":"other"'),
        (b'"error":""', b'"error":"","extra":1'),
        (b',"error":""', b""),
        (b'"cell":"c1"', b'"cell":"\xff"'),
        (b"}\n", b"\n"),
    ],
)
def test_a_line_that_is_no_row_is_named(old: bytes, new: bytes):
    good = encode(GOOD)
    bad = good.replace(old, new)
    assert bad != good
    with pytest.raises(EvidenceError, match="line 2 is not a dayzero/bench-row/v2 row"):
        read(good + bad)


def test_one_line_is_read_with_or_without_its_newline():
    line = encode(row(error='a "quoted"\nproblem'))
    assert decode(line, number=1) == decode(line.rstrip(b"\n"), number=1)
