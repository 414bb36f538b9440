"""The paired test against published figures, and the laws that it keeps."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.gates.mcnemar import Table, exact_p, interval, items_needed, lowest_share, mid_p, smallest_seen

COUNT = st.integers(0, 60)
TABLES = st.builds(Table, both=COUNT, only_a=COUNT, only_b=COUNT, neither=COUNT).filter(lambda table: table.n > 0)


def test_the_published_example_of_airway_reactivity_comes_out():
    # Bentur et al. 2009, as worked in Fagerland, Lydersen, Laake 2013 (BMC Med Res Methodol 13:91) and 2014 (Stat Med 33:2850).
    table = Table(both=1, only_a=1, only_b=7, neither=12)
    assert exact_p(table) == pytest.approx(0.0703, abs=5e-5)
    assert mid_p(table) == pytest.approx(0.0391, abs=5e-5)
    assert interval(table, 0.95) == pytest.approx((0.026, 0.517), abs=5e-4)


@pytest.mark.parametrize(
    ("difference", "discordance", "items"), [(0.02, 0.06, 1174), (0.01, 0.06, 4702), (0.01, 0.03, 2350)]
)
def test_the_sample_sizes_are_those_of_the_formula(difference, discordance, items):
    assert items_needed(difference, discordance) == pytest.approx(items, rel=2e-3)
    assert smallest_seen(items, discordance) == pytest.approx(difference, rel=2e-3)


def test_few_items_with_little_discordance_cannot_see_a_small_difference():
    assert smallest_seen(60, 0.2) > 0.15


@given(TABLES)
def test_the_interval_holds_the_difference_and_lies_within_one(table):
    low, high = interval(table, 0.9)
    assert -1 <= low <= table.difference + 1e-9
    assert table.difference - 1e-9 <= high <= 1


@given(TABLES)
def test_swapping_the_arms_turns_the_interval_round_and_leaves_p(table):
    other = Table(both=table.both, only_a=table.only_b, only_b=table.only_a, neither=table.neither)
    low, high = interval(table, 0.95)
    assert interval(other, 0.95) == pytest.approx((-high, -low), abs=1e-6)
    assert (exact_p(other), mid_p(other)) == (exact_p(table), mid_p(table))


def test_as_many_each_way_counts_half_of_what_was_seen():
    table = Table(both=5, only_a=3, only_b=3, neither=5)
    assert (exact_p(table), mid_p(table)) == (1.0, 1 - 20 / 64 / 2)


@given(TABLES)
def test_mid_p_is_never_more_than_exact_p(table):
    assert 0 <= mid_p(table) <= exact_p(table) <= 1


def test_zero_items_differ_and_the_interval_is_still_wide():
    low, high = interval(Table(both=30, only_a=0, only_b=0, neither=30), 0.9)
    assert -low == pytest.approx(high)
    assert 0.03 < high < 0.06


def covered(difference: float, discordance: float, items: int, times: int) -> float:
    draw, held = random.Random(7), 0  # noqa: S311  (not a secret)
    only_b = (discordance + difference) / 2
    for _ in range(times):
        kinds = draw.choices(("a", "b", "n"), (discordance - only_b, only_b, 1 - discordance), k=items)
        table = Table(both=0, only_a=kinds.count("a"), only_b=kinds.count("b"), neither=kinds.count("n"))
        low, high = interval(table, 0.9)
        held += low <= difference <= high
    return held / times


@pytest.mark.parametrize(("difference", "discordance"), [(0.0, 0.1), (0.05, 0.1), (-0.02, 0.06)])
def test_nine_of_ten_intervals_at_ninety_percent_hold_the_truth(difference, discordance):
    assert 0.87 <= covered(difference, discordance, 120, 600) <= 0.95


def test_the_lowest_share_is_below_the_share_and_above_nothing():
    assert lowest_share(0, 60, 0.95) == pytest.approx(0, abs=1e-12)
    assert 0.49 < lowest_share(36, 60, 0.95) < 0.6
