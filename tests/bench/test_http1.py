"""A response comes out the same however its bytes were cut, and what is wrong with it is named exactly."""

import gc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.bench.http1 import MalformedResponseError, ResponseReader, chunk_opening

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
STREAM = (
    b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + CHUNKED + b'5;name="v\xff"\r\nhello\r\n00A \r\n0123456789\r\n'
    b"0;last\r\nX-Trailer: 1\r\n\r\n"
)
COUNTED = b"HTTP/1.1 200\r\nContent-Length: 5\r\nConnection: close, x\r\n\r\nhello"
UNTIL_CLOSE = b"HTTP/1.0 200 OK\nContent-Type: text/event-stream\n\nhello\r\n\r\n0\r\n\r\n"
EMPTY = b"HTTP/1.1 204 No Content\r\n\r\n"


def outcome(pieces: list[bytes], *, closed: bool = True) -> tuple[object, ...]:
    """All that can be seen of a response: body, state, and the fault."""
    reader, body, fault = ResponseReader(), b"", ""
    try:
        for piece in pieces:
            body += b"".join(reader.feed(piece))
        if closed:
            reader.close()
    except MalformedResponseError as error:
        body += b"".join(error.pieces)
        fault = error.reason
    return body, reader.status, reader.headers if reader.status else {}, reader.complete, reader.keeps_alive, fault


def cut_up(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted(min(cut, len(stream)) for cut in cuts)
    return [stream[start:end] for start, end in zip([0, *places], [*places, len(stream)], strict=True)]


streams = st.sampled_from((STREAM, COUNTED, UNTIL_CLOSE, EMPTY))


@st.composite
def spoilt_streams(draw: st.DrawFn) -> bytes:
    """A good response with some bytes replaced, dropped or put in, and perhaps more after its end."""
    stream = bytearray(draw(streams))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(stream)))
        stream[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=3) | st.sampled_from((b"\r", b"\n", b"0")))
    return bytes(stream) + draw(st.binary(max_size=3))


@given(spoilt_streams() | st.binary(max_size=60), st.lists(st.integers(0, 200), max_size=12), st.booleans())
def test_what_is_read_does_not_depend_on_where_the_bytes_were_cut(stream: bytes, cuts: list[int], closed: bool):  # noqa: FBT001
    whole = outcome([stream], closed=closed)
    assert outcome(cut_up(stream, cuts), closed=closed) == whole
    assert outcome([bytes([byte]) for byte in stream], closed=closed) == whole


def ends(take: Callable[[ResponseReader, bytes], object], pieces: list[bytes]) -> tuple[int, bool, bool, str]:
    reader, fault = ResponseReader(), ""
    try:
        for piece in pieces:
            take(reader, piece)
    except MalformedResponseError as error:
        fault = error.reason
    return reader.status, reader.complete, reader.keeps_alive, fault


@given(spoilt_streams(), st.lists(st.integers(0, 200), max_size=12))
def test_what_is_skipped_ends_as_what_is_read(stream: bytes, cuts: list[int]):
    pieces = cut_up(stream, cuts)
    assert ends(ResponseReader.skip, pieces) == ends(ResponseReader.feed, pieces)


@pytest.mark.parametrize(
    "event", [b'data: {"a":1}', b"data: x", b"data: ", b"data: a\r\n\r\ndata: b", b"data: a\n\ndata: b", b": x"]
)
def test_an_event_is_taken_alone_only_where_it_is_the_whole_chunk(event: bytes):
    reader = ResponseReader()
    reader.feed(CHUNKED)
    body = event + b"\n\n"
    whole, other = b"%x\r\n%b\r\n" % (len(body), body), b"8\r\ndata: a\n\r\n"
    alone = [event[6:]] if event.startswith(b"data: ") and len(event) > 6 and b"\n" not in event else []
    assert reader.events_alone([whole]) == alone
    assert reader.events_alone([whole, whole, other, whole]) == 2 * alone
    assert reader.events_alone([b"%x\r\n%b\r\n" % (len(body) + 1, body)]) == []
    reader.feed(b"%x\r\n" % len(body))
    assert reader.events_alone([whole]) == []


@given(
    st.binary(max_size=40),
    st.sampled_from([b"%x\r\n", b"%X\r\n", b"0%x\r\n", b"%x;a=b\r\n", b"%x\n", b"%x \r\n"]),
    st.integers(-1, 1),
    st.sampled_from([b"\r\n", b"\n", b"\r\n0\r\n\r\n", b""]),
)
def test_what_looks_like_a_whole_chunk_is_one(payload: bytes, line: bytes, more: int, end: bytes):
    data = line % max(len(payload) + more, 0) + payload + end
    if not (data.startswith(chunk_opening(len(data))) and data.endswith(b"\r\n")):
        return
    reader = ResponseReader()
    reader.feed(CHUNKED)
    assert reader.feed(data) == [data[len(chunk_opening(len(data))) : -2]]
    assert reader.between_chunks


@pytest.mark.parametrize("size", [1, 9, 15, 16, 17, 255, 256, 4095, 4096, 65_520])
def test_a_whole_chunk_is_known_by_its_ends(size: int):
    chunk = b"%x\r\n%b\r\n" % (size, bytes(size))
    assert chunk.startswith(chunk_opening(len(chunk)))


@pytest.mark.parametrize(
    "end", [b"0\r\n\r\n", b"00\r\n\r\n", b"0;x=y\r\n\r\n", b"0\r\nname: value\r\n\r\n", b"", b"\r\n"]
)
def test_the_end_of_a_body_is_never_taken_for_a_chunk(end: bytes):
    assert not end.startswith(chunk_opening(len(end)))


@given(st.lists(st.binary(min_size=1, max_size=400), max_size=12), st.lists(st.integers(0, 4000), max_size=8))
def test_chunks_give_back_the_body_that_was_sent(sent: list[bytes], cuts: list[int]):
    stream = CHUNKED + b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in sent) + b"0\r\n\r\n"
    body, status, _, complete, keeps_alive, fault = outcome(cut_up(stream, cuts))
    assert (body, status, complete, keeps_alive, fault) == (b"".join(sent), 200, True, True, "")


@pytest.mark.parametrize(
    ("stream", "status", "body", "keeps_alive"),
    [
        (STREAM, 200, b"hello0123456789", True),
        (COUNTED, 200, b"hello", False),
        (UNTIL_CLOSE, 200, b"hello\r\n\r\n0\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", 200, b"hello", False),
        (EMPTY, 204, b"", True),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, b"", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, b"", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nab", 200, b"ab", True),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", 200, b"ab", False),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nab", 200, b"ab", True),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow Down\r\nContent-Length: 1\r\n\r\nx", 429, b"x", True),
        # a length beside chunks is overruled by them (RFC 9112, 6.3)
        (CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Length: 9\r\n\r\n") + b"1\r\nx\r\n0\r\n\r\n", 200, b"x", True),
    ],
)
def test_each_kind_of_body_is_read_to_its_end(stream: bytes, status: int, body: bytes, keeps_alive: bool):  # noqa: FBT001
    seen = outcome([stream])
    assert (seen[0], seen[1], seen[3], seen[4], seen[5]) == (body, status, True, keeps_alive, "")


def test_a_response_is_complete_with_its_last_byte_and_not_before():
    for stream in (STREAM, COUNTED, EMPTY):
        reader = ResponseReader()
        reader.feed(stream[:-1])
        assert not reader.complete
        reader.feed(stream[-1:])
        assert reader.complete


def test_the_last_chunk_may_come_in_a_read_of_its_own():
    reader = ResponseReader()
    assert reader.feed(CHUNKED + b"1\r\nx\r\n") == [b"x"]
    assert reader.feed(b"0\r\n\r\n") == []
    assert reader.complete


def test_fields_are_found_by_lower_case_name_and_joined_where_they_came_twice():
    reader = ResponseReader()
    reader.feed(b"HTTP/1.1 200 OK\r\nX-A:  1 \r\nx-a: 2\r\nRetry-After:\r\n\r\n")
    assert reader.headers == {"x-a": "1, 2", "retry-after": ""}


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (b"", "the connection was closed before any answer"),
        (b"HTTP/1.1 2", "the connection was closed in the middle of its head"),
        (CHUNKED[:-2], "the connection was closed in the middle of its head"),
        (CHUNKED, "the connection was closed in the middle of its body"),
        (COUNTED[:-1], "the connection was closed in the middle of its body"),
        (STREAM[:-2], "the connection was closed in the middle of its body"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "not a status line: 'SSH-2.0-OpenSSH_9.6'"),
        (b"HTTP/2 200\r\n", "not a status line: 'HTTP/2 200'"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "not a header field: 'no colon'"),
        (b"HTTP/1.1 200 OK\r\nA: 1\r\n folded\r\n\r\n", "not a header field: ' folded'"),
        (b"HTTP/1.1 101 Go\r\n\r\n", "it switches protocols, which was not asked"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "content-length '-1' is no length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n", "content-length '1, 2' is no length"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "transfer-encoding 'gzip, chunked' is not understood",
        ),
        (CHUNKED + b"0x5\r\nhello", "not a chunk size: '0x5'"),
        (CHUNKED + b"5\nhello", "not a chunk size: '5\\n'"),
        (CHUNKED + b"-1\r\nhello", "not a chunk size: '-1'"),
        (CHUNKED + b"\r\nhello", "not a chunk size: ''"),
        (CHUNKED + b"5\r\nhello!\r\n", "a chunk is followed by '!\\r' instead of a line end"),
        (CHUNKED + b"0\r\nno colon\r\n\r\n", "not a trailer field: 'no colon'"),
        (COUNTED + b"!", "bytes came after its end"),
        (STREAM + b"HTTP/1.1 200 OK\r\n", "bytes came after its end"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 65_536, "its head is too long"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: x\r\n" * 11_000, "its head is too long"),
        (CHUNKED + b"5;" + b"x" * 4_096, "a chunk's size line is too long"),
        (CHUNKED + b"0\r\n" + b"A: x\r\n" * 11_000, "its head is too long"),
    ],
)
def test_a_fault_is_named_exactly(stream: bytes, reason: str):
    assert outcome([stream])[-1] == reason


def test_the_pieces_before_a_fault_are_not_lost():
    reader = ResponseReader()
    with pytest.raises(MalformedResponseError) as caught:
        reader.feed(CHUNKED + b"5\r\nhello\r\nnonsense\r\n")
    assert caught.value.pieces == [b"hello"]


def test_a_connection_that_said_too_much_is_not_used_again():
    reader = ResponseReader()
    reader.feed(EMPTY)
    assert reader.keeps_alive
    with pytest.raises(MalformedResponseError):
        reader.feed(b"x")
    assert not reader.keeps_alive


def test_a_reader_is_freed_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        reader = ResponseReader()
        reader.feed(STREAM)
        before = gc.get_objects()
        assert any(thing is reader for thing in before)
        del before, reader
        assert not any(isinstance(thing, ResponseReader) for thing in gc.get_objects())
    finally:
        gc.enable()
