"""What a report says, and when its figures must not be believed."""

from dataclasses import replace
from typing import Any

import pytest
from tests.bench.sample_rows import CELL, CHEAP, MS, QUIET, row, rows, shifted

from dayzero.bench.document import of_report
from dayzero.bench.metrics import achieved_in_flight
from dayzero.bench.model import Aborted, ClientLoad, Completed, Ending, Environment, Outcome, Row, Usage
from dayzero.bench.report import Report, report
from dayzero.core.verdict import Undecided
from dayzero.core.workload import Cell, Workload

WARM = row(
    phase="warmup",
    due_ns=10 * MS,
    sent_ns=10 * MS,
    first_byte_ns=50 * MS,
    first_event_ns=50 * MS,
    content_ns=(60 * MS,),
    end_ns=100 * MS,
)
STEADY = "c1: 45 requests tell whether the server was steady, there are 20"


def judge(
    *measured: Row,
    environment: Environment = QUIET,
    client: ClientLoad = CHEAP,
    cell: Cell = CELL,
    ending: Ending = Completed(),  # noqa: B008  (it is frozen)
) -> Report:
    outcome = Outcome(rows=(WARM, *measured), ending=ending, client=client)
    return report(outcome, Workload(seed=1, cells=(cell,)), environment)


def test_rates_over_an_interruption_are_undecided_and_no_reason_against_the_figures():
    first, second = rows(10), tuple(shifted(one, 60_000 * MS, number=20 + at) for at, one in enumerate(rows(10)))
    hole = (first[-1].end_ns, second[0].sent_ns)
    outcome = Outcome(rows=(*first, *second), ending=Completed(), client=CHEAP)
    workload = Workload(seed=1, cells=(CELL,))
    assert not report(outcome, workload, QUIET).valid  # nobody said that there was an interruption
    told = report(replace(outcome, holes=(hole,)), workload, QUIET)
    assert told.invalid_because == ()
    assert "c1: the run was interrupted for 59.1 s: rates and in flight are undecided" in told.notes
    assert isinstance(told.cells[0].output_tok_s, Undecided)
    after = report(replace(outcome, holes=((second[-1].end_ns, 2 * second[-1].end_ns),)), workload, QUIET)
    assert isinstance(after.cells[0].output_tok_s, float)


def test_the_cost_of_a_resumed_run_is_said_to_be_its_last_processs_and_is_not_per_token():
    outcome = Outcome(rows=rows(20), ending=Completed(), client=CHEAP, holes=((1, 2),))
    resumed = report(outcome, Workload(seed=1, cells=(CELL,)), QUIET)
    client = of_report(resumed, model="m", engine="", rows_file="")["client"]
    assert isinstance(client, dict)
    assert (client["cpu_s_per_1k_tokens"], client["total_cpu_s_per_1k_tokens"]) == (None, None)
    assert "the run was resumed: what the client cost is what its last process cost, and not per token" in resumed.notes


def test_requests_whose_chunks_are_not_tokens_are_counted_where_itl_leaves_them_out():
    every = rows(200)
    merged = replace(every[-1], content_ns=every[-1].content_ns[:-1])
    judged = judge(*every[:-1], merged, cell=replace(CELL, requests=200))
    assert "c1: 1 of 200 requests are not in itl_ms: a chunk of theirs holds several tokens, or none" in judged.notes
    metrics = of_report(judged, model="m", engine="", rows_file="")["metrics"]
    assert isinstance(metrics, dict)
    assert (metrics["itl_ms"]["left_out"], metrics["itl_ms"]["n"], metrics["ttft_ms"]["left_out"]) == (1, 199, 0)


def last(**changes: Any) -> tuple[Row, ...]:
    """Twenty rows, the last one changed."""
    whole = rows(20)
    return (*whole[:-1], replace(whole[-1], **changes))


def test_twenty_good_rows_are_believed():
    judged = judge(*rows(20))
    assert judged.valid
    assert judged.invalid_because == ()
    assert judged.notes == (STEADY,)
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
    assert judged.notes == ("c1: the server does not say how many prompt tokens came out of a cache", STEADY)


def test_a_cell_that_is_not_complete_is_not_believed():
    assert judge(*rows(19)).invalid_because == ("c1: only 19 of 20 requests were measured",)


def test_a_run_that_ended_early_says_why_first():
    judged = judge(ending=Aborted("interrupted"))
    assert judged.invalid_because[:2] == (
        "the run ended early: interrupted",
        "c1: only 0 of 20 requests were measured",
    )


def test_a_client_that_keeps_too_few_in_flight_is_not_believed():
    quick = row(content_ns=(101 * MS,) * 3, end_ns=194 * MS)
    slow = tuple(shifted(quick, 100 * index * MS, number=index, index=index) for index in range(20))
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


def test_a_busy_machine_is_said_and_never_invalidates():
    judged = judge(*rows(20), environment=replace(QUIET, load_before=2.5))
    assert judged.valid
    assert judged.notes == (STEADY, "the machine was busy before the run: load average 2.5 on 2 cores")


def test_the_document_carries_figures_or_the_reason_why_not():
    document: Any = of_report(judge(*last(usage=None)), model="k3", engine="llamacpp", rows_file="requests.jsonl")
    assert document["schema"] == "dayzero/bench/v2"
    assert document["valid"] is False
    assert document["metrics"]["ttft_ms"]["p50"] == pytest.approx(50.0)
    assert document["metrics"]["ttft_ms"]["p99"] is None
    assert document["metrics"]["ttft_ms"]["undecided"]["p99"] == "n too small: p99 needs 662 requests, there are 20"
    assert document["metrics"]["output_tok_s"] is None
    assert document["cells"][0]["undecided"]["output_tok_s"].startswith("the server reports no usage")
    assert document["client"]["lag_ms"] == {"p50": 0.1, "p90": 0.1, "p99": 0.1, "max": 0.1, "n": 1}
    broken = [entry for entry in document["validity"] if entry["verdict"] == "refuted"]
    assert [(entry["rule"], entry["cell"], entry["measured"]) for entry in broken] == [
        ("usage", "c1", "1 of 20 without")
    ]


def test_figures_without_a_meaning_under_the_load_are_not_in_the_document():
    document: Any = of_report(judge(*rows(20)), model="k3", engine="", rows_file="r")
    latencies = {"ttft_ms", "itl_ms", "chunk_gap_ms", "tpot_ms", "e2e_ms"}
    rates = {"output_tok_s", "output_tok_s_per_user", "prompt_tok_s", "requests_per_s"}
    assert set(document["metrics"]) == latencies | rates


def test_the_document_says_what_measuring_cost():
    document: Any = of_report(judge(*rows(20)), model="k3", engine="", rows_file="r")
    client = document["client"]
    assert (client["cpu_s"], client["window_s"], client["memory_bytes"], client["connections"]) == (
        0.5,
        10.0,
        50_000_000,
        1,
    )
    assert client["cpu_s_per_1k_tokens"] == round(0.5 / 63 * 1000, 5)


def test_a_document_of_several_cells_has_no_figures_of_the_only_one():
    other = Cell(name="c2", concurrency=2, requests=1, warmup_requests=0, input_tokens=8, output_tokens=3)
    outcome = Outcome(rows=(), ending=Completed(), client=replace(CHEAP, lag_ms=()))
    judged = report(outcome, Workload(seed=1, cells=(CELL, other)), QUIET)
    document: Any = of_report(judged, model="m", engine="", rows_file="r")
    assert "metrics" not in document
    assert [cell["name"] for cell in document["cells"]] == ["c1", "c2"]
    assert document["client"]["lag_ms"] == {"p50": None, "p90": None, "p99": None, "max": None, "n": 0}
