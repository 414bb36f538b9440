"""Objectives and limits: what is typed, and what is computed from a trial's figures."""

import pytest

from dayzero.core.errors import InputError
from dayzero.optimize.model import Outcome
from dayzero.optimize.objective import Goal, parse_limits, parse_objectives, parse_time

FIGURES = {"output_tok_s": 400.0, "ttft_ms.p50": 80.0, "tpot_ms.mean": 9.0}


def outcome(kind="measured", figures=FIGURES):
    return Outcome(kind=kind, figures=figures, missing={})


@pytest.mark.parametrize(
    ("text", "price", "value", "higher", "unit"),
    [
        ("output_tok_s", None, 400.0, True, "tok/s"),
        ("tok_s_gpu", None, 100.0, True, "tok/s a device"),
        ("cost", None, 10_000.0, False, "device-seconds a million output tokens"),
        ("cost", 3.6, 10.0, False, "of the price a million output tokens"),
        ("ttft_ms", None, 80.0, False, "ms"),
        ("tpot_ms.mean", None, 9.0, False, "ms"),
    ],
)
def test_an_objective_is_computed_from_the_figures_of_four_devices(text, price, value, higher, unit):
    (found,) = parse_objectives(text, devices=4, price_per_hour=price)
    assert found.value(FIGURES) == pytest.approx(value)
    assert (found.higher_is_better, found.unit) == (higher, unit)
    assert found.better(2.0, 1.0) is higher
    assert found.value({}) is None


def test_a_cost_of_nothing_made_is_no_value():
    (found,) = parse_objectives("cost", devices=1, price_per_hour=None)
    assert found.value({"output_tok_s": 0.0}) is None


@pytest.mark.parametrize(
    ("limit", "over", "eligible"),
    [("ttft_ms.p50=100", -0.2, True), ("ttft_ms.p50=40", 1.0, False), ("e2e_ms.p50=9", 1.0, False)],
)
def test_a_limit_is_kept_broken_or_counts_as_broken_without_its_figure(limit, over, eligible):
    goal = Goal(objectives=parse_objectives("output_tok_s", devices=1, price_per_hour=None), limits=parse_limits(limit))
    assert goal.violations(outcome()) == pytest.approx((over,))
    assert goal.eligible(outcome()) is eligible
    assert set(goal.figures) == {"output_tok_s", limit.partition("=")[0]}


@pytest.mark.parametrize("kind", ["stopped", "invalid", "died-at-start", "interrupted"])
def test_only_what_was_measured_whole_has_values(kind):
    goal = Goal(objectives=parse_objectives("output_tok_s", devices=1, price_per_hour=None))
    assert goal.values(outcome(kind)) is None
    assert goal.values(None) is None
    assert goal.eligible(outcome(kind)) is False


@pytest.mark.parametrize(
    ("read", "text", "complaint"),
    [
        ("objective", "speed", "no measure is called 'speed'"),
        ("objective", "cost,cost", "named twice"),
        ("limit", "ttft_ms.p50", "not a limit"),
        ("limit", "ttft_ms.p50=0", "not a limit"),
        ("limit", "ttft_ms.p50=fast", "not a limit"),
        ("limit", "output_tok_s=5", "is no latency"),
        ("limit", "ttft_ms=5,ttft_ms.p50=6", "two limits"),
        ("time", "5", "not a time"),
        ("time", "0s", "not a time"),
        ("time", "soon", "not a time"),
    ],
)
def test_what_cannot_be_read_says_why(read, text, complaint):
    readers = {
        "objective": lambda: parse_objectives(text, devices=1, price_per_hour=None),
        "limit": lambda: parse_limits(text),
        "time": lambda: parse_time(text),
    }
    with pytest.raises(InputError, match=complaint):
        readers[read]()


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90.0), ("12m", 720.0), ("1.5h", 5400.0)])
def test_a_time_is_read_as_seconds(text, seconds):
    assert parse_time(text) == seconds
