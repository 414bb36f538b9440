from fractions import Fraction

import pytest
from tests.evidence.trials import capture_crash, series, trial

from dayzero.evidence.design import Supported, support
from dayzero.evidence.exact import power
from dayzero.evidence.repeats import POWER, NoPlan, Repeats, plan, steps


def planned(trials, factor="f", event="") -> Repeats:
    found = plan(trials, factor, event=event)
    assert isinstance(found, Repeats), found
    return found


def test_the_capture_crash_would_take_twelve_starts_a_level_in_one_window():
    found = planned(capture_crash().trials, "autotune")
    assert (found.each, found.starts, found.sighting) == (12, 24, 5)
    assert [each.level for each in found.levels] == ["on", "off"]
    assert found.held == (("blocklist", "none"),)
    assert found.chosen == (("window", "first"),)


def test_the_plan_is_the_fewest_repeats_that_reach_the_power():
    for ons, offs in ((1, 0), (2, 0), (2, 1)):
        trials = (
            *series("a", ons, "crash", f="on"),
            *series("b", 3 - ons, "served", f="on"),
            *series("c", offs, "crash", f="off"),
            *series("d", 3 - offs, "served", f="off"),
        )
        found, seen = planned(trials), (Fraction(ons, 3), Fraction(offs, 3))
        assert found.power == power(*seen, found.each) >= POWER
        assert all(power(*seen, fewer) < POWER for fewer in range(2, found.each))


def test_carrying_the_plan_out_with_the_rates_that_were_assumed_settles_it():
    found = planned((trial("a", "crash", f="on"), trial("b", "served", f="off")))
    assert found.each == 4
    done = (*series("on", found.each, "crash", f="on"), *series("off", found.each, "served", f="off"))
    assert isinstance(support(done, "f"), Supported)


def test_the_order_of_the_trials_plays_no_part_in_the_plan():
    trials = (
        trial("b", "crash", f="on", window="late"),
        trial("a", "crash", f="on", window="early"),
        trial("c", "served", f="off", window="early"),
    )
    assert planned(trials) == planned(trials[::-1])
    assert planned(trials).chosen == (("window", "early"),)


@pytest.mark.parametrize(
    ("trials", "factor", "words"),
    [
        (series("a", 3, "crash", f="on"), "f", "fewer than two levels"),
        ((trial("a", "crash", f="on"), trial("b", "crash", f="off")), "f", "equally frequent at every level"),
        (
            (
                *series("a", 9, "crash", f="on"),
                *series("b", 11, "served", f="on"),
                *series("c", 8, "crash", f="off"),
                *series("d", 12, "served", f="off"),
            ),
            "f",
            "rates as close as 9 of 20 and 8 of 20 would take more than 100 repeats a level",
        ),
        (
            (trial("a", "x", f="on"), trial("b", "y", f="off"), trial("c", "z", f="off")),
            "f",
            "say which one is meant",
        ),
    ],
)
def test_where_no_number_can_be_named_the_plan_says_why(trials, factor, words):
    found = plan(trials, factor)
    assert isinstance(found, NoPlan)
    assert words in found.reason


def test_the_steps_of_a_plan_say_what_to_hold_and_that_seen_trials_do_not_count():
    assert steps(planned(capture_crash().trials, "autotune")) == (
        "start 12 times with autotune=on and 12 times with autotune=off: 24 starts",
        "hold everything else equal: blocklist=none, window=first",
        "window differed until now: take one level for all starts, best the one at which it was seen",
        "alternate, autotune=on, autotune=off, autotune=off, autotune=on, ...: what drifts with time must not drift with the factor",
        "count anew: the trials so far gave the rates that are assumed (autotune=on 1 of 2 (1.3 % to 98.7 %), autotune=off 0 of 1 (0.0 % to 97.5 %)) and cannot confirm them",
        "if those are true, the exact test reaches 0.05 with probability 0.81",
        "cheaper first: 5 starts with autotune=on show the failure once or more with probability 0.95",
    )
