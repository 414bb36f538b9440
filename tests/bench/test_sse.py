"""Server-sent events come out the same however the bytes were cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.bench import sse
from dayzero.bench.sse import SseSplitter
from dayzero.core.errors import RemoteError

payloads = st.lists(st.binary(max_size=30).map(lambda raw: raw.translate(None, b"\r\n").strip()), max_size=8)
endings = st.sampled_from((b"\n", b"\r\n", b"\r"))


def split(*pieces: bytes) -> list[bytes]:
    splitter = SseSplitter()
    events = [event for piece in pieces for event in splitter.feed(piece)]
    return events + splitter.close()


@given(st.binary(max_size=200) | st.text(alphabet="data: x\r\n", max_size=80).map(str.encode), st.data())
def test_events_do_not_depend_on_where_the_bytes_were_cut(stream: bytes, data: st.DataObject):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert split(*pieces) == split(stream)


@given(payloads, endings)
def test_what_was_sent_comes_out_whatever_ends_the_lines(sent: list[bytes], ending: bytes):
    stream = b"".join(b"data: " + payload + ending * 2 for payload in sent)
    assert split(stream) == sent


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b": a comment\n\ndata: 1\n\n", [b"1"]),
        (b"event: ping\n\ndata: 1\n\n", [b"1"]),
        (b"data:1\n\n", [b"1"]),
        (b"data:  1\n\n", [b" 1"]),
        (b"data: 1\ndata: 2\n\n", [b"1\n2"]),
        (b"data: 1\r\n\r\ndata: 2\n\n", [b"1", b"2"]),
        (b"data: cut off", [b"cut off"]),
        (b"data: no blank line\n", [b"no blank line"]),
        (b"data: 1\rdata: 2\n\n", [b"1\n2"]),
        (b"\xef\xbb\xbfdata: 1\n\n", [b"1"]),
        (b"data:\n\n", [b""]),
        (b"\n\n\n", []),
        (b"", []),
    ],
)
def test_the_rules_of_the_format(stream: bytes, events: list[bytes]):
    assert split(stream) == events


def test_a_line_end_of_two_bytes_may_be_cut_in_the_middle():
    stream = b"data: 1\r\ndata: 2\r\n\r\ndata: 3\r\n\r\n"
    for cut in range(len(stream)):
        assert split(stream[:cut], stream[cut:]) == [b"1\n2", b"3"]
    assert split(*(stream[at : at + 1] for at in range(len(stream)))) == [b"1\n2", b"3"]


def test_a_piece_that_looks_like_an_event_may_be_the_rest_of_one():
    assert split(b"event: ", b"data: 1\n\n") == []
    assert split(b"data: 1\n", b"data: 2\n\n") == [b"1\n2"]


def test_an_event_comes_with_the_piece_that_completes_it():
    splitter = SseSplitter()
    assert splitter.feed(b"data: 1\n") == []
    assert splitter.feed(b"\ndata: 2") == [b"1"]


def test_an_endless_line_is_refused_before_it_fills_the_memory():
    splitter = SseSplitter()
    for _ in range(16):
        splitter.feed(b"x" * 1024 * 1024)
    with pytest.raises(RemoteError, match="larger than 16 MiB"):
        splitter.feed(b"x")


def test_an_event_of_endless_empty_lines_is_refused_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sse, "_LARGEST_EVENT_BYTES", 1024 * 1024)
    splitter = SseSplitter()
    with pytest.raises(RemoteError, match="larger than 16 MiB"):  # noqa: PT012  (one of the feeds)
        for _ in range(17):
            splitter.feed(b"data:\n" * 64 * 1024)
