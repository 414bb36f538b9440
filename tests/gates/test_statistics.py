import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dayzero.gates.statistics import (
    bounds,
    flip_p,
    halves_p,
    minimum_excess,
    none_seen,
    prompts_for,
    share_bounds,
    spent,
)

VALUES = st.lists(st.floats(-1, 1).map(lambda x: round(x, 4)), min_size=30, max_size=40)


def test_the_boundaries_are_the_published_ones_of_lan_and_demets():
    # Four looks, one-sided 0.025, O'Brien-Fleming type spending: 4.3326, 2.9631, 2.3590, 2.0141 (Jennison and Turnbull; the
    # same values are printed by gsDesign).
    found = [stats.norm.isf(level) for level in spent(0.025, (0.25, 0.5, 0.75, 1.0))]
    assert found == pytest.approx([4.3326, 2.9631, 2.3590, 2.0141], abs=5e-4)


def test_one_look_spends_everything():
    assert spent(0.05, (1.0,)) == pytest.approx((0.05,), rel=1e-6)


@pytest.mark.parametrize("fractions", [(0.5, 1.0), (0.3, 0.6, 1.0), (0.25, 0.5, 0.75, 1.0)])
def test_looks_together_err_as_often_as_was_meant(fractions: tuple[float, ...]):
    levels = spent(0.05, fractions)
    draws = np.random.default_rng(4)
    steps = np.diff((0.0, *fractions))
    walks = draws.normal(0, np.sqrt(steps), size=(200_000, len(fractions))).cumsum(axis=1) / np.sqrt(fractions)
    crossed = (walks > stats.norm.isf(levels)).any(axis=1).mean()
    assert crossed == pytest.approx(0.05, abs=0.002)


@settings(max_examples=25)
@given(VALUES)
def test_bounds_hold_the_mean_and_are_never_narrower_than_students(values: list[float]):
    ((low, high),) = bounds(values, (0.95,), seed=1)
    mean, sd = np.mean(values), np.std(values, ddof=1)
    half = stats.t.ppf(0.95, len(values) - 1) * sd / np.sqrt(len(values))
    assert low <= mean - half + 1e-9
    assert high >= mean + half - 1e-9


@settings(max_examples=25)
@given(VALUES)
def test_a_surer_bound_is_a_wider_one(values: list[float]):
    (low, high), (lower, higher) = bounds(values, (0.95, 0.99), seed=1)
    assert lower <= low <= high <= higher


@pytest.mark.parametrize("value", [0.0, 0.25, -1e-9])
def test_values_without_any_spread_are_their_own_bounds(value: float):
    assert bounds([value] * 30, (0.95,), seed=1) == ((pytest.approx(value), pytest.approx(value)),)


def test_bounds_follow_a_skew_that_students_do_not():
    # A heavy right tail: the mean is more often below what it estimates, so the upper bound must reach further out.
    values = np.random.default_rng(2).lognormal(0, 1.5, size=40)
    ((low, high),) = bounds(values.tolist(), (0.95,), seed=1)
    assert high - values.mean() > 1.2 * (values.mean() - low)


def test_a_signed_p_is_scipys_exact_one():
    values = [0.3, 0.1, -0.2, 0.4, 0.25, 0.05, -0.01, 0.2]
    expected = stats.permutation_test(
        (values,), np.sum, permutation_type="samples", alternative="greater", n_resamples=np.inf
    )
    assert flip_p(values, seed=0) == pytest.approx(expected.pvalue)
    long = values * 3
    drawn = stats.permutation_test(
        (long,), np.sum, permutation_type="samples", alternative="greater", n_resamples=20_000, rng=3
    )
    assert flip_p(long, seed=0) == pytest.approx(drawn.pvalue, abs=0.005)


def test_no_difference_at_all_is_no_evidence_of_one():
    assert flip_p([0.0] * 40, seed=0) == 1
    assert flip_p([0.0] * 5, seed=0) == 1


def test_halves_are_compared_by_welch():
    values = np.random.default_rng(5).normal(0, 1, size=41)
    expected = stats.ttest_ind(values[:20], values[20:], equal_var=False).pvalue
    assert halves_p(values.tolist()) == pytest.approx(expected)
    assert halves_p([0.0] * 40) == 1
    assert halves_p([0.0] * 20 + [1.0] * 20) == 0


def test_sizes_by_the_textbook():
    # (1.645 + 0.842)^2 = 6.183: four times as many prompts see half the difference.
    assert prompts_for(1.0, 1.0, alpha=0.05) == 7
    assert prompts_for(1.0, 0.1, alpha=0.05) == 619
    assert minimum_excess(1.0, 10_000, alpha=0.05) == pytest.approx(2.4865 / 100, rel=1e-3)


def test_no_case_seen_bounds_a_share_by_three_over_n():
    assert none_seen(1_000, alpha=0.05) == pytest.approx(3 / 1_000, rel=0.01)
    assert none_seen(1, alpha=0.05) == pytest.approx(0.95)


def test_share_bounds_are_scipys():
    found = stats.binomtest(37, 40).proportion_ci(0.90, method="exact")
    assert share_bounds(37 / 40, 40) == pytest.approx((found.low, found.high))
    assert share_bounds(0.0, 40)[0] == 0
    assert share_bounds(1.0, 40)[1] == 1
    assert share_bounds(0.3, 0) == (0.3, 0.3)
