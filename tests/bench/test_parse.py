"""Rows are made of raw reads: what came, when it came, and how well that is known."""

import pytest
from tests.bench.raw_reads import (
    DONE,
    FIRST,
    HEAD,
    HEADER,
    LAST,
    MS,
    REAL,
    STEP,
    T0,
    TAIL,
    Reads,
    begun,
    chunk,
    delta,
    event,
    planned,
    row_of,
    stream,
    text,
    ticks,
    usage,
)

from dayzero.bench.model import Row, Usage
from dayzero.bench.openai import read_usage
from dayzero.bench.parse import parse
from dayzero.bench.reads import Kind, encode_header


def test_a_plain_stream_has_the_stamps_of_its_reads():
    row = row_of(HEAD + chunk(text()), chunk(text()), chunk(text()), *TAIL)
    assert row == Row(
        number=0,
        cell="c1",
        phase="measured",
        index=0,
        input_tokens=8,
        output_tokens=3,
        due_ns=T0,
        sent_ns=T0,
        sent_by_ns=T0 + MS,
        first_byte_ns=FIRST,
        first_event_ns=FIRST,
        content_ns=ticks(0, 1, 2),
        answer_ns=FIRST,
        censored=(),
        end_ns=FIRST + 4 * STEP,
        lag_ns=2 * MS,
        new_connection=False,
        status=200,
        usage=Usage(prompt_tokens=8, completion_tokens=3, cached_tokens=0),
        error="",
    )


def test_without_kernel_stamps_those_of_the_client_stand_and_the_lag_is_unknown():
    row = row_of(HEAD + chunk(text()), *TAIL, stamped=False)
    assert (row.content_ns, row.lag_ns) == ((FIRST + 2 * MS,), -1)


@pytest.mark.parametrize(
    ("parts", "content", "answer", "reasoning"),
    [
        pytest.param(
            [HEAD + chunk(delta(role="assistant", content="")), chunk(delta(content="a")), chunk(delta(content="b"))],
            ticks(1, 2),
            1,
            0,
            id="an early role chunk is no token",
        ),
        pytest.param(
            [HEAD + chunk(text("a b c d")), chunk(text("e f g h"))], ticks(0, 1), 0, 0, id="four tokens a chunk"
        ),
        pytest.param(
            [
                HEAD + chunk(delta(role="assistant", reasoning_content="h")),
                chunk(delta(reasoning="m")),
                chunk(delta(content="42")),
                chunk(delta(content="", reasoning="")),
            ],
            ticks(0, 1, 2),
            2,
            2,
            id="reasoning under both its names, then the answer",
        ),
        pytest.param(
            [HEAD + chunk(delta(tool_calls=[{"index": 0}])), chunk(delta(function_call={"name": "f"}))],
            ticks(0, 1),
            0,
            0,
            id="tool calls",
        ),
        pytest.param(
            [HEAD + chunk(delta(content="a", reasoning="b"))], ticks(0), 0, 0, id="answer and reasoning in one chunk"
        ),
        pytest.param([HEAD + chunk(delta(reasoning="b"))], ticks(0), None, 1, id="no answer but reasoning"),
    ],
)
def test_what_counts_as_content(parts: list[bytes], content: tuple[int, ...], answer: int | None, reasoning: int):
    row = row_of(*parts, *TAIL)
    assert (row.content_ns, row.reasoning_chunks, row.error) == (content, reasoning, "")
    assert row.answer_ns == (0 if answer is None else FIRST + answer * STEP)


def test_first_byte_first_event_and_first_content_are_told_apart():
    role = delta(role="assistant", content="")
    row = row_of(HEAD, chunk(role[:9]), chunk(role[9:]), chunk(delta(content="x")), *TAIL)
    assert (row.first_byte_ns, row.first_event_ns, row.content_ns) == (*ticks(1, 2), ticks(3))


def test_an_event_has_the_stamp_of_the_read_that_completed_it():
    whole = HEAD + chunk(text("a")) + chunk(text("b"))
    row = row_of(whole[:-5], whole[-5:], *TAIL)
    assert (row.content_ns, row.censored) == (ticks(0, 1), ())


def test_a_kernel_stamp_that_no_look_at_the_clocks_explains_is_not_used():
    reads = Reads()
    stream(reads, 0, [HEAD + chunk(text()) + chunk(DONE) + LAST])
    (row,) = reads.parsed().rows
    assert (row.content_ns, row.lag_ns) == ((FIRST + 2 * MS,), -1)


def test_events_before_the_last_one_of_a_read_are_known_no_better_than_the_read():
    row = row_of(HEAD + chunk(text("a")), chunk(text("b"), text("c")) + chunk(text("d")) + chunk(usage()), *TAIL)
    assert row.content_ns == ticks(0, 1, 1, 1)
    earliest = FIRST + STEP // 2
    assert row.censored == ((1, earliest), (2, earliest), (3, earliest))  # counts came behind it, maybe later


@pytest.mark.parametrize(("width_ns", "censored"), [(50_000, 0), (50_001, 1)])
def test_an_arrival_that_is_known_well_enough_is_not_censored(width_ns: int, censored: int):
    reads = begun()
    reads.sent(planned(), T0)
    reads.read(0, FIRST, HEAD + chunk(text("a"), text("b")) + chunk(DONE) + LAST, floor_ns=FIRST - width_ns)
    reads.end(0, FIRST)
    assert len(reads.parsed().rows[0].censored) == censored


def test_an_arrival_is_never_put_before_the_read_before():
    reads = begun()
    reads.sent(planned(), T0)
    reads.read(0, FIRST, HEAD)
    reads.read(0, FIRST + STEP, chunk(text("a"), text("b")), floor_ns=T0)
    reads.end(0, FIRST + STEP)
    assert reads.parsed().rows[0].censored == ((0, FIRST),)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param([event({"choices": [], "usage": None})], None, id="usage that is null"),
        pytest.param(
            [usage(cached=None)], Usage(prompt_tokens=8, completion_tokens=3, cached_tokens=None), id="no cache"
        ),
        pytest.param(
            [usage(completion=1), usage(completion=2), usage(completion=3, cached=4)],
            Usage(prompt_tokens=8, completion_tokens=3, cached_tokens=4),
            id="usage in each chunk: the last one counts",
        ),
        pytest.param([], None, id="none at all"),
    ],
)
def test_usage_is_what_the_server_said_last(parts: list[bytes], expected: Usage | None):
    row = row_of(HEAD + chunk(text()), *(chunk(part) for part in parts), chunk(DONE) + LAST)
    assert (row.usage, row.error) == (expected, "")


PLAIN = b"HTTP/1.1 429 Too Many\r\nContent-Length: %d\r\n\r\n%b"


def refusal(body: bytes) -> bytes:
    return PLAIN % (len(body), body)


@pytest.mark.parametrize(
    ("parts", "status", "error"),
    [
        ([refusal(b'{"error":{"message":"slow\\ndown"}}')], 429, "http 429: slow down"),
        ([refusal(b'{"detail":"no"}')], 429, "http 429: no"),
        ([refusal(b'{"error":"no"}')], 429, "http 429: no"),
        ([refusal(b"<html>" + b"x" * 9_000)], 429, "http 429: <html>" + "x" * 294),
        ([refusal(b"")], 429, "http 429"),
        ([refusal(b"abc")[:-1]], 429, "http 429: ab"),
        ([HEAD + chunk(text()), chunk(event({"error": {"message": "out of memory"}})) + LAST], 200, "server: out of memory"),
        ([HEAD + chunk(text()), chunk(event({"error": {"code": 5}})) + LAST], 200, 'server: {"code":5}'),
        (
            [HEAD + chunk(b"data: {nope}\n\n") + LAST],
            200,
            "malformed: not JSON (JSON is malformed: object keys must be strings (byte 1)): {nope}",
        ),
        ([HEAD + chunk(b"data: [1]\n\n") + LAST], 200, "malformed: not a JSON object: [1]"),
        (
            [HEAD + chunk(text()) + LAST],
            200,
            "stream: it ended without [DONE] and without a finish_reason (text/event-stream)",
        ),
        ([HEAD + chunk(DONE) + LAST], 200, "stream: no chunk carried text"),
        (
            [HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") + chunk(b"\x1f\x8b") + LAST],
            200,
            "stream: the server compressed it against the request, so nothing can be stamped",
        ),
        (
            [HEAD + chunk(text()) + b"zz\r\n"],
            200,
            "malformed response: not a chunk size: 'zz'",
        ),
        (
            [HEAD + chunk(text())],
            200,
            "malformed response: the connection was closed in the middle of its body",
        ),
        ([b"HTTP/1.1 200 OK\r\n\r\n" + text() + DONE], 200, ""),
        ([HEAD + chunk(text(finish_reason="length")) + LAST], 200, ""),
        ([HEAD + chunk(text(), b"data: [DONE]") + LAST], 200, ""),
    ],
)  # fmt: skip
def test_what_went_wrong_is_in_the_row(parts: list[bytes], status: int, error: str):
    row = row_of(*parts)
    assert (row.status, row.error) == (status, error)


def test_what_was_seen_before_a_fault_is_kept_and_nothing_after_it():
    row = row_of(HEAD + chunk(text()), chunk(text()), chunk(b"data: {\n\n"), chunk(text()), *TAIL)
    assert row.content_ns == ticks(0, 1)
    assert row.end_ns == FIRST + 6 * STEP
    assert row.error.startswith("malformed: not JSON")


def test_chunks_of_an_odd_shape_count_for_what_they_hold():
    odd = event(
        {
            "choices": [7, {"delta": "x", "text": "a", "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 8, "completion_tokens": 1},
        }
    )
    row = row_of(HEAD + chunk(odd) + LAST)
    assert (row.content_ns, row.error) == (ticks(0), "")
    assert row.usage == Usage(prompt_tokens=8, completion_tokens=1, cached_tokens=None)
    assert row_of(HEAD + chunk(event({"choices": {}}))).content_ns == ()


def test_the_client_s_own_error_stands_where_the_stream_has_none():
    reads = Reads()
    reads.sent(planned(0), T0)
    reads.read(0, FIRST, HEAD + chunk(text()))
    reads.end(0, FIRST + MS, "timeout: no end of the answer after 1 s")
    reads.sent(planned(1), 0)
    reads.end(1, FIRST + 2 * MS, "ConnectionRefusedError: connection refused")
    first, second = reads.parsed().rows
    assert (first.error, first.end_ns) == ("timeout: no end of the answer after 1 s", FIRST + MS)
    assert (second.sent_ns, second.status, second.lag_ns) == (0, 0, -1)
    assert second.error == "ConnectionRefusedError: connection refused"


def test_what_was_planned_is_in_the_row():
    reads = Reads()
    reads.record(Kind.OPENED, 7)
    plan = planned(7, phase="warmup", index=3, session=2, turn=1, exact=False, due_ns=5 * MS, input_tokens=0)
    reads.sent(plan, T0, origin_ns=T0 - 6 * MS)
    reads.end(7, T0, "x")
    (row,) = reads.parsed().rows
    assert (row.number, row.phase, row.index, row.session, row.turn) == (7, "warmup", 3, 2, 1)
    assert (row.exact, row.due_ns, row.new_connection) == (False, T0 - MS, True)


def test_a_request_that_was_interrupted_has_no_row_and_its_last_attempt_counts():
    reads = Reads()
    reads.sent(planned(0), T0)
    reads.read(0, FIRST, HEAD + chunk(text("first attempt")))
    reads.sent(planned(1), T0)
    reads.record(Kind.RESUMED, user_ns=2 * T0)
    reads.clock(2 * T0)
    stream(reads, 0, [HEAD + chunk(text()) + chunk(DONE) + LAST], start_ns=3 * T0)
    reads.sent(planned(2), 4 * T0)
    parsed = reads.parsed()
    assert [(row.number, row.sent_ns, row.content_ns) for row in parsed.rows] == [(0, 3 * T0, (3 * T0 + 50 * MS,))]
    assert parsed.interrupted == 1
    assert parsed.holes == ((T0, 2 * T0),)
    assert [row.hole_ns for row in parsed.rows] == [T0] + [0] * (len(parsed.rows) - 1)


@pytest.mark.parametrize(
    ("moved_ns", "bracket_ns", "reported"),
    [(0, 0, 0), (300_000, 0, 300_000), (-300_000, 0, 300_000), (300_000, 100_000, 200_000), (50_000, 100_000, 0)],
)
def test_a_clock_that_moved_is_followed_in_a_straight_line_and_reported(moved_ns: int, bracket_ns: int, reported: int):
    reads = Reads()
    reads.clock(T0, bracket_ns)
    reads.sent(planned(), T0)
    for tenth in range(5, 10):
        reads.skew_ns = REAL + moved_ns * tenth // 10
        reads.read(0, T0 + 10 * tenth * MS, (HEAD if tenth == 5 else b"") + chunk(text()))
    reads.end(0, T0 + 95 * MS, "")
    reads.skew_ns = REAL + moved_ns
    reads.clock(T0 + 100 * MS, bracket_ns)
    parsed = reads.parsed()
    assert parsed.clock_moved_ns == reported
    stamps = parsed.rows[0].content_ns
    assert stamps == pytest.approx([T0 + 10 * tenth * MS for tenth in range(5, 10)], abs=200)


def test_a_clock_that_was_set_between_two_processes_has_not_moved():
    reads = Reads()
    reads.clock(T0)
    reads.record(Kind.RESUMED, user_ns=2 * T0)
    reads.skew_ns += 3_600_000 * MS
    reads.clock(2 * T0)
    stream(reads, 0, [HEAD + chunk(text()) + chunk(DONE) + LAST], start_ns=3 * T0)
    parsed = reads.parsed()
    assert (parsed.clock_moved_ns, parsed.rows[0].content_ns) == (0, (3 * T0 + 50 * MS,))


def test_every_read_has_a_lag_in_the_sample():
    reads = begun()
    reads.sent(planned(), T0)
    for lag_ns in (3_000_000, 1_000, 2_000_000, 2_000_999, -40):
        reads.read(0, FIRST, b"", lag_ns=lag_ns)
    reads.end(0, FIRST)
    assert reads.parsed().lag_ms == (0.0, 0.001, 2.0, 2.0, 3.0)


def test_more_than_a_hundred_thousand_lags_are_thinned_evenly_and_the_largest_stays():
    reads = begun()
    reads.sent(planned(), T0)
    for lag_us in range(1_500):
        reads.read(0, FIRST, b"", lag_ns=lag_us * 1_000)
    alike = b"".join(reads.records[2:]) * 100
    reads.records[2:] = [alike]
    reads.read(0, FIRST, b"", lag_ns=9_000_000)
    parsed = parse((encode_header(HEADER) + b"".join(reads.records),), read_usage)
    assert len(parsed.lag_ms) == 75_001
    assert (parsed.lag_ms[0], parsed.lag_ms[37_500], parsed.lag_ms[-2:]) == (0.0, 0.75, (1.499, 9.0))
