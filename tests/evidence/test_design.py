from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evidence.trials import capture_crash, series, trial

from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero.core.verdict import Proven, Refuted, Undecided
from dayzero.evidence.design import (
    Confounded,
    NoContrast,
    NotAttributed,
    Supported,
    Unreplicated,
    assess,
    judge,
    support,
)
from dayzero.evidence.exact import ALPHA
from dayzero.evidence.model import Explanation, Trial

SENTENCE = "one failure and two successes across two differing conditions attribute nothing"

SETTLED = (*series("on", 4, "crash", f="on", tp="8"), *series("off", 4, "served", f="off", tp="8"))


def test_one_failure_and_two_successes_across_two_differing_conditions_attribute_nothing():
    crash = capture_crash()
    assert support(crash.trials, "autotune") == Confounded(
        factor="autotune",
        together=("window",),
        reason=f"{SENTENCE}: autotune never changed alone, window changed with it",
    )
    window = support(crash.trials, "window")
    assert isinstance(window, Unreplicated)
    assert window.single == ("first", "third")
    assert window.held == (("autotune", "on"), ("blocklist", "none"))
    assert isinstance(support(crash.trials, "blocklist"), NoContrast)
    for verdict in (judge(crash), judge(crash, "autotune")):
        assert isinstance(verdict, Refuted)
        assert verdict.reason.startswith(SENTENCE)


def test_the_crash_would_be_settled_by_repeats_in_one_window():
    repeated = (
        *capture_crash().trials,
        *series("again-on", 4, "died at capture", autotune="on", blocklist="none", window="first"),
        *series("again-off", 4, "served", autotune="off", blocklist="none", window="first"),
    )
    found = support(repeated, "autotune")
    assert isinstance(found, Supported)
    assert found.comparison.held == (("blocklist", "none"), ("window", "first"))
    assert [(each.level, each.rate.events, each.rate.trials) for each in found.comparison.levels] == [
        ("off", 0, 4),
        ("on", 5, 5),
    ]
    assert found.comparison.p_value == Fraction(1, 126)


@pytest.mark.parametrize(
    ("trials", "kind", "words"),
    [
        (SETTLED, Supported, "the outcome goes with f: failure at tp=8: f=off 0 of 4 (0.0 % to 60.2 %), f=on 4 of 4"),
        (SETTLED[:2] + SETTLED[-2:], NotAttributed, "no outcome of so few trials could reach it"),
        (SETTLED[:4] + series("x", 4, "crash", f="off", tp="8"), NoContrast, "all trials ended alike"),
        (SETTLED[:1] + SETTLED[-1:], Unreplicated, "with one trial of f=off and f=on"),
        (SETTLED[:4] + SETTLED[-1:], Unreplicated, "with one trial of f=off"),
        (SETTLED[:4], NoContrast, "every trial that names it has f=on"),
        (series("x", 9, "crash", tp="8"), NoContrast, "no trial says what it was"),
        ((), NoContrast, "no trial says what it was"),
        (
            SETTLED[:4] + series("x", 4, "served", f="off", tp="4"),
            Confounded,
            "four failures and four successes across two differing conditions",
        ),
        (SETTLED[:4] + series("x", 4, "served", f="off"), Confounded, "f never changed alone, tp changed with it"),
        (
            SETTLED[:4] + series("x", 4, "served", f="off", tp="4", ep="on"),
            Confounded,
            "ep and tp changed with it",
        ),
        (
            (*SETTLED[:4], trial("x", "served", f="off", tp="4", ep="on"), trial("y", "served", f="off", tp="4")),
            Confounded,
            "f never changed alone, tp changed with it",
        ),
    ],
)
def test_a_factor_is_judged_by_what_was_held_what_was_repeated_and_what_the_test_says(trials, kind, words):
    found = support(trials, "f")
    assert type(found) is kind, found.reason
    assert words in found.reason


def test_a_mixed_outcome_at_one_level_is_weighed_and_not_left_out():
    mixed = (*series("on", 3, "crash", f="on"), trial("on4", "served", f="on"), *series("off", 4, "served", f="off"))
    found = support(mixed, "f")
    assert isinstance(found, NotAttributed)
    assert "f=on 3 of 4" in found.reason
    assert "exact p = 0.143" in found.reason


def test_one_place_of_a_raw_file_is_one_trial_however_often_it_is_named():
    first, last = SETTLED[0], SETTLED[-1]
    copies = [replace(first, name=f"copy{n}") for n in range(4)] + [replace(last, name=f"other{n}") for n in range(4)]
    assert isinstance(support((first, last, *copies), "f"), Unreplicated)


def test_trials_that_say_different_things_about_one_place_support_nothing():
    lie = replace(SETTLED[0], name="lie", outcome="served")
    found = support((*SETTLED, lie), "f")
    assert isinstance(found, NotAttributed)
    assert found.reason.startswith("lie and on1 rest on the same place of one raw file")


def test_without_a_factor_the_level_is_shared_out_among_all_comparisons():
    two = tuple(
        replace(each, name=each.name + tp, raw=Sha256.of((each.name + tp).encode()), conditions=(("f", f), ("tp", tp)))
        for each in SETTLED
        for tp in ("4", "8")
        for f in (dict(each.conditions)["f"],)
    )
    assert len(two) == 16
    found = support(two, "f")
    assert isinstance(found, NotAttributed), "0.0286 is not below 0.05 when two conditions were looked at"
    assert "not below 0.025 (0.05 shared by 2 comparisons)" in found.reason
    assert [type(answer) for answer in assess(SETTLED)] == [Supported]


def test_three_outcomes_of_which_none_is_a_success_have_to_be_told_apart():
    trials = (trial("a", "oom", f="on"), trial("b", "hang", f="on"), trial("c", "crash", f="off"))
    assert support(trials, "f").reason == "the outcomes are crash, hang, oom: say which one is meant"
    assert "two others" in support(trials, "f", event="oom").reason
    with pytest.raises(InputError, match=r"no trial ended in 'fire'"):
        support(trials, "f", event="fire")


def test_two_outcomes_are_each_others_opposite_and_a_named_one_is_told_from_all_others():
    both = (*series("on", 4, "slow", f="on"), *series("off", 4, "fast", f="off"))
    assert isinstance(support(both, "f"), Supported)
    three = (*SETTLED[:2], *series("x", 2, "oom", f="on", tp="8"), *SETTLED[4:])
    assert isinstance(support(three, "f"), Supported)
    assert isinstance(support(three, "f", event="oom"), NotAttributed)


@pytest.mark.parametrize(
    ("trials", "kind", "words"),
    [
        ((), Undecided, "no trial stands under it"),
        (series("x", 3, "crash", f="on"), Undecided, "every trial was made at the same condition"),
        (SETTLED[:1] + SETTLED[-1:], Undecided, "with one trial"),
        (SETTLED, Proven, "the outcome goes with f"),
    ],
)
def test_an_explanation_without_enough_trials_is_undecided(trials, kind, words):
    verdict = judge(Explanation(slug="k3/cause", statement="Because.", facts=("k3/fact",), trials=trials))
    assert isinstance(verdict, kind)
    assert words in verdict.reason


LEVELS = st.sampled_from(["a", "b"])


@st.composite
def many(draw) -> tuple[Trial, ...]:
    rows = draw(st.lists(st.tuples(LEVELS, LEVELS, st.sampled_from(["served", "crash"])), max_size=16))
    return tuple(trial(f"t{n}", outcome, f=f, g=g) for n, (f, g, outcome) in enumerate(rows))


@given(many(), st.randoms(use_true_random=False))
def test_the_order_of_trials_plays_no_part(trials, random):
    shuffled = list(trials)
    random.shuffle(shuffled)
    mixed = [replace(each, conditions=each.conditions[::-1]) for each in shuffled]
    assert assess(mixed) == assess(trials)
    assert support(mixed, "f") == support(trials, "f")


@given(many(), st.sampled_from("abc"), st.sampled_from(["served", "crash", "hang"]))
def test_a_trial_that_changes_two_factors_at_once_never_creates_support(trials, level, outcome):
    new = trial("new", outcome, f=level, g="elsewhere", h="elsewhere")
    supported = {answer.factor for answer in assess((*trials, new)) if isinstance(answer, Supported)}
    for factor in ("f", "g", "h"):
        if isinstance(support((*trials, new), factor), Supported):
            assert isinstance(support(trials, factor), Supported)
    assert supported <= {answer.factor for answer in assess(trials) if isinstance(answer, Supported)}


@given(
    st.integers(min_value=2, max_value=9),
    st.integers(min_value=2, max_value=9),
    st.integers(min_value=1, max_value=5),
    st.booleans(),
)
def test_more_repeats_of_what_a_level_always_did_never_weaken(ons, offs, more, at_on):
    before = (*series("on", ons, "crash", f="on"), *series("off", offs, "served", f="off"))
    extra = series("more", more, "crash", f="on") if at_on else series("more", more, "served", f="off")
    weak, strong = support(before, "f"), support((*before, *extra), "f")
    assert p_value(strong) <= p_value(weak)
    assert not (isinstance(weak, Supported) and not isinstance(strong, Supported))


def test_a_further_failure_where_failures_are_more_frequent_never_raises_the_p_value():
    for trials, fewer in ((m, n) for m in range(2, 7) for n in range(2, 7)):
        rows = [p_value(support(table(failures, trials + failures - 1, 0, fewer), "f")) for failures in range(1, 6)]
        assert all(later <= earlier for earlier, later in pairwise(rows))


def table(ons: int, of: int, offs: int, off_trials: int) -> tuple[Trial, ...]:
    return (
        *series("on", ons, "crash", f="on"),
        *series("fine", of - ons, "served", f="on"),
        *series("off", offs, "crash", f="off"),
        *series("off-fine", off_trials - offs, "served", f="off"),
    )


def p_value(found: object) -> Fraction:
    match found:
        case Supported(comparison=comparison):
            assert comparison.p_value < ALPHA
            return comparison.p_value
        case NotAttributed(comparisons=(comparison,)):
            assert comparison.p_value >= ALPHA
            return comparison.p_value
    raise AssertionError(found)
