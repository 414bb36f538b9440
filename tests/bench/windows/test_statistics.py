import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from dayzero.bench.windows.model import PairRatio
from dayzero.bench.windows.statistics import (
    estimate,
    holm,
    minimum_effect,
    minimum_effect_before,
    pairs_for,
    percentile_ratio,
    sign_flip_p,
)

REAL = st.floats(-0.5, 0.5, allow_nan=False).map(lambda x: round(x, 6))


def alternating(ratios: Sequence[float]) -> tuple[PairRatio, ...]:
    return tuple(
        PairRatio(a=100.0, b=100 * math.exp(ratio), log_ratio=ratio, b_first=bool(index % 2))
        for index, ratio in enumerate(ratios)
    )


def even(least: int, most: int) -> st.SearchStrategy[list[float]]:
    return st.integers(least // 2, most // 2).flatmap(lambda half: st.lists(REAL, min_size=2 * half, max_size=2 * half))


def test_four_pairs_by_hand():
    # Differences 3, 1, 5, 3 (per cent) in the orders AB, BA, AB, BA: mean 3; slot ((3 - 1) + (5 - 3)) / 4 = 1;
    # left over -1, -1, 1, 1, so the spread is sqrt(4 / 2), its error sqrt(2) / 2, and t(0.975, 2) is 4.302653.
    found = estimate(alternating([0.03, 0.01, 0.05, 0.03]), alpha=0.05, seed=0)
    assert found.effect.value == pytest.approx(0.03)
    assert found.slot.value == pytest.approx(0.01)
    assert found.sd == pytest.approx(0.01 * math.sqrt(2))
    assert found.effect.high - 0.03 == pytest.approx(4.302653 * 0.01 * math.sqrt(2) / 2)
    assert found.effect.low + found.effect.high == pytest.approx(0.06)
    assert found.p_sign_flips == 2 / 16


@pytest.mark.parametrize(("pairs", "percent"), [(4, 2.1), (6, 1.4), (8, 1.15), (12, 0.89), (16, 0.75), (24, 0.60)])
def test_the_minimum_effect_is_the_textbook_one_but_for_the_slots_degree_of_freedom(pairs: int, percent: float):
    # The published table is for P - 1 degrees of freedom and a spread of 1 %.
    textbook = (stats.t.ppf(0.975, pairs - 1) + stats.t.ppf(0.8, pairs - 1)) / math.sqrt(pairs)
    assert textbook == pytest.approx(percent, abs=0.05)
    ours = (stats.t.ppf(0.975, pairs - 2) + stats.t.ppf(0.8, pairs - 2)) / math.sqrt(pairs)
    assert minimum_effect(1.0, pairs, alpha=0.05) == pytest.approx(ours)
    assert textbook < ours


@given(even(4, 16))
def test_the_interval_is_scipys_for_a_two_period_crossover(ratios: list[float]):
    first, second = np.array(ratios[::2]), np.array(ratios[1::2])
    assume(min(np.ptp(first), np.ptp(second)) > 1e-6)
    found = estimate(alternating(ratios), alpha=0.05, seed=0)
    theirs = stats.ttest_ind(first, -second, equal_var=True)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-12)
    low, high = theirs.confidence_interval(0.95)
    assert (2 * found.effect.low, 2 * found.effect.high) == pytest.approx((low, high), rel=1e-6, abs=1e-9)


@given(even(4, 12), REAL)
def test_a_slot_effect_changes_neither_difference_nor_spread(ratios: list[float], slot: float):
    plain = estimate(alternating(ratios), alpha=0.05, seed=0)
    moved = [ratio + (slot if index % 2 == 0 else -slot) for index, ratio in enumerate(ratios)]
    shifted = estimate(alternating(moved), alpha=0.05, seed=0)
    assert shifted.effect.value == pytest.approx(plain.effect.value, abs=1e-9)
    assert shifted.sd == pytest.approx(plain.sd, abs=1e-9)
    assert shifted.slot.value - plain.slot.value == pytest.approx(slot, abs=1e-9)


@given(even(4, 12))
def test_swapping_the_arms_changes_the_sign_and_nothing_else(ratios: list[float]):
    pairs = alternating(ratios)
    swapped = tuple(
        PairRatio(a=pair.b, b=pair.a, log_ratio=-pair.log_ratio, b_first=not pair.b_first) for pair in pairs
    )
    one, other = (estimate(given, alpha=0.05, seed=0) for given in (pairs, swapped))
    assert other.effect.value == -one.effect.value
    assert (other.effect.low, other.effect.high) == (-one.effect.high, -one.effect.low)
    assert (other.p, other.p_sign_flips, other.sd) == (one.p, one.p_sign_flips, one.sd)
    assert other.slot.value == pytest.approx(one.slot.value)


@given(st.lists(REAL, min_size=1, max_size=10))
def test_the_exact_sign_flip_p_counts_assignments_of_labels(ratios: list[float]):
    p = sign_flip_p(ratios, seed=0)
    assert (p * 2 ** len(ratios)).is_integer()
    seen = abs(math.fsum(ratios))
    sums = [
        abs(math.fsum(sign * ratio for sign, ratio in zip(signs, ratios, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(ratios))
    ]
    assert p * 2 ** len(ratios) == sum(value >= seen - 1e-9 for value in sums)


def test_many_pairs_are_flipped_at_random_and_agree_with_the_exact_answer():
    ratios = np.random.default_rng(3).normal(0.004, 0.01, 24).tolist()
    exact = stats.permutation_test(
        (ratios,), np.mean, permutation_type="samples", n_resamples=200_000, rng=np.random.default_rng(1)
    )
    drawn = sign_flip_p(ratios, seed=5)
    assert drawn == pytest.approx(exact.pvalue, abs=0.005)
    assert drawn == sign_flip_p(ratios, seed=5)
    assert sign_flip_p([0.1] * 24, seed=5) == 1 / 100_001


def test_pairs_that_agree_to_the_last_digit_have_no_spread():
    same = estimate(alternating([0.0] * 6), alpha=0.05, seed=0)
    assert (same.p, same.p_sign_flips, same.sd) == (1.0, 1.0, 0.0)
    other = estimate(alternating([0.25] * 6), alpha=0.05, seed=0)
    assert (other.p, other.effect.low, other.effect.high) == (0.0, 0.25, 0.25)


@pytest.mark.parametrize("orders", [(True, True, True, True), (True, False, True), (True, False)])
def test_pairs_of_one_order_cannot_be_analysed(orders: tuple[bool, ...]):
    pairs = tuple(PairRatio(a=1.0, b=1.0, log_ratio=0.0, b_first=order) for order in orders)
    with pytest.raises(ValueError, match="both orders equally often"):
        estimate(pairs, alpha=0.05, seed=0)


@settings(max_examples=25)
@given(st.floats(0.001, 0.1), st.integers(2, 30), st.sampled_from([0.01, 0.05, 0.1]))
def test_more_pairs_of_the_same_spread_never_raise_the_minimum_effect(sd: float, half: int, alpha: float):
    fewer, more = 2 * half, 2 * half + 2
    assert minimum_effect(sd, more, alpha=alpha) < minimum_effect(sd, fewer, alpha=alpha)
    assert minimum_effect_before(sd, 6, more, alpha=alpha) < minimum_effect_before(sd, 6, fewer, alpha=alpha)
    assert minimum_effect_before(sd, more, 8, alpha=alpha) < minimum_effect_before(sd, fewer, 8, alpha=alpha)


@pytest.mark.parametrize(("seen", "pairs"), [(4, 8), (6, 8), (12, 6)])
def test_what_is_promised_from_a_pilot_is_kept_4_times_in_5(seen: int, pairs: int):
    draws, runs = np.random.default_rng(11), 20_000
    pilot = np.sqrt(draws.chisquare(seen - 2, runs) / (seen - 2))
    effect = minimum_effect_before(1.0, seen, pairs, alpha=0.05) * pilot
    t = (draws.normal(size=runs) + effect * math.sqrt(pairs)) / np.sqrt(draws.chisquare(pairs - 2, runs) / (pairs - 2))
    assert np.mean(t > stats.t.ppf(0.975, pairs - 2)) == pytest.approx(0.8, abs=0.01)


def test_the_pairs_that_a_difference_needs_are_the_fewest_that_find_it():
    needed = pairs_for(0.01, 0.01, alpha=0.05)
    assert needed == 12
    assert minimum_effect(0.01, 10, alpha=0.05) > 0.01 >= minimum_effect(0.01, 12, alpha=0.05)
    assert pairs_for(1.0, 0.001, alpha=0.05) is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holms_correction_never_lowers_a_p_and_keeps_the_order(values: list[float]):
    corrected = holm(values)
    assert all(value <= after <= 1 for value, after in zip(values, corrected, strict=True))
    assert corrected[values.index(min(values))] == min(1.0, len(values) * min(values))
    ranked = sorted(range(len(values)), key=values.__getitem__)
    assert [corrected[index] for index in ranked] == sorted(corrected)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))


def test_the_bootstrap_finds_a_planted_ratio_of_percentiles_and_stays_out_of_a_quiet_one():
    draws = np.random.default_rng(7)
    pairs = alternating([0.0] * 8)
    quiet = [tuple(50 * np.exp(draws.normal(0, 0.2, (2, 150)))) for _ in pairs]
    loud = [(a, b * 1.2) for a, b in quiet]
    still = percentile_ratio(quiet, pairs, 90, alpha=0.05, seed=3)
    found = percentile_ratio(loud, pairs, 90, alpha=0.05, seed=3)
    assert still.low < 0 < still.high
    assert found.value - still.value == pytest.approx(math.log(1.2))
    assert 0 < found.low < math.log(1.2) < found.high
    assert found == percentile_ratio(loud, pairs, 90, alpha=0.05, seed=3)


def test_the_bootstrap_of_values_without_any_spread_is_a_point():
    pairs = alternating([0.0] * 4)
    found = percentile_ratio([([2.0] * 5, [3.0] * 5)] * 4, pairs, 50, alpha=0.05, seed=3)
    assert (found.low, found.high) == (found.value, found.value)
    assert found.value == pytest.approx(math.log(1.5))


@settings(deadline=None)
@given(st.integers(0, 3))
def test_the_t_interval_holds_its_level_where_a_percentile_bootstrap_does_not(seed: int):
    draws, runs = np.random.default_rng(seed), 400
    wrong_t = wrong_bootstrap = 0
    for _ in range(runs):
        ratios = draws.normal(0, 0.01, 4)
        wrong_t += estimate(alternating(ratios.tolist()), alpha=0.05, seed=0).p < 0.05
        means = ratios[draws.integers(4, size=(300, 4))].mean(axis=1)
        low, high = np.quantile(means, (0.025, 0.975))
        wrong_bootstrap += low > 0 or high < 0
    assert wrong_t / runs < 0.09
    assert wrong_bootstrap / runs > 0.12
