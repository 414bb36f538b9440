"""Servers that break off, stall, lie about their framing or deliver byte by byte: each request becomes a row, none a hang."""

import socket
import threading
import time
from collections.abc import Sequence
from itertools import pairwise

import pytest
from tests.adapters.measuring.driving import CLOCKS_NS, Looks, ask, drive, one
from tests.simulators.raw_server import (
    ANSWER,
    DONE,
    END,
    HEAD,
    TAIL,
    USAGE,
    Act,
    Step,
    chunk,
    event,
    raw_server,
)

from dayzero.adapters.measuring import loop
from dayzero.bench.model import Aborted, Completed, Row, TextPrompt, Usage

TWO = event() + event(finish=True) + USAGE + DONE


def answered(steps: Sequence[Step], *, timeout_s: float = 20.0) -> Row:
    with raw_server(steps) as server:
        return one(server.url, timeout_s=timeout_s)


def whole(row: Row) -> bool:
    usage = Usage(prompt_tokens=3, completion_tokens=2, cached_tokens=None)
    return row.error == "" and row.status == 200 and len(row.content_ns) == 2 and row.usage == usage


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([ANSWER], id="in one piece"),
        pytest.param([ANSWER[at : at + 1] for at in range(len(ANSWER))], id="byte by byte"),
        pytest.param([ANSWER[:20], 0.05, ANSWER[20:60], 0.05, ANSWER[60:]], id="a slow head"),
        pytest.param([HEAD, 0.02, chunk(event()), 0.02, chunk(event(finish=True)), 0.02, TAIL], id="chunk by chunk"),
        pytest.param([ANSWER[:-1], 0.05, ANSWER[-1:]], id="its last byte alone"),
        pytest.param([ANSWER[:-2], 0.05, ANSWER[-2:]], id="its last line alone"),
        pytest.param([ANSWER[: -len(END)] + b"0\r\nx-trailer: 1\r\n\r\n"], id="with a trailer"),
        pytest.param([HEAD, chunk(event()) + chunk(event(finish=True)), 0.02, TAIL, Act.CLOSE], id="then closed"),
        pytest.param([b"HTTP/1.1 200 OK\r\n\r\n" + TWO[:70], 0.05, TWO[70:], Act.CLOSE], id="ended by the close"),
        pytest.param(
            [b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(TWO), TWO[:-3], 0.05, TWO[-3:]], id="counted"
        ),
        pytest.param([b"HTTP/1.1 100 Continue\r\n\r\n", 0.02, ANSWER], id="after an informational response"),
        pytest.param(
            [HEAD + chunk(event("x" * 10_000_000)), 0.02, chunk(event(finish=True)) + TAIL], id="a chunk of 10 MB"
        ),
    ],
)
def test_a_whole_answer_is_whole_however_it_is_delivered(steps: Sequence[Step]):
    assert whole(answered(steps))


@pytest.mark.parametrize(
    ("steps", "status", "chunks", "error"),
    [
        ([Act.CLOSE], 0, 0, "the connection was closed before any answer"),
        ([Act.RESET], 0, 0, "reset"),
        ([b"HTTP/1.1 2"], 0, 0, "timeout: no end of the answer after 0.3 s"),
        ([b"HTTP/1.1 2", Act.CLOSE], 0, 0, "closed in the middle of its head"),
        ([b"SMTP ready\r\n"], 0, 0, "not a status line"),
        ([HEAD + chunk(event()), Act.CLOSE], 200, 1, "closed in the middle of its body"),
        ([HEAD + chunk(event()), 0.05, Act.RESET], 200, 1, "reset"),
        ([HEAD + chunk(event()), Act.HANG], 200, 1, "timeout: no end of the answer after 2 s"),
        ([Act.HANG], 0, 0, "timeout: no end of the answer after 0.3 s"),
        ([HEAD + chunk(event()) + b"zz\r\n\r\n"], 200, 1, "not a chunk size"),
        ([HEAD + b"3\r\nabcX\r\n\r\n"], 200, 0, "instead of a line end"),
        ([HEAD + b"f" * 5000], 200, 0, "too long"),
        ([b"HTTP/1.1 200 OK\r\n" + b"x" * 70_000], 0, 0, "its head is too long"),
        ([HEAD + chunk(b"data: {\n\n") + END], 200, 0, "not JSON"),
        ([ANSWER + b"more"], 200, 2, "bytes came after its end"),
    ],
)
def test_every_failure_is_a_row_that_says_what_happened(steps: Sequence[Step], status: int, chunks: int, error: str):
    timeout_s = (2 if chunks else 0.3) if error.startswith("timeout") else 20  # what came before it has to be there
    row = answered(steps, timeout_s=timeout_s)
    assert error in row.error.lower() or error in row.error
    assert (row.status or 0, len(row.content_ns)) == (status, chunks)
    assert 0 < row.sent_ns <= row.end_ns


@pytest.mark.parametrize("status", [429, 500])
def test_a_refusal_is_kept_with_its_whole_body_and_the_connection_goes_on(status: int):
    body = b'{"error":{"message":"slow down"}}'
    refusal = b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body)
    with raw_server([refusal]) as server:
        driven = drive(server.url, [ask(0), ask(1)])
    assert [row.status for row in driven.rows] == [status, status]
    assert all("slow down" in row.error for row in driven.rows)
    assert driven.connections == 1


def test_the_connection_of_a_failed_answer_is_not_used_again():
    with raw_server(lambda number: [HEAD + b"zz\r\n"] if number == 0 else [ANSWER]) as server:
        driven = drive(server.url, [ask(0), ask(1)])
    assert not driven.rows[0].ok
    assert whole(driven.rows[1])
    assert driven.connections == 2


@pytest.fixture
def slow_goodbyes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a close that crossed a request come as late as a busy machine brings it."""
    monkeypatch.setattr(loop, "_CROSSED_NS", 20_000_000_000)


@pytest.mark.usefixtures("slow_goodbyes")
def test_an_idle_connection_that_the_server_closed_is_opened_anew_and_the_request_is_sent_once_more():
    # The first answer is whole and announces to go on; the second request meets a connection that is closed without a word.
    with raw_server(lambda number: [Act.CLOSE] if number == 1 else [ANSWER]) as server:
        driven = drive(server.url, [ask(0), ask(1)])
    assert all(whole(row) for row in driven.rows)
    assert driven.connections == 2
    assert len(server.requests) == 3
    assert [row.new_connection for row in driven.rows] == [True, True]


@pytest.mark.usefixtures("slow_goodbyes")
def test_a_request_is_sent_once_more_only_once():
    with raw_server(lambda number: [Act.CLOSE] if number else [ANSWER]) as server:
        driven = drive(server.url, [ask(0), ask(1)])
    assert "closed before any answer" in driven.rows[1].error
    assert len(server.requests) == 3


@pytest.mark.usefixtures("slow_goodbyes")
def test_a_connection_that_closes_while_it_is_idle_is_noticed():
    with raw_server([ANSWER, Act.CLOSE]) as server:
        driven = drive(server.url, [ask(0), ask(1, due_ns=100_000_000)])
    assert all(whole(row) for row in driven.rows)
    assert len(server.requests) == 2


def test_a_server_that_is_gone_ends_the_run_after_as_many_unanswered_requests_as_streams():
    with raw_server([ANSWER]) as server:
        url = server.url
    driven = drive(url, [ask(number) for number in range(50)], streams=5)
    assert isinstance(driven.ending, Aborted)
    assert "the endpoint answered none of the last 5 requests: ConnectionRefusedError" in driven.ending.reason
    assert len(driven.rows) == 5
    assert {(row.status, row.sent_ns, row.content_ns) for row in driven.rows} == {(0, 0, ())}
    assert all(row.end_ns > 0 for row in driven.rows)


def test_a_few_lost_requests_do_not_end_the_run():
    with raw_server(lambda number: [Act.RESET] if number % 2 else [ANSWER]) as server:
        driven = drive(server.url, [ask(number) for number in range(8)], streams=1)
    assert isinstance(driven.ending, Completed)
    assert len(driven.rows) == 8


def test_stamps_are_in_order_and_those_of_the_kernel(monkeypatch: pytest.MonkeyPatch):
    looks = Looks.noted(monkeypatch)
    row = answered(
        [0.03, HEAD + chunk(event()), lambda: looks.wait_for(3), 0.02, chunk(event(finish=True)), 0.01, TAIL]
    )
    stamps = (row.sent_ns, row.sent_by_ns, row.first_byte_ns, *row.content_ns, row.end_ns)
    assert all(earlier <= later for earlier, later in pairwise(stamps))
    assert row.lag_ns >= 0
    assert row.content_ns[0] - row.sent_ns >= 30_000_000
    assert row.content_ns[1] - row.content_ns[0] >= 20_000_000


def test_an_answer_that_does_not_wait_for_the_whole_request_is_read():
    # 8 MB do not fit into the socket's buffers; the server refuses after the first bytes.
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)

    def refuse() -> None:
        connection, _ = listener.accept()
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 20):
            pass
        connection.close()

    thread = threading.Thread(target=refuse)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    row = one(url, ask(prompt=TextPrompt(text="word " * 1_600_000)), timeout_s=10)
    thread.join()
    listener.close()
    assert row.status == 413


def test_ipv6_is_spoken():
    try:
        with raw_server([ANSWER], family=socket.AF_INET6) as server:
            assert whole(one(server.url))
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")


@pytest.mark.parametrize("end", [Act.CLOSE, Act.RESET])
def test_a_request_that_a_server_took_and_gave_up_is_not_sent_again(end: Act):
    with raw_server(lambda number: [0.2, end] if number == 1 else [ANSWER]) as server:
        driven = drive(server.url, [ask(number) for number in range(3)])
    assert [row.ok for row in driven.rows] == [True, False, True]
    assert len(server.requests) == 3


@pytest.mark.parametrize("last", [b"0\r\n\n", b"0\r\nx-trailer: 1\n\n", b"0\r\nx-trailer: 1\n\r\n"])
def test_an_end_in_a_form_that_nobody_writes_is_found_and_has_its_own_stamp(last: bytes):
    wrote: list[int] = []
    steps = [HEAD, 0.02, ANSWER[len(HEAD) : -len(END)] + last, lambda: wrote.append(time.monotonic_ns())]
    row = answered(steps, timeout_s=5)
    assert whole(row)
    assert row.end_ns <= wrote[0] + CLOCKS_NS  # not the instant at which it was found


def test_an_interim_answer_does_not_keep_the_rest_of_a_request_from_being_sent():
    # 8 MB do not fit into the socket's buffers, so the interim answer comes before the request is whole.
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)

    def go_on() -> None:
        connection, _ = listener.accept()
        got = len(connection.recv(1000))
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.1)
        while got < 8_000_000 and (piece := connection.recv(1 << 20)):
            got += len(piece)
        connection.sendall(ANSWER)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 20):
            pass
        connection.close()

    thread = threading.Thread(target=go_on)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    row = one(url, ask(prompt=TextPrompt(text="word " * 1_600_000)), timeout_s=20)
    thread.join()
    listener.close()
    assert whole(row)
