"""The sequential test: its interval holds at every look, and a hopeless trial ends early."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.optimize.stop import Rule, Watch, boundaries, interval, ratio, speeds

BLOCKS = 12


def ever_ended(rng: random.Random, mean: float, spread: float, rule: Rule, *, kept: float = 0.0) -> int:
    """Give after how many blocks a trial ends whose log-ratios have this mean and spread; 0 for never."""
    values: list[float] = []
    last = 0.0
    for count in range(1, BLOCKS + 1):
        last = kept * last + math.sqrt(1 - kept * kept) * rng.gauss(0, spread)
        values.append(mean + last)
        if interval(values, rule.alpha).high < math.log1p(-rule.margin):
            return count
    return 0


@pytest.mark.parametrize("spread", [0.005, 0.05, 0.5])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_a_trial_at_the_margin_is_ended_no_more_often_than_alpha_says_whatever_the_spread(spread, alpha):
    rng, rule = random.Random(7), Rule(margin=0.05, alpha=alpha)  # noqa: S311  (not a secret)
    ended = sum(ever_ended(rng, math.log1p(-0.05), spread, rule) > 0 for _ in range(4_000))
    bound = 4_000 * alpha
    assert ended <= bound + 3 * math.sqrt(bound)


def test_a_test_that_looks_again_and_again_without_paying_for_it_would_be_caught_here():
    """Plant the fault: a fixed t interval at every look ends far too many."""
    rng, ended = random.Random(7), 0  # noqa: S311  (not a secret)
    for _ in range(2_000):
        values: list[float] = []
        for count in range(1, BLOCKS + 1):
            values.append(rng.gauss(0, 0.05))
            if count < 3:
                continue
            mean = sum(values) / count
            error = math.sqrt(sum((value - mean) ** 2 for value in values) / (count - 1) / count)
            if mean + 1.8 * error < 0:
                ended += 1
                break
    assert ended > 2_000 * 0.05 + 3 * math.sqrt(2_000 * 0.05)


def test_blocks_that_follow_each_other_are_ended_more_rarely_than_not_worse_ones_matter():
    """Blocks that are alike in a row are not independent; the margin pays for that at a moderate likeness."""
    rng, rule = random.Random(3), Rule(margin=0.05, alpha=0.05)  # noqa: S311  (not a secret)
    ended = sum(ever_ended(rng, 0.0, 0.03, rule, kept=0.5) > 0 for _ in range(2_000))
    assert ended <= 2_000 * 0.05


def test_a_trial_at_half_the_speed_ends_within_half_of_its_blocks():
    rng, rule = random.Random(5), Rule()  # noqa: S311  (not a secret)
    ended = [ever_ended(rng, math.log(0.5), 0.05, rule) for _ in range(500)]
    assert min(ended) >= 3
    assert sorted(ended)[250] <= 6


@given(st.lists(st.floats(-1, 1), min_size=0, max_size=20), st.floats(0.01, 0.5))
def test_an_interval_holds_its_mean_and_is_wider_for_a_smaller_error(values, alpha):
    found, wider = interval(values, alpha), interval(values, alpha / 2)
    assert found.low <= found.value <= found.high
    assert wider.low <= found.low
    assert wider.high >= found.high


def test_one_value_and_none_say_nothing():
    assert interval([], 0.05).high == math.inf
    assert interval([1.0], 0.05).high == math.inf


@pytest.mark.parametrize(("requests", "bounds"), [(7, ()), (8, (2, 4, 6, 8)), (24, tuple(range(2, 25, 2)))])
def test_requests_are_cut_into_blocks_of_two_or_more(requests, bounds):
    assert boundaries(requests) == bounds


@given(st.integers(8, 500))
def test_blocks_cover_every_request(requests):
    bounds = boundaries(requests)
    sizes = [later - earlier for earlier, later in zip((0, *bounds), bounds, strict=False)]
    assert sum(sizes) == requests
    assert max(sizes) - min(sizes) <= 1
    assert len(bounds) <= 12


def test_speeds_are_counted_from_the_last_answer_of_the_warm_up():
    ends = [1.0, 2.0, 2.5, 3.0, 4.0, 5.0]
    assert speeds(ends, 2, (2, 4)) == (2.0, 1.0)
    assert speeds(ends[:5], 2, (2, 4)) == (2.0,)
    assert speeds([1.0, 1.0, 1.0], 1, (2,)) == ()
    assert speeds([0.5, 1.0], 0, (2,)) == (2.0,)


def watched(pace: float, best: float, rule: Rule, *, shift: float = 0.0, again: bool = False) -> int:
    """Give after how many answers a watch ends a trial, 0 for never."""
    rng = random.Random(2)  # noqa: S311  (not a secret)
    bounds = boundaries(48)
    watch = Watch(
        rule=rule,
        best=tuple(best * rng.lognormvariate(0, 0.02) for _ in bounds),
        warmup=4,
        bounds=bounds,
        shift=shift,
    )
    now = 100.0
    for _ in range(2 if again else 1):
        for done in range(53):
            now += rng.lognormvariate(0, 0.02) / pace
            if watch.see(done, now) is not None:
                return done
    return 0


@pytest.mark.parametrize(
    ("pace", "best", "rule", "shift", "ends"),
    [
        (5.0, 10.0, Rule(), 0.0, True),
        (10.0, 10.0, Rule(), 0.0, False),
        (20.0, 10.0, Rule(), 0.0, False),
        (5.0, 10.0, Rule(margin=1.0), 0.0, False),
        (5.0, 10.0, Rule(margin=0.6), 0.0, False),
        (5.0, 10.0, Rule(), math.log(2), False),
        (10.0, 10.0, Rule(), math.log(0.5), True),
    ],
)
def test_a_watch_ends_what_is_proven_to_be_worse_by_more_than_the_margin(pace, best, rule, shift, ends):
    assert (watched(pace, best, rule, shift=shift) > 0) is ends


def test_a_watch_begins_anew_when_the_cell_is_measured_a_second_time():
    assert watched(10.0, 10.0, Rule(), again=True) == 0


def test_a_watch_with_nothing_to_hold_against_never_ends_a_trial():
    watch = Watch(rule=Rule(), best=(), warmup=0, bounds=boundaries(48))
    assert all(watch.see(done, done / 1.0) is None for done in range(49))


def test_the_sentence_says_what_was_seen_and_what_ends_a_trial():
    watch = Watch(rule=Rule(), best=(1.0,), warmup=0, bounds=(1,))
    said = watch.sentence(ratio((0.5, 0.5, 0.5, 0.51), (1.0,) * 4, 0.05))
    assert said.startswith("after 0 of 1 blocks it is -49.8% [-5")
    assert said.endswith("and -5.0% ends it")
