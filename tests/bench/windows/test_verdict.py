import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.bench.windows.model import Interval, Measure, Verdict
from dayzero.bench.windows.verdict import decide

RATE, LATENCY = Measure("output_tok_s"), Measure("ttft_ms", "p50")
SWAPPED = {"BETTER": "WORSE", "WORSE": "BETTER", "EQUIVALENT": "EQUIVALENT", "INCONCLUSIVE": "INCONCLUSIVE"}


@pytest.mark.parametrize(
    ("low", "high", "rate", "latency"),
    [
        (0.03, 0.05, "BETTER", "WORSE"),
        (-0.05, -0.03, "WORSE", "BETTER"),
        (0.001, 0.05, "BETTER", "WORSE"),  # reaches into the margin: it is there, and may be large
        (0.001, 0.015, "EQUIVALENT", "EQUIVALENT"),  # it is there, and too small to matter
        (-0.019, 0.019, "EQUIVALENT", "EQUIVALENT"),
        (-0.021, 0.019, "INCONCLUSIVE", "INCONCLUSIVE"),
        (-0.1, 0.2, "INCONCLUSIVE", "INCONCLUSIVE"),
        (0.0, 0.03, "INCONCLUSIVE", "INCONCLUSIVE"),
        (-0.01, 0.02, "INCONCLUSIVE", "INCONCLUSIVE"),  # just beyond ln(1.02) = 0.0198
    ],
)
def test_the_verdict_is_read_off_the_interval(low: float, high: float, rate: Verdict, latency: Verdict):
    interval = Interval(value=(low + high) / 2, low=low, high=high)
    assert decide(interval, RATE, margin=0.02) == rate
    assert decide(interval, LATENCY, margin=0.02) == latency


@given(st.floats(-0.5, 0.5), st.floats(0, 0.3), st.floats(0.001, 0.3))
def test_swapping_the_arms_swaps_the_verdict(value: float, half: float, margin: float):
    there = Interval(value=value, low=value - half, high=value + half)
    back = Interval(value=-value, low=-there.high, high=-there.low)
    for measure in (RATE, LATENCY):
        assert decide(back, measure, margin=margin) == SWAPPED[decide(there, measure, margin=margin)]


@given(st.floats(-0.5, 0.5), st.floats(0, 0.3))
def test_a_wider_margin_only_ever_makes_equal(value: float, half: float):
    interval = Interval(value=value, low=value - half, high=value + half)
    narrow, wide = (decide(interval, RATE, margin=margin) for margin in (0.01, 0.05))
    assert wide in {narrow, "EQUIVALENT"}
    assert decide(interval, RATE, margin=math.expm1(1)) == "EQUIVALENT"
