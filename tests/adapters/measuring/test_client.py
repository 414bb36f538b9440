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
from tests.adapters.measuring.driving import CLOCKS_NS, HOW, ListPlan, Looks, ask, drive, one
from tests.simulators.openai_server import Behaviour, serving_in_thread
from tests.simulators.raw_server import ANSWER, HEAD, TAIL, Act, chunk, event, raw_server

from dayzero.adapters.measuring.client import INTERRUPTED
from dayzero.adapters.measuring.loop import Loop
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
    assert all(read >= wrote - CLOCKS_NS for read, wrote in zip(row.content_ns, seen.written_ns, strict=True))
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
    assert row.first_byte_ns <= row.content_ns[0]
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
        (replace(PLAIN, hang_after=2), 200, 2, "timeout: no end of the answer after 2 s"),
    ],
)
def test_a_stream_that_goes_wrong_is_a_row_that_says_so(behaviour: Behaviour, status: int, chunks: int, error: str):
    row = answered(behaviour, timeout_s=2 if behaviour.hang_after is not None else 20.0)
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


@pytest.mark.parametrize("tokens", [1, 4, 100])
def test_the_end_of_an_answer_is_seen_in_its_last_bytes_and_not_only_when_it_has_been_silent(
    monkeypatch: pytest.MonkeyPatch, tokens: int
):
    monkeypatch.setattr(Loop, "give_up", lambda _loop, _now: None)
    request = ask(output_tokens=tokens)
    row = answered(Behaviour(ttft_s=0.01, itl_s=0.0005), request)
    assert row.ok
    assert len(row.content_ns) == tokens


def test_as_many_requests_as_streams_are_in_flight_and_never_more():
    together = threading.Barrier(4, timeout=20)  # none of four is answered before all four have come
    with raw_server([together.wait, ANSWER]) as server:
        driven = drive(server.url, [ask(number) for number in range(12)], streams=4)
    assert all(row.ok for row in driven.rows)
    assert driven.connections == server.connections == 4


def test_a_read_says_since_when_its_socket_was_known_to_be_empty(monkeypatch: pytest.MonkeyPatch):
    looks = Looks.noted(monkeypatch)
    steps = [HEAD + chunk(event()), lambda: looks.wait_for(5), chunk(event()) + chunk(event(finish=True)) + TAIL]
    with raw_server(steps) as server:
        driven = drive(server.url, [ask()])
    first, second = reads_of(driven.raw)
    offset_ns = offset_of(driven.raw)
    assert first.floor_ns <= first.stamp_ns - offset_ns + CLOCKS_NS
    assert first.user_ns < second.floor_ns <= second.stamp_ns - offset_ns + CLOCKS_NS
    looked = [done for done in looks.done_ns if first.user_ns < done]
    assert second.floor_ns <= second.user_ns
    assert second.floor_ns >= looked[1]  # two more looks at least had found it empty


@dataclass
class Schedule(ListPlan):
    """Notes until when it had the client wait, at each look of the loop."""

    looks: Looks = field(default_factory=Looks)
    waits: list[tuple[int, int]] = field(default_factory=list)

    def take(self, elapsed_ns: int) -> Request | Wait | Exhausted:
        taken = super().take(elapsed_ns)
        if isinstance(taken, Wait) and taken.until_ns is not None:
            self.waits.append((len(self.looks.wakes_ns), taken.until_ns))
        return taken


def test_an_open_loop_sends_when_a_request_is_due_whatever_the_server_does_and_says_how_late(
    monkeypatch: pytest.MonkeyPatch,
):
    looks = Looks.noted(monkeypatch)
    step_ns = 7_000_000
    together = threading.Barrier(10, timeout=20)  # no answer comes before the last request
    plan = Schedule([ask(number, due_ns=number * step_ns) for number in range(10)], looks=looks)
    with raw_server([together.wait, ANSWER]) as server:
        rows = drive(server.url, plan, streams=10).rows
    origin_ns = rows[0].due_ns
    assert [row.due_ns - origin_ns for row in rows] == [number * step_ns for number in range(10)]
    assert all(row.due_ns <= row.sent_ns for row in rows)
    assert [row.sent_ns for row in rows] == sorted(row.sent_ns for row in rows)
    # How late the machine lets it be is nobody's fault; waiting beyond the instant would be the client's.
    assert all(looks.wakes_ns[look] <= origin_ns + until_ns for look, until_ns in plan.waits)


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


def test_who_is_told_of_the_progress_can_end_the_cell_and_what_came_is_kept():
    with raw_server([0.03, ANSWER]) as server:
        driven = drive(server.url, [ask(number) for number in range(100)], enough=8)
    assert isinstance(driven.ending, Aborted)
    done = driven.progress[-1].done
    assert driven.ending.reason == f"seen {done}"
    assert 8 <= done == len(driven.rows) < 100


def test_a_plan_hears_the_text_of_an_answer_where_it_converses():
    with serving_in_thread(PLAIN) as server:
        plan = ListPlan([ask(0), ask(1)])
        drive(server.url, plan, turns=2)
    assert plan.replies == ["xxxx", "xxxx"]


def test_ctrl_c_ends_at_once_and_keeps_what_came():
    interrupt = [lambda: os.kill(os.getpid(), signal.SIGINT), Act.HANG]
    with raw_server(lambda number: [ANSWER] if number < 5 else interrupt) as server:
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
from dayzero.bench.model import TokenPrompt
from tests.adapters.measuring.driving import ask, drive
requests = [ask(number, output_tokens=40, prompt=TokenPrompt(ids=(5, 6, number))) for number in range(40)]
for row in drive(sys.argv[1], requests, streams=4).rows:
    first = dict(row.censored).get(0, row.content_ns[0])
    print(row.number, int(row.ok), first, row.content_ns[0])
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
        wrote = {seen.body["prompt"][2]: (seen.written_ns[0], seen.handed_over_ns[0]) for seen in server.seen}
    rows = [tuple(map(int, line.split())) for line in out.splitlines()]
    assert [number for number, ok, _, _ in rows if ok] == list(range(40))
    # Both looked at one clock: the kernel had the bytes between the server's look before it wrote them and the one after.
    for number, _, earliest, latest in rows:
        before, after = wrote[number]
        assert earliest <= after + CLOCKS_NS
        assert latest >= before - CLOCKS_NS
    assert sum(earliest == latest for _, _, earliest, latest in rows) >= 10
