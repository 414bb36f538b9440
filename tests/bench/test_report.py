"""When figures must not be believed."""

from typing import Any

import pytest
from tests.bench.sample_rows import MS, row, rows

from dayzero.bench.document import of_report
from dayzero.bench.model import Aborted, Environment, Finished, Row, Usage
from dayzero.bench.report import Report, achieved_in_flight, report
from dayzero.core.workload import Cell, Workload

QUIET = Environment(client="dayzero test", cores=2, load_before=0.5, load_after=0.75)
CELL = Cell(name="c1", concurrency=1, requests=20, warmup_requests=1, input_tokens=8, output_tokens=3)
WARM = row(phase="warmup", sent_ns=10 * MS, first_byte_ns=50 * MS, content_ns=(60 * MS,), end_ns=100 * MS)


def judge(*measured: Row, environment: Environment = QUIET, lag_ms: tuple[float, ...] = (0.1,)) -> Report:
    outcome = Finished(rows=(WARM, *measured), lag_ms=lag_ms)
    return report(outcome, Workload(seed=1, cells=(CELL,)), environment)


def last(**changes: Any) -> tuple[Row, ...]:
    """Twenty rows, the last one changed."""
    whole = rows(20)
    stamps = {name: getattr(whole[-1], name) for name in ("index", "sent_ns", "first_byte_ns", "content_ns", "end_ns")}
    return (*whole[:-1], row(**(stamps | changes)))


def test_twenty_good_rows_are_believed():
    judged = judge(*rows(20))
    assert judged.valid
    assert judged.invalid_because == ()
    assert judged.notes == ()
    assert (judged.cells[0].measured, judged.cells[0].failed) == (20, 0)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"usage": None}, "c1: the server reports no usage: token rates are undecided"),
        (
            {"usage": Usage(prompt_tokens=9, completion_tokens=3, cached_tokens=0)},
            "c1: 8 prompt tokens were planned, the server counted 9 in 1 of 20 requests",
        ),
        (
            {"usage": Usage(prompt_tokens=8, completion_tokens=2, cached_tokens=0)},
            "c1: 3 output tokens were asked, the server made 2 in 1 of 20 requests",
        ),
        (
            {"usage": Usage(prompt_tokens=8, completion_tokens=3, cached_tokens=2)},
            "c1: 2 of 160 prompt tokens came out of the server's prefix cache; use another seed, or restart the server",
        ),
        (
            {"error": "http 429: slow down", "status": 429},
            "c1: 1 of 20 requests failed and are in no latency figure; most often: http 429: slow down",
        ),
    ],
)
def test_one_row_that_is_not_as_planned_is_enough(changes: dict[str, Any], reason: str):
    judged = judge(*last(**changes))
    assert judged.invalid_because == (reason,)
    assert not judged.valid


def test_one_percent_of_cached_prompt_tokens_is_tolerated():
    assert judge(*last(usage=Usage(prompt_tokens=8, completion_tokens=3, cached_tokens=1))).valid


def test_a_cache_that_the_server_does_not_report_is_said():
    judged = judge(*last(usage=Usage(prompt_tokens=8, completion_tokens=3, cached_tokens=None)))
    assert judged.valid
    assert judged.notes == ("c1: the server does not say how many prompt tokens came out of a cache",)


def test_a_cell_that_is_not_complete_is_not_believed():
    assert judge(*rows(19)).invalid_because == ("c1: only 19 of 20 requests were measured",)


def test_a_run_that_ended_early_says_why_first():
    outcome = Aborted(reason="interrupted", rows=(), lag_ms=())
    judged = report(outcome, Workload(seed=1, cells=(CELL,)), QUIET)
    assert judged.invalid_because[:2] == (
        "the run ended early: interrupted",
        "c1: only 0 of 20 requests were measured",
    )


def test_a_client_that_keeps_too_few_in_flight_is_not_believed():
    slow = tuple(
        row(
            index=index,
            sent_ns=100 * index * MS,
            content_ns=(100 * index * MS + MS,) * 3,
            end_ns=(100 * index + 94) * MS,
        )
        for index in range(1, 21)
    )
    assert judge(*slow).invalid_because == ("c1: only 0.94 requests were in flight on average, 1 were asked",)


@pytest.mark.parametrize(
    ("spans", "concurrency", "expected"),
    [
        # the load is full from 2 on, when the second stream starts, until the last request is sent at 20
        ([(0, 10), (2, 12), (10, 20), (12, 22), (20, 30)], 2, 2.0),
        # the second stream pauses for 9 of these 18
        ([(0, 10), (2, 3), (10, 20), (12, 22), (20, 30)], 2, 1.5),
        # nothing is left to send once all streams have started: count what is in flight at once
        ([(0, 10), (1, 10), (2, 10)], 3, 3.0),
        # fewer requests than streams
        ([(0, 10), (1, 10)], 4, 2.0),
        ([], 1, 0.0),
    ],
)
def test_the_achieved_load_leaves_out_ramp_and_tail(spans: list[tuple[int, int]], concurrency: int, expected: float):
    measured = [row(index=index, sent_ns=1 + sent, end_ns=1 + end) for index, (sent, end) in enumerate(spans)]
    assert achieved_in_flight(measured, concurrency) == pytest.approx(expected)


def test_a_busy_machine_and_a_late_client_are_said():
    busy = Environment(client="dayzero test", cores=2, load_before=2.5, load_after=2.5)
    judged = judge(*rows(20), environment=busy, lag_ms=(0.1, 4.0))
    assert judged.valid
    assert judged.notes == (
        "the machine was busy before the run: load average 2.5 on 2 cores",
        "the client's own loop woke up 4.0 ms late at p99, and stamps with it: give the client a core of its own",
    )


def test_the_document_carries_figures_or_the_reason_why_not():
    document: Any = of_report(judge(*last(usage=None)), model="k3", engine="llamacpp", rows_file="requests.jsonl")
    assert document["schema"] == "dayzero/bench/v1"
    assert document["valid"] is False
    assert document["metrics"]["ttft_ms"]["p50"] == pytest.approx(50.0)
    assert document["metrics"]["ttft_ms"]["p99"] is None
    assert document["metrics"]["ttft_ms"]["undecided"]["p99"] == "n too small: p99 needs 662 requests, there are 20"
    assert document["metrics"]["output_tok_s"] is None
    assert document["cells"][0]["undecided"]["output_tok_s"].startswith("the server reports no usage")
    assert document["client"]["loop_lag_ms"]["max"] == 0.1


def test_a_document_of_several_cells_has_no_figures_of_the_only_one():
    other = Cell(name="c2", concurrency=2, requests=1, warmup_requests=0, input_tokens=8, output_tokens=3)
    judged = report(Finished(rows=(), lag_ms=()), Workload(seed=1, cells=(CELL, other)), QUIET)
    document: Any = of_report(judged, model="m", engine="", rows_file="r")
    assert "metrics" not in document
    assert [cell["name"] for cell in document["cells"]] == ["c1", "c2"]
    assert document["client"]["loop_lag_ms"] == {"p50": None, "p99": None, "max": None, "n": 0}
