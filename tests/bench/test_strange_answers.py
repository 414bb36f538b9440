"""Answers as servers, proxies and gateways in the field write them: each is read for what it says, and none ends the reader."""

import pytest
from tests.bench.raw_reads import (
    DONE,
    FIRST,
    HEAD,
    LAST,
    MS,
    Reads,
    begun,
    chunk,
    delta,
    event,
    planned,
    row_of,
    text,
    usage,
)

from dayzero.bench.model import Usage
from dayzero.bench.rows import decode, encode

END = chunk(event({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]}), usage(), DONE) + LAST
COUNTED = Usage(prompt_tokens=8, completion_tokens=3, cached_tokens=0)
DEEP = b"[" * 50_000


@pytest.mark.parametrize(
    ("parts", "chunks"),
    [
        pytest.param([text(), b"event: ping\ndata:\n\n", b"data: \n\n", text()], 2, id="a sign of life without data"),
        pytest.param([text(), b"event: ping\ndata: {}\n\n", text()], 2, id="a sign of life with an empty document"),
        pytest.param([b"\xef\xbb\xbf" + text(), text()], 2, id="a byte order mark before the first line"),
        pytest.param([delta(refusal="I"), delta(refusal=" cannot")], 2, id="a refusal is an answer"),
        pytest.param([text(), event({"choices": [], "prompt_filter_results": []})], 1, id="a filter's report"),
        pytest.param([text("\0"), text("\u202e")], 2, id="characters that do not print"),
    ],
)
def test_an_answer_with_oddities_is_whole(parts: list[bytes], chunks: int):
    row = row_of(HEAD, *map(chunk, parts), END)
    assert (row.error, len(row.content_ns), row.usage) == ("", chunks, COUNTED)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        pytest.param(b'event: error\ndata: {"message":"boom"}\n\n', "server: boom", id="an event that is named error"),
        pytest.param(event({"object": "error", "message": "boom", "code": 400}), "server: boom", id="an error object"),
        pytest.param(event({"detail": "boom"}), "server: boom", id="a gateway's detail"),
        pytest.param(
            event({"error": {"message": "a\n\x1b[31mb"}}), "server: a \ufffd[31mb", id="colours for a terminal"
        ),
        pytest.param(event({"error": "x" * 9_000}), "server: " + "x" * 492, id="an error without end"),
        pytest.param(b'data: {"choices":' + DEEP + b"\n\n", "malformed: not JSON", id="nested without end"),
        pytest.param(b'data: {"z":' + DEEP + b"]" * 50_000 + b"}\n\n", "malformed: not JSON", id="nested too deep"),
        pytest.param(b'data: {"choices":[],"usage":' + DEEP + b"\n\n", "malformed: not JSON", id="nested counts"),
    ],
)
def test_an_error_is_seen_in_whatever_form_it_comes(said: bytes, error: str):
    row = row_of(HEAD + chunk(text()), chunk(said), END)
    assert row.error.startswith(error)
    assert len(row.error) <= 500
    assert len(row.content_ns) == 1


def test_a_refusal_that_is_nested_without_end_is_quoted():
    body = DEEP[:5_000]
    row = row_of(b"HTTP/1.1 400 Bad\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
    assert row.error.startswith("http 400: [[[")


@pytest.mark.parametrize("count", ["-1", "true", "2.0", '"3"', "null", str(2**53), str(10**400), "[3]"])
@pytest.mark.parametrize(
    "counts", ['"prompt_tokens":%s,"completion_tokens":3', '"prompt_tokens":8,"completion_tokens":%s']
)
def test_a_count_that_is_none_is_no_usage_and_the_row_can_be_read_again(counts: str, count: str):
    said = f'data: {{"choices":[],"usage":{{{counts % count}}}}}\n\n'.encode()
    row = row_of(HEAD, chunk(text()), chunk(said), chunk(DONE) + LAST)
    assert (row.error, row.usage) == ("", None)
    assert decode(encode(row), number=1) == row


def test_counts_that_are_empty_do_not_undo_those_before_them():
    row = row_of(HEAD, chunk(text()), chunk(usage()), chunk(event({"choices": [], "usage": {}}), DONE) + LAST)
    assert (row.error, row.usage) == ("", COUNTED)


def test_a_cache_that_counts_below_zero_is_unknown():
    row = row_of(HEAD, chunk(text()), chunk(usage(cached=-5)), chunk(DONE) + LAST)
    assert row.usage == Usage(prompt_tokens=8, completion_tokens=3, cached_tokens=None)
    assert decode(encode(row), number=1) == row


@pytest.mark.parametrize(
    ("width_ns", "rest", "censored"),
    [
        pytest.param(2 * MS, DONE, (), id="read at once"),
        pytest.param(
            2 * MS + 1, DONE, ((0, FIRST - 2 * MS - 1),), id="read late, with the end of the answer behind it"
        ),
        pytest.param(40 * MS, b"", (), id="read late, alone: the kernel's stamp is its own"),
    ],
)
def test_content_that_is_not_the_last_of_a_late_read_is_censored(
    width_ns: int, rest: bytes, censored: tuple[tuple[int, int], ...]
):
    reads = begun()
    reads.sent(planned(), FIRST - 50 * MS)
    reads.read(0, FIRST, HEAD + chunk(*filter(None, (text(), rest))), floor_ns=FIRST - width_ns)
    reads.read(0, FIRST + MS, chunk(DONE) + LAST)
    reads.end(0, FIRST + MS)
    assert reads.parsed().rows[0].censored == censored


def test_without_kernel_stamps_a_read_is_taken_to_be_as_late_as_it_can_be():
    reads = Reads(stamped=False)
    reads.clock(FIRST - 60 * MS)
    reads.sent(planned(), FIRST - 50 * MS)
    reads.read(0, FIRST, HEAD + chunk(text(), text(), text()), floor_ns=FIRST - 40 * MS)
    reads.read(0, FIRST + MS, chunk(DONE) + LAST, floor_ns=FIRST)
    reads.end(0, FIRST + MS)
    parsed = reads.parsed()
    assert (parsed.stamped, parsed.lag_ms) == (False, (1.0, 40.0, 40.0, 40.0))  # once for each chunk
    assert parsed.rows[0].lag_ns == -1
