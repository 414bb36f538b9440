"""The measuring client against a server that keeps a schedule: what is stamped, how many are in flight, when what is sent."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from tests.adapters.measuring.driving import HOW, ListPlan, ask, drive, one
from tests.simulators.openai_server import Behaviour, serving_in_thread
from tests.simulators.raw_server import ANSWER, HEAD, TAIL, Act, chunk, event, raw_server

from dayzero.adapters.measuring.client import INTERRUPTED
from dayzero.adapters.openai_http import Speech
from dayzero.bench.metrics import TTFT
from dayzero.bench.model import Aborted, Exhausted, Request, Row, TextPrompt, Usage, Wait
from dayzero.bench.reads import RECORD, TIMESPEC, Kind

PLAIN = Behaviour(ttft_s=0.03, itl_s=0.002)
CHAT = replace(HOW, route="/v1/chat/completions")


class Read(NamedTuple):
    stamp_ns: int
    user_ns: int
    floor_ns: int


def records_of(raw: bytes) -> Iterator[tuple[int, Read]]:
    at = raw.index(b"\n") + 1
    while at < len(raw):
        kind, _, wire, user_ns, floor_ns, length = RECORD.unpack_from(raw, at)
        seconds, rest = TIMESPEC.unpack(wire)
        yield kind, Read(seconds * 1_000_000_000 + rest, user_ns, floor_ns)
        at += RECORD.size + length


def reads_of(raw: bytes) -> list[Read]:
    return [read for kind, read in records_of(raw) if kind == Kind.READ]


def offset_of(raw: bytes) -> int:
    """Give the real-time clock minus the monotonic one, by the first look at both."""
    look = next(read for kind, read in records_of(raw) if kind == Kind.CLOCK)
    return look.stamp_ns - look.user_ns


def answered(behaviour: Behaviour, request: Request | None = None, *, how: Speech = HOW, timeout_s: float = 20) -> Row:
    with serving_in_thread(behaviour) as server:
        return one(server.url, request, how=how, timeout_s=timeout_s)


def test_a_good_answer_is_a_row_with_every_chunk_stamped_in_order():
    row = answered(PLAIN)
    assert row.ok
    assert row.status == 200
    assert len(row.content_ns) == 4
    stamps = (row.sent_ns, row.sent_by_ns, row.first_byte_ns, *row.content_ns, row.end_ns)
    assert all(earlier <= later for earlier, later in pairwise(stamps))
    assert row.usage == Usage(prompt_tokens=3, completion_tokens=4, cached_tokens=0)
    assert (row.cell, row.phase, row.index, row.input_tokens, row.output_tokens) == ("c1", "measured", 0, 3, 4)


def test_no_stamp_is_earlier_than_what_the_server_did():
    with serving_in_thread(PLAIN) as server:
        row = one(server.url)
        (seen,) = server.seen
    assert row.sent_ns <= seen.received_ns
    # The server notes when a write had returned; its thread may have waited for the interpreter by then.
    assert all(read >= wrote - 10_000_000 for read, wrote in zip(row.content_ns, seen.written_ns, strict=True))
    assert TTFT.values(row)[0] >= 30.0 - 1


@pytest.mark.parametrize(
    ("behaviour", "chunks"),
    [
        (replace(PLAIN, newline=b"\r\n"), 4),
        (replace(PLAIN, newline=b"\r"), 4),
        (replace(PLAIN, comments=True), 4),
        (replace(PLAIN, tokens_per_chunk=3), 2),
        (replace(PLAIN, usage="last"), 4),
        (replace(PLAIN, usage="first"), 4),
        (replace(PLAIN, usage="every"), 4),
        (replace(PLAIN, done=False), 4),
        (replace(PLAIN, finish_reason=False), 4),
        (replace(PLAIN, piece_bytes=7), 4),
        (replace(PLAIN, padding=300_000), 4),
        (replace(PLAIN, header_s=0.02), 4),
    ],
)
def test_every_harmless_habit_of_a_server_is_understood(behaviour: Behaviour, chunks: int):
    row = answered(behaviour)
    assert row.error == ""
    assert len(row.content_ns) == chunks
    assert row.usage == Usage(prompt_tokens=3, completion_tokens=4, cached_tokens=0)


@pytest.mark.parametrize("key", ["content", "reasoning", "reasoning_content"])
def test_a_role_chunk_is_no_token_and_reasoning_is_text(key: Any):
    chat = replace(PLAIN, role_chunk=True, text_key=key, ttft_s=0.05)
    row = answered(chat, ask(prompt=TextPrompt(text="say hello please")), how=CHAT)
    assert row.ok
    assert len(row.content_ns) == 4
    assert row.first_byte_ns < row.content_ns[0]
    assert TTFT.values(row)[0] >= 49


def test_a_server_without_usage_gives_a_row_without_usage():
    row = answered(replace(PLAIN, usage="none"))
    assert row.ok
    assert row.usage is None


def test_cached_tokens_are_kept_and_their_absence_is_not_zero():
    for cached in (2, None):
        usage = answered(replace(PLAIN, cached_tokens=cached)).usage
        assert usage is not None
        assert usage.cached_tokens == cached


@pytest.mark.parametrize(
    ("behaviour", "status", "chunks", "error"),
    [
        (replace(PLAIN, error_after=2), 200, 2, "server: the engine fell over"),
        (replace(PLAIN, malformed_after=2), 200, 2, "not JSON"),
        (replace(PLAIN, close_after=2), 200, 2, "it ended without [DONE] and without a finish_reason"),
        (replace(PLAIN, tokens=0), 200, 0, "no chunk carried"),
        (replace(PLAIN, hang_after=2), 200, 2, "timeout: no end of the answer after 0.5 s"),
    ],
)
def test_a_stream_that_goes_wrong_is_a_row_that_says_so(behaviour: Behaviour, status: int, chunks: int, error: str):
    row = answered(behaviour, timeout_s=0.5 if behaviour.hang_after is not None else 20.0)
    assert error in row.error
    assert (row.status, len(row.content_ns)) == (status, chunks)


def test_a_connection_is_used_again_unless_the_server_is_known_to_close_it():
    requests = [ask(number) for number in range(3)]
    with serving_in_thread(PLAIN) as server:
        assert drive(server.url, requests).connections == server.connections == 1
    with serving_in_thread(PLAIN) as server:
        driven = drive(server.url, requests, how=replace(HOW, keeps_connection=False))
        assert driven.connections == server.connections == 3
        assert {seen.headers["connection"] for seen in server.seen} == {"close"}
    assert all(row.ok and row.new_connection for row in driven.rows)


def test_as_many_requests_as_streams_are_in_flight_and_never_more():
    with serving_in_thread(replace(PLAIN, ttft_s=0.2)) as server:
        driven = drive(server.url, [ask(number) for number in range(12)], streams=4)
        assert server.most_in_flight == 4
    assert all(row.ok for row in driven.rows)
    assert driven.connections == 4


def test_a_read_says_since_when_its_socket_was_known_to_be_empty():
    steps = [HEAD + chunk(event()), 0.1, chunk(event()) + chunk(event(finish=True)) + TAIL]
    with raw_server(steps) as server:
        driven = drive(server.url, [ask()])
    first, second = reads_of(driven.raw)
    offset_ns = offset_of(driven.raw)
    assert first.floor_ns <= first.stamp_ns - offset_ns
    assert first.stamp_ns - offset_ns + 50_000_000 < second.floor_ns <= second.stamp_ns - offset_ns
    assert second.user_ns >= second.stamp_ns - offset_ns


def test_an_open_loop_sends_when_a_request_is_due_and_says_how_late():
    step_ns = 20_000_000
    with serving_in_thread(replace(PLAIN, ttft_s=0.05)) as server:
        rows = drive(server.url, [ask(number, due_ns=number * step_ns) for number in range(10)], streams=10).rows
    assert [row.due_ns - rows[0].due_ns for row in rows] == [number * step_ns for number in range(10)]
    assert all(row.sent_ns >= row.due_ns for row in rows)
    assert min(row.sent_ns - row.due_ns for row in rows) < 20_000_000


def test_an_open_loop_without_a_free_stream_sends_late_and_shows_it():
    with serving_in_thread(replace(PLAIN, ttft_s=0.2)) as server:
        first, second = drive(server.url, [ask(0, due_ns=0), ask(1, due_ns=1)], streams=1).rows
    assert first.sent_ns < second.sent_ns
    assert second.sent_ns - second.due_ns >= 190_000_000


def test_progress_ends_with_everything_done_and_comes_seldom():
    started = time.monotonic()
    with raw_server([0.01, ANSWER]) as server:
        told = drive(server.url, [ask(number) for number in range(30)]).progress
    assert (told[-1].done, told[-1].planned, told[-1].failed, told[-1].in_flight) == (30, 30, 0, 0)
    assert told[-1].received_bytes == 30 * len(ANSWER)
    assert len(told) <= 10 * (time.monotonic() - started) + 2


def test_a_plan_hears_the_text_of_an_answer_where_it_converses():
    with serving_in_thread(PLAIN) as server:
        plan = ListPlan([ask(0), ask(1)])
        drive(server.url, plan, turns=2)
    assert plan.replies == ["xxxx", "xxxx"]


def test_ctrl_c_ends_at_once_and_keeps_what_came():
    with raw_server(lambda number: [ANSWER] if number < 5 else [Act.HANG]) as server:
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        driven = drive(server.url, [ask(number) for number in range(10)], timeout_s=60)
    assert driven.ending == Aborted(reason=INTERRUPTED)
    assert len(driven.rows) == 5
    assert driven.parsed.interrupted == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@dataclass
class Stuck:
    """Waits for an answer to nothing."""

    heard: list[int] = field(default_factory=list)

    def take(self, elapsed_ns: int) -> Request | Wait | Exhausted:
        self.heard.append(elapsed_ns)
        return Wait(None)

    def ended(self, request: Request, elapsed_ns: int, reply: Callable[[], str]) -> None:  # noqa: ARG002  (the port's)
        raise AssertionError


def test_a_plan_that_waits_for_nothing_does_not_hang_the_client():
    ending = drive("http://127.0.0.1:1", Stuck()).ending
    assert isinstance(ending, Aborted)
    assert "none is due" in ending.reason


STALLED = """
import sys
from tests.adapters.measuring.driving import ask, drive
rows = drive(sys.argv[1], [ask(number, output_tokens=40) for number in range(40)], streams=4).rows
for row in rows:
    first = dict(row.censored).get(0, row.content_ns[0])
    print(int(row.ok), (row.content_ns[0] - row.sent_ns) / 1e6, (first - row.sent_ns) / 1e6)
"""


def test_a_client_that_is_stopped_for_a_while_measures_right_or_says_where_it_cannot_know():
    with serving_in_thread(Behaviour(ttft_s=0.1, itl_s=0.01)) as server:
        process = subprocess.Popen([sys.executable, "-c", STALLED, server.url], stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        while process.poll() is None and len(server.seen) < 38:
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.04)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.16)
        out, _ = process.communicate(timeout=60)
        truth = sorted((seen.written_ns[0] - seen.received_ns) / 1e6 for seen in server.seen)
    rows = [tuple(map(float, line.split())) for line in out.splitlines()]
    assert len(rows) == 40
    assert all(ok for ok, _, _ in rows)
    # The server's own delays are the truth; a request that a stopped client could not send earlier counts from its send.
    latest, slack = truth[-1], 45
    assert all(earliest <= latest + slack and last >= 99.9 for _, last, earliest in rows)
    exact = sorted(last for _, last, earliest in rows if last == earliest)
    assert exact[len(exact) // 2] <= truth[len(truth) // 2] + 5
