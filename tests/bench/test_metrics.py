"""The definitions, against numpy and by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.sample_rows import MS, row, rows

from dayzero.bench.metrics import (
    CHUNK_GAP,
    E2E,
    ITL,
    METRICS,
    STATISTICS,
    TPOT,
    TTFT,
    Metric,
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

values = st.lists(st.floats(0, 1e9), min_size=1, max_size=200)


@given(values, st.sampled_from((0, 1, 50, 90, 95, 99, 99.9, 100)) | st.floats(0, 100))
def test_percentiles_are_numpys(numbers: list[float], p: float):
    ordered = sorted(numbers)
    assert percentile(ordered, p) == pytest.approx(float(np.percentile(ordered, p)), rel=1e-12, abs=1e-300)


@given(values)
def test_the_printed_percentiles_have_numpys_very_bits(numbers: list[float]):
    ordered = sorted(numbers)
    for p in (50, 90, 99):
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
        (E2E, {}, (90.0,)),
    ],
)
def test_each_metric_reads_its_stamps_and_no_others(
    metric: Metric, changes: dict[str, object], expected: tuple[float, ...]
):
    assert metric.values(row(**changes)) == pytest.approx(expected)


def test_a_failed_request_gives_no_value_to_any_metric():
    for metric in METRICS:
        assert sample(metric, (row(error="http 500"),)).values == ()


@pytest.mark.parametrize(
    ("count", "given_statistics"),
    [
        (1, ["mean"]),
        (10, ["mean"]),
        (11, ["p50", "mean"]),
        (64, ["p50", "p90", "mean"]),
        (662, ["p50", "p90", "p99", "mean"]),
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


def test_the_rate_counts_whole_answers_over_the_whole_time():
    ten = rows(10)
    assert output_tok_s(ten) == pytest.approx(30 / 0.9)
    assert output_tok_s_per_user(ten, 4) == pytest.approx(30 / 0.9 / 4)
    late_failure = row(index=10, sent_ns=ten[-1].end_ns, end_ns=ten[-1].end_ns + 900 * MS, error="timeout")
    assert output_tok_s((*ten, late_failure)) == pytest.approx(30 / 1.8)


@pytest.mark.parametrize("broken", [(), (row(error="http 500"),), (row(usage=None),), (row(sent_ns=5, end_ns=5),)])
def test_a_rate_that_nothing_stands_under_is_undecided(broken: tuple[Row, ...]):
    assert isinstance(output_tok_s(broken), Undecided)
    assert isinstance(output_tok_s_per_user(broken, 1), Undecided)


def test_a_statistic_without_values_is_undecided():
    assert statistic("mean", sample(TTFT, ())) == Undecided("no request gave a value")


def test_every_metric_says_its_unit_and_its_stamps():
    for metric in METRICS:
        assert metric.name.endswith(f"_{metric.unit}")
        assert set(metric.stamps) <= set(Row.__dataclass_fields__)
        assert metric.formula


@given(values)
def test_the_mean_is_exactly_rounded(numbers: list[float]):
    taken = sample(E2E, [row(sent_ns=0, end_ns=int(number)) for number in numbers])
    mean = statistic("mean", taken)
    assert mean == math.fsum(int(number) / MS for number in numbers) / len(numbers)
