"""The definitions, against numpy and by hand."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.sample_rows import CELL, MS, row, rows, shifted

from dayzero.bench.metrics import (
    CHUNK_GAP,
    DISPATCH_LAG,
    E2E,
    ITL,
    METRICS,
    RATES,
    SCHEDULED_E2E,
    SCHEDULED_TTFT,
    STATISTICS,
    TPOT,
    TTFO,
    TTFT,
    Figure,
    Metric,
    keeps,
    minimum_sample,
    output_tok_s,
    output_tok_s_per_user,
    percentile,
    sample,
    statistic,
    summarise,
)
from dayzero.bench.model import Row, Usage
from dayzero.core.verdict import Undecided
from dayzero.core.workload import Cell, Poisson, Slo

values = st.lists(st.floats(0, 1e9), min_size=1, max_size=200)


@given(values, st.sampled_from((0, 1, 50, 90, 95, 99, 99.9, 100)) | st.floats(0, 100))
def test_percentiles_are_numpys(numbers: list[float], p: float):
    ordered = sorted(numbers)
    assert percentile(ordered, p) == pytest.approx(float(np.percentile(ordered, p)), rel=1e-12, abs=1e-300)


@given(values)
def test_the_printed_percentiles_have_numpys_very_bits(numbers: list[float]):
    ordered = sorted(numbers)
    for p in (50, 90, 95, 99, 99.9):
        assert percentile(ordered, p) == float(np.percentile(ordered, p))


@pytest.mark.parametrize(("p", "minimum"), [(50, 11), (90, 64), (95, 130), (99, 662), (99.9, 6636)])
def test_the_smallest_samples_are_those_of_mlperfs_early_stopping(p: float, minimum: int):
    assert minimum_sample(p) == minimum


@pytest.mark.parametrize(
    ("metric", "changes", "expected"),
    [
        (TTFT, {}, (50.0,)),
        (TTFT, {"content_ns": ()}, ()),
        (TTFT, {"first_byte_ns": 101 * MS}, (50.0,)),
        (ITL, {}, (10.0, 20.0)),
        (ITL, {"usage": None}, ()),
        (ITL, {"usage": Usage(prompt_tokens=8, completion_tokens=4, cached_tokens=0)}, ()),
        (CHUNK_GAP, {"usage": None}, (10.0, 20.0)),
        (CHUNK_GAP, {"content_ns": (150 * MS,)}, ()),
        (TPOT, {}, (15.0,)),
        (TPOT, {"usage": Usage(prompt_tokens=8, completion_tokens=6, cached_tokens=0)}, (7.5,)),
        (TPOT, {"usage": Usage(prompt_tokens=8, completion_tokens=1, cached_tokens=0)}, ()),
        (TPOT, {"usage": None}, ()),
        (TTFO, {}, (50.0,)),
        (TTFO, {"answer_ns": 160 * MS}, (60.0,)),
        (TTFO, {"answer_ns": 0}, ()),
        (E2E, {}, (90.0,)),
        (SCHEDULED_TTFT, {"due_ns": 90 * MS}, (60.0,)),
        (SCHEDULED_E2E, {"due_ns": 90 * MS}, (100.0,)),
        (DISPATCH_LAG, {"due_ns": 90 * MS}, (10.0,)),
    ],
)
def test_each_metric_reads_its_stamps_and_no_others(
    metric: Metric, changes: dict[str, object], expected: tuple[float, ...]
):
    assert metric.values(row(**changes)) == pytest.approx(expected)


def test_a_failed_request_gives_no_value_to_any_metric():
    for metric in METRICS:
        assert sample(metric, (row(error="http 500"),)).requests == 0


@pytest.mark.parametrize(
    ("count", "given_statistics"),
    [
        (1, ["mean"]),
        (10, ["mean"]),
        (11, ["p50", "mean"]),
        (64, ["p50", "p90", "mean"]),
        (130, ["p50", "p90", "p95", "mean"]),
        (662, ["p50", "p90", "p95", "p99", "mean"]),
        (6636, ["p50", "p90", "p95", "p99", "p99.9", "mean"]),
    ],
)
def test_a_percentile_that_the_sample_cannot_certify_is_not_given(count: int, given_statistics: list[str]):
    figures = summarise(TTFT, rows(count)).figures
    assert [name for name, figure in figures if not isinstance(figure, Undecided)] == given_statistics
    assert [name for name, _ in figures] == list(STATISTICS)


def test_the_reason_says_how_many_requests_are_missing():
    figure = dict(summarise(TTFT, rows(10)).figures)["p50"]
    assert figure == Undecided("n too small: p50 needs 11 requests, there are 10")


def test_gaps_do_not_certify_requests_do():
    summary = summarise(ITL, rows(10))
    assert (summary.requests, summary.values) == (10, 20)
    assert isinstance(dict(summary.figures)["p50"], Undecided)


def figure_of(metric: Metric, given_rows: tuple[Row, ...]) -> float | Undecided:
    return dict(summarise(metric, given_rows).figures)["mean"]


def test_gaps_between_chunks_of_several_tokens_are_not_called_itl():
    merged = rows(20, usage=Usage(prompt_tokens=8, completion_tokens=6, cached_tokens=0))
    figure = figure_of(ITL, merged)
    assert figure == Undecided("120 tokens came in 60 chunks: a gap between chunks is not a gap between tokens")
    assert figure_of(CHUNK_GAP, merged) == pytest.approx(15.0)
    assert figure_of(TPOT, merged) == pytest.approx(7.5)


def test_itl_leaves_out_the_rare_request_whose_chunks_are_not_its_tokens():
    mixed = (*rows(199), row(index=199, usage=Usage(prompt_tokens=8, completion_tokens=4, cached_tokens=0)))
    assert summarise(ITL, mixed).requests == 199


def test_more_chunks_than_tokens_are_not_called_itl_either():
    figure = figure_of(ITL, rows(20, usage=Usage(prompt_tokens=8, completion_tokens=2, cached_tokens=0)))
    assert isinstance(figure, Undecided)


@pytest.mark.parametrize("metric", [ITL, TPOT])
def test_without_usage_token_times_are_undecided(metric: Metric):
    figure = figure_of(metric, (*rows(20), row(usage=None)))
    assert figure == Undecided("the server reports no usage: token rates are undecided")


def test_the_rate_leaves_out_the_falling_tail_of_the_load():
    ten = rows(10)
    # nine of ten requests, of three tokens each, between the first and the last one sent, 90 ms apart
    assert output_tok_s(ten) == pytest.approx(27 / 0.81)
    assert output_tok_s_per_user(ten, 4) == pytest.approx(27 / 0.81 / 4)
    staggered = (*ten, *(shifted(one, 45 * MS) for one in ten))
    # the second stream is half a request behind: its last request sent cuts the first stream's last one in two
    assert output_tok_s(staggered) == pytest.approx((27 + 27) / 0.855, rel=0.04)


def test_tokens_of_the_warm_up_count_while_the_load_is_full():
    late_warm_up = row(phase="warmup", sent_ns=MS, content_ns=(50 * MS, 110 * MS, 120 * MS), end_ns=130 * MS)
    assert output_tok_s((late_warm_up, *rows(10))) == pytest.approx((27 + 2) / 0.81)


def test_a_load_too_short_for_that_is_taken_to_its_end():
    assert output_tok_s(rows(1)) == pytest.approx(3 / 0.09)
    assert output_tok_s((row(), shifted(row(), 1 * MS))) == pytest.approx(6 / 0.091)


def rate_of(name: str, given_rows: tuple[Row, ...], cell: Cell = CELL) -> Figure:
    return next(rate for rate in RATES if rate.name == name).figure(given_rows, cell)


def test_request_and_prompt_rates_are_taken_over_the_same_time():
    assert rate_of("requests_per_s", rows(10)) == pytest.approx(9 / 0.81)
    assert rate_of("prompt_tok_s", rows(10)) == pytest.approx(9 * 8 / 0.81)


def test_requests_that_end_in_waves_have_the_rate_of_the_load():
    eight = tuple(shifted(one, stream * MS, number=8 * one.index + stream) for one in rows(10) for stream in range(8))
    assert rate_of("requests_per_s", eight) == pytest.approx(8 / 0.09, rel=0.01)
    assert rate_of("prompt_tok_s", eight) == pytest.approx(8 * 8 / 0.09, rel=0.02)
    assert rate_of("output_tok_s", eight) == pytest.approx(8 * 3 / 0.09, rel=0.02)


def test_a_user_of_an_open_loop_is_a_request_in_flight():
    assert rate_of("output_tok_s_per_user", rows(10), replace(CELL, concurrency=4)) == pytest.approx(27 / 0.81 / 4)
    open_loop = replace(CELL, concurrency=4, load=Poisson(10.0))
    assert rate_of("output_tok_s_per_user", rows(10), open_loop) == pytest.approx(27 / 0.81)


SLOS = (Slo("ttft_ms", 50.0), Slo("itl_ms", 20.0), Slo("tpot_ms", 15.0), Slo("e2e_ms", 90.0))


@pytest.mark.parametrize(
    ("changes", "good"),
    [
        ({}, True),
        ({"sent_ns": 100 * MS - 1}, False),
        ({"content_ns": (150 * MS, 160 * MS, 180 * MS + 1)}, False),
        ({"end_ns": 190 * MS + 1}, False),
        ({"error": "http 500"}, False),
        ({"usage": None}, False),
        ({"content_ns": ()}, False),
        # the second token may have come 9 ms earlier, so the gap after it may have been 29 ms
        ({"censored": ((1, 151 * MS),)}, False),
        # however early it came, the first token kept its limit; but the gap after it may not have
        ({"censored": ((0, 149 * MS),), "content_ns": (150 * MS, 155 * MS, 160 * MS)}, True),
        ({"censored": ((0, 130 * MS),)}, False),
    ],
)
def test_a_request_is_good_only_where_every_objective_was_certainly_kept(changes: dict[str, object], good: bool):  # noqa: FBT001
    assert keeps(row(**changes), SLOS) is good


def test_goodput_counts_good_requests_and_attainment_their_share():
    cell = replace(CELL, slos=(Slo("ttft_ms", 50.0),))
    ten = tuple(replace(one, sent_ns=one.sent_ns - 5 * MS) if at % 2 else one for at, one in enumerate(rows(10)))
    assert rate_of("goodput_per_s", ten, cell) == pytest.approx((4 + 85 / 90) / 0.805)  # the last good one is cut
    assert rate_of("attainment", ten, cell) == 0.5
    assert not any(rate.applies(CELL) for rate in RATES if rate.name in {"goodput_per_s", "attainment"})


stamps = st.integers(0, 3_000 * MS)


@given(st.integers(1, 12), stamps, stamps, stamps, st.sampled_from(("warmup", "measured")))
def test_one_more_failed_request_never_raises_goodput_or_a_rate(
    count: int, sent: int, content: int, took: int, phase: Any
):
    cell = replace(CELL, slos=(Slo("ttft_ms", 50.0),))
    bad = row(phase=phase, sent_ns=sent, content_ns=(content,), end_ns=sent + took, error="reset", usage=None)
    for name in ("goodput_per_s", "attainment", "requests_per_s", "output_tok_s", "prompt_tok_s"):
        before, after = rate_of(name, rows(count), cell), rate_of(name, (*rows(count), bad), cell)
        assert isinstance(before, float)
        assert isinstance(after, float)
        assert after <= before


def test_a_first_arrival_that_is_not_known_within_half_a_millisecond_is_left_out_and_counted():
    sharp = rows(20)
    wide = tuple(
        replace(one, number=20 + at, censored=((0, one.content_ns[0] - 600_000),)) for at, one in enumerate(rows(1))
    )
    narrow = tuple(replace(one, censored=((0, one.content_ns[0] - 500_000),)) for one in rows(1))
    summary = summarise(TTFT, (*sharp, *wide, *narrow))
    assert (summary.requests, summary.values, summary.unsure) == (21, 21, 1)
    assert summarise(TPOT, (*sharp, *wide)).unsure == 1
    slow = replace(wide[0], sent_ns=0)
    assert dict(summarise(TTFT, (*sharp, slow)).figures)["mean"] == pytest.approx(50.0)


def test_with_too_many_unsure_arrivals_there_is_no_percentile():
    wide = tuple(replace(one, censored=((0, one.content_ns[0] - 600_000),)) for one in rows(2))
    figures = dict(summarise(TTFT, (*rows(20), *wide)).figures)
    assert figures["p50"] == Undecided("2 of 22 values are not known well: one read held several arrivals")
    assert figures["mean"] == pytest.approx(50.0)


def test_where_every_value_is_unsure_there_is_no_mean():
    together = rows(20, censored=((1, 100 * MS), (2, 100 * MS)))
    assert all(isinstance(figure, Undecided) for _, figure in summarise(ITL, together).figures)


@pytest.mark.parametrize(("merged", "kind"), [(5, float), (6, Undecided)])
def test_requests_whose_chunks_merged_give_no_gaps_and_more_than_5_percent_of_them_are_said(merged: int, kind: type):
    tokens = Usage(prompt_tokens=8, completion_tokens=60, cached_tokens=0)
    content = tuple((150 + at) * MS for at in range(60))
    made = [row(content_ns=content[at < merged :], usage=tokens) for at in range(100)]
    assert isinstance(dict(summarise(ITL, made).figures)["p50"], kind)


def test_gaps_beside_an_unsure_arrival_are_in_no_percentile_but_in_the_mean():
    merged = row(content_ns=(150 * MS, 180 * MS, 180 * MS, 190 * MS), censored=((1, 150 * MS),))
    steady = rows(100, usage=Usage(prompt_tokens=8, completion_tokens=3, cached_tokens=0))
    summary = summarise(CHUNK_GAP, (*steady, merged))
    assert (summary.values, summary.unsure) == (201, 2)
    assert dict(summary.figures)["mean"] == pytest.approx((100 * 30 + 40) / 203)
    assert dict(summary.figures)["p90"] == pytest.approx(20.0)


def test_the_answer_s_first_token_is_unsure_where_its_own_arrival_is():
    thinking = row(reasoning_chunks=1, answer_ns=160 * MS, censored=((1, 150 * MS),))
    assert TTFO.unsure(thinking) == {0}
    assert TTFT.unsure(thinking) == frozenset()
    beside = row(reasoning_chunks=1, content_ns=(150 * MS, 150 * MS), answer_ns=150 * MS, censored=((0, 100 * MS),))
    assert TTFO.unsure(beside) == frozenset()
    assert TTFO.unsure(row(answer_ns=0)) == frozenset()


def test_metrics_that_mean_nothing_under_a_load_are_not_shown():
    shown = [metric.name for metric in METRICS if metric.applies(rows(2), CELL)]
    assert shown == ["ttft_ms", "itl_ms", "chunk_gap_ms", "tpot_ms", "e2e_ms"]
    open_loop = replace(CELL, load=Poisson(10.0))
    assert all(metric.applies(rows(2, reasoning_chunks=1), open_loop) for metric in METRICS)


@pytest.mark.parametrize("broken", [(), (row(error="http 500"),), (row(usage=None),), (row(sent_ns=5, end_ns=5),)])
def test_a_rate_that_nothing_stands_under_is_undecided(broken: tuple[Row, ...]):
    assert isinstance(output_tok_s(broken), Undecided)
    assert isinstance(output_tok_s_per_user(broken, 1), Undecided)
    assert isinstance(rate_of("prompt_tok_s", broken), Undecided)


def test_a_statistic_without_values_is_undecided():
    assert statistic("mean", sample(TTFT, ())) == Undecided("no request gave a value")


def test_every_metric_says_its_unit_and_its_stamps():
    for metric in METRICS:
        assert metric.name.endswith(f"_{metric.unit}")
    for entry in (*METRICS, *RATES):
        assert set(entry.stamps) <= set(Row.__dataclass_fields__)
        assert entry.formula


@given(values)
def test_the_mean_is_exactly_rounded(numbers: list[float]):
    taken = sample(E2E, [row(sent_ns=0, end_ns=int(number)) for number in numbers])
    mean = statistic("mean", taken)
    assert mean == math.fsum(int(number) / MS for number in numbers) / len(numbers)
