"""Exact tests and intervals against values of scipy 1.17.1 (fisher_exact; binomtest.proportion_ci, method "exact")."""

from fractions import Fraction
from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.evidence.exact import ALPHA, exact_p, power, rate

FISHER = [
    ((1, 1), (0, 1), 1),
    ((1, 2), (0, 1), 1),
    ((2, 2), (0, 2), 0.333333333333),
    ((3, 3), (0, 3), 0.1),
    ((4, 4), (0, 4), 0.0285714285714),
    ((5, 5), (0, 4), 0.00793650793651),
    ((5, 5), (0, 5), 0.00793650793651),
    ((4, 5), (0, 5), 0.047619047619),
    ((5, 5), (1, 5), 0.047619047619),
    ((3, 4), (1, 4), 0.485714285714),
    ((5, 12), (0, 12), 0.0372670807453),
    ((4, 12), (0, 12), 0.0931677018634),
    ((7, 20), (1, 15), 0.100903856335),
    ((10, 10), (9, 10), 1),
    ((0, 6), (5, 6), 0.0151515151515),
    ((2, 9), (11, 12), 0.00216718266254),
    ((6, 50), (0, 40), 0.0316874661297),
]
INTERVALS = [
    (0, 1, 0.000000000, 0.975000000),
    (1, 1, 0.025000000, 1.000000000),
    (0, 2, 0.000000000, 0.841886117),
    (1, 2, 0.012579117, 0.987420883),
    (0, 5, 0.000000000, 0.521823750),
    (1, 5, 0.005050763, 0.716417936),
    (5, 5, 0.478176250, 1.000000000),
    (0, 10, 0.000000000, 0.308497108),
    (1, 20, 0.001265089, 0.248732763),
    (3, 40, 0.015742180, 0.203864749),
    (17, 30, 0.374273451, 0.745392450),
    (0, 59, 0.000000000, 0.060608901),
    (99, 100, 0.945540615, 0.999746854),
]

sizes = st.integers(min_value=1, max_value=9)


@st.composite
def counts(draw):
    trials = draw(sizes)
    return draw(st.integers(min_value=0, max_value=trials)), trials


@pytest.mark.parametrize(("one", "other", "expected"), FISHER)
def test_two_levels_give_fishers_exact_test(one, other, expected):
    assert float(exact_p([one, other])) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(("events", "trials", "low", "high"), INTERVALS)
def test_a_rate_has_the_clopper_pearson_interval_rounded_outwards(events, trials, low, high):
    found = rate(events, trials)
    assert (found.low, found.high) == (pytest.approx(low, abs=1.3e-7), pytest.approx(high, abs=1.3e-7))
    assert found.low <= low + 1e-9
    assert found.high >= high - 1e-9


def test_no_failure_in_five_starts_prints_an_interval_that_reaches_over_half():
    assert str(rate(0, 5)) == "0 of 5 (0.0 % to 52.2 %)"
    assert str(rate(0, 0)) == "0 of 0 (0.0 % to 100.0 %)"


@pytest.mark.parametrize(("events", "trials"), [(-1, 3), (4, 3)])
def test_more_events_than_trials_are_no_rate(events, trials):
    with pytest.raises(ValueError, match=r"events in 3 trials"):
        rate(events, trials)


@given(st.lists(counts(), min_size=2, max_size=4))
def test_the_p_value_is_that_of_listing_every_table_with_the_same_margins(table):
    def weight(cells: tuple[int, ...]) -> int:
        found = 1
        for (_, trials), events in zip(table, cells, strict=True):
            found *= comb(trials, events)
        return found

    seen = tuple(events for events, _ in table)
    every = [cells for cells in product(*(range(trials + 1) for _, trials in table)) if sum(cells) == sum(seen)]
    extreme = sum(weight(cells) for cells in every if weight(cells) <= weight(seen))
    assert exact_p(table) == Fraction(extreme, sum(map(weight, every)))


@given(st.lists(counts(), min_size=2, max_size=4))
def test_the_p_value_does_not_care_for_the_order_of_levels_nor_for_which_outcome_is_counted(table):
    assert exact_p(table) == exact_p(table[::-1]) == exact_p([(trials - events, trials) for events, trials in table])


@pytest.mark.parametrize(
    ("first", "second", "repeats"), [(Fraction(1, 2), Fraction(0), 12), (Fraction(2, 3), Fraction(1, 4), 7)]
)
def test_power_is_the_probability_of_all_tables_that_the_test_rejects(first, second, repeats):
    def binomial(true_rate: Fraction, events: int) -> Fraction:
        return comb(repeats, events) * true_rate**events * (1 - true_rate) ** (repeats - events)

    expected = sum(
        binomial(first, one) * binomial(second, other)
        for one, other in product(range(repeats + 1), repeat=2)
        if exact_p([(one, repeats), (other, repeats)]) < ALPHA
    )
    assert power(first, second, repeats) == expected


def test_where_the_rates_are_the_same_the_test_rejects_no_more_often_than_declared():
    for tenths, repeats in product(range(11), range(1, 13)):
        assert power(Fraction(tenths, 10), Fraction(tenths, 10), repeats) < ALPHA
