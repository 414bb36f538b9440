"""Each rule refuses what it is there for, lets the rest pass, and is not asked where it has no meaning."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.bench.sample_rows import CELL, CHEAP, MS, row, rows, shifted

from dayzero.bench.model import Aborted, ClientLoad, Completed, Ending, Row, Usage
from dayzero.bench.rule import CellCase, RunCase
from dayzero.bench.steadiness import moved, rate_blocks, ttft_blocks
from dayzero.bench.validity import RULES, Judgement, judge
from dayzero.core.verdict import Proven, Refuted, Undecided, verdict_word
from dayzero.core.workload import Cell, Constant, Poisson, Ramp

OPEN = replace(CELL, load=Constant(10.0), requests=20)


def judged(
    measured: Sequence[Row] = rows(20),
    *,
    cell: Cell = CELL,
    client: ClientLoad = CHEAP,
    ending: Ending = Completed(),  # noqa: B008  (it is frozen)
    error_budget: float = 0.0,
) -> dict[str, Judgement]:
    case = CellCase(cell=cell, rows=tuple(measured), client=client, error_budget=error_budget)
    return {judgement.rule: judgement for judgement in judge(RunCase(ending=ending, client=client, cells=(case,)))}


def late(by_ns: int) -> tuple[Row, ...]:
    return tuple(replace(one, due_ns=one.sent_ns - by_ns) for one in rows(20))


def wide(count: int, width_ns: int = 600_000) -> tuple[Row, ...]:
    return tuple(
        replace(one, censored=((0, one.content_ns[0] - width_ns),)) if at < count else one
        for at, one in enumerate(rows(20))
    )


def test_a_good_run_keeps_every_rule_that_is_asked():
    found = judged()
    assert {judgement.rule: verdict_word(judgement.verdict) for judgement in found.values()} == {
        "ended": "proven",
        "run-queue": "proven",
        "clock": "proven",
        "complete": "proven",
        "failures": "proven",
        "usage": "proven",
        "prompt-length": "proven",
        "output-length": "proven",
        "prefix-cache": "proven",
        "in-flight": "proven",
        "client-lag": "proven",
        "censored": "proven",
        "chunks-apart": "proven",
        "steady-ttft": "undecided",  # there are too few requests to tell
        "steady-rate": "undecided",
    }
    assert set(found) <= {rule.id for rule in RULES}


@pytest.mark.parametrize(
    ("rule", "case", "verdict"),
    [
        pytest.param("ended", {"ending": Aborted("gone")}, Refuted, id="aborted"),
        pytest.param("complete", {"measured": rows(19)}, Refuted, id="one is missing"),
        pytest.param("run-queue", {"client": replace(CHEAP, waited_s=1.0)}, Proven, id="waited for 10 %"),
        pytest.param("run-queue", {"client": replace(CHEAP, waited_s=1.01)}, Refuted, id="waited for more"),
        pytest.param(
            "run-queue", {"client": replace(CHEAP, waited_s=0.9, window_s=0.9)}, Undecided, id="a short window"
        ),
        pytest.param("run-queue", {"client": replace(CHEAP, window_s=0.0)}, Undecided, id="no window"),
        pytest.param("clock", {"client": replace(CHEAP, clock_moved_ns=200_000)}, Proven, id="moved by 0.2 ms"),
        pytest.param("clock", {"client": replace(CHEAP, clock_moved_ns=200_001)}, Refuted, id="moved by more"),
        pytest.param(
            "client-lag",
            {"client": replace(CHEAP, lag_ms=(2.4, 2.5))},
            Proven,
            id="a twentieth of the first token late",
        ),
        pytest.param("client-lag", {"client": replace(CHEAP, lag_ms=(2.51, 2.51))}, Refuted, id="later than that"),
        pytest.param(
            "client-lag", {"client": replace(CHEAP, lag_ms=(0.1, 9.0))}, Refuted, id="late at the median of few reads"
        ),
        pytest.param(
            "client-lag", {"client": replace(CHEAP, lag_ms=(0.1,) * 98 + (9.0,) * 2)}, Undecided, id="2 late of 100"
        ),
        pytest.param(
            "client-lag", {"client": replace(CHEAP, lag_ms=(0.1,) * 88 + (9.0,) * 12)}, Refuted, id="12 late of 100"
        ),
        pytest.param(
            "client-lag", {"client": replace(CHEAP, lag_ms=(0.1,) * 980 + (9.0,) * 20)}, Refuted, id="20 of 1,000"
        ),
        pytest.param("client-lag", {"client": replace(CHEAP, lag_ms=())}, Undecided, id="no kernel stamps"),
        pytest.param(
            "client-lag",
            {"client": replace(CHEAP, lag_ms=(1.9, 1.9)), "measured": rows(20, sent_ns=50 * MS)},
            Proven,
            id="1.9 ms late of at least 100 ms",
        ),
        pytest.param("censored", {"measured": wide(1)}, Proven, id="5 % not known"),
        pytest.param("censored", {"measured": wide(2)}, Refuted, id="10 % not known"),
        pytest.param("censored", {"measured": wide(20, 500_000)}, Proven, id="known within 0.5 ms"),
        pytest.param("chunks-apart", {"measured": rows(20, censored=((1, 0),))}, Proven, id="1 of 3 together"),
        pytest.param(
            "chunks-apart", {"measured": rows(20, censored=((1, 0), (2, 0)))}, Undecided, id="2 of 3 together"
        ),
        pytest.param("dispatch-lag", {"measured": late(1 * MS), "cell": OPEN}, Proven, id="sent 1 ms late"),
        pytest.param("dispatch-lag", {"measured": late(2 * MS), "cell": OPEN}, Refuted, id="sent 2 ms late"),
        pytest.param(
            "failures",
            {"measured": (*rows(19), row(error="x")), "error_budget": 0.05},
            Proven,
            id="a failure within the budget",
        ),
        pytest.param("failures", {"measured": (*rows(19), row(error="x"))}, Refuted, id="a failure"),
        pytest.param(
            "prompt-length",
            {"measured": rows(20, input_tokens=0, exact=False)},
            Proven,
            id="a length that nobody planned",
        ),
        pytest.param("prompt-length", {"measured": rows(20, input_tokens=9)}, Refuted, id="another length"),
        pytest.param(
            "prefix-cache",
            {"measured": rows(20, usage=Usage(prompt_tokens=8, completion_tokens=3, cached_tokens=None))},
            Undecided,
            id="a cache that is not spoken of",
        ),
        pytest.param("in-flight", {"cell": replace(CELL, concurrency=2)}, Refuted, id="half the streams"),
    ],
)
def test_each_rule_has_its_bound(rule: str, case: dict[str, Any], verdict: type):
    assert isinstance(judged(**case)[rule].verdict, verdict)


def test_the_bound_that_held_is_said_with_the_value():
    found = judged(late(2 * MS), cell=OPEN)["dispatch-lag"]
    assert (found.measured, found.bound) == ("2.000 ms", "at most 1.000 ms")
    assert found.reason == (
        "c1: requests were sent 2.0 ms after they were due at p99, 1.0 ms is allowed: raise the cap or slow down"
    )


CACHED = rows(20, usage=Usage(prompt_tokens=8, completion_tokens=3, cached_tokens=8))


@pytest.mark.parametrize(
    ("rule", "measured", "cell"),
    [
        ("prefix-cache", CACHED, replace(CELL, shared_prefix_tokens=4)),
        ("prefix-cache", CACHED, replace(CELL, turns=5, warmup_requests=0)),
        ("in-flight", rows(20), OPEN),
        ("in-flight", rows(20), replace(CELL, turns=5, think_s=1.0, warmup_requests=0)),
        ("dispatch-lag", rows(20), CELL),
        ("steady-ttft", rows(60), replace(OPEN, load=Ramp(start_per_s=1.0, end_per_s=2.0, over_s=1.0))),
    ],
)
def test_a_rule_that_a_load_gives_no_meaning_is_not_asked(rule: str, measured: tuple[Row, ...], cell: Cell):
    assert rule not in judged(measured, cell=cell)


def dice_of(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311  (a simulation)


def served(
    dice: random.Random, *, streams: int = 8, requests: int = 200, noise: float = 0.3, drift: float = 0.0
) -> tuple[Row, ...]:
    """Simulate a closed loop whose times wander: noise of each request, and a slow one that all requests share.

    ``drift`` is how much slower the last request is than the first.
    """
    free, made, wander = [stream * 3 * MS for stream in range(streams)], [], 0.0
    for number in range(requests):
        stream = min(range(streams), key=free.__getitem__)
        wander = 0.9 * wander + dice.gauss(0, noise / 10)
        slower = math.exp(wander + dice.gauss(0, noise)) * (1 + drift * number / requests)
        sent, first, gap = free[stream] + MS, round(50 * MS * slower), round(10 * MS * (1 + drift * number / requests))
        content = tuple(sent + first + token * gap for token in range(20))
        made.append(row(number=number, index=number, sent_ns=sent, content_ns=content, end_ns=content[-1] + MS))
        free[stream] = content[-1] + MS
    return tuple(made)


def arrivals(dice: random.Random, *, requests: int = 200) -> tuple[Row, ...]:
    """Simulate Poisson arrivals at a server that answers at once."""
    at, made = 0, []
    for number in range(requests):
        at += round(dice.expovariate(1) * 20 * MS) + 1
        content = tuple(at + round(50 * MS * math.exp(dice.gauss(0, 0.3))) + token * 10 * MS for token in range(10))
        made.append(row(number=number, index=number, sent_ns=at, content_ns=content, end_ns=content[-1]))
    return tuple(made)


def unsteady(runs: Iterator[tuple[Row, ...]]) -> tuple[int, int]:
    """Count the runs whose time to the first token, and whose rate, is called unsteady."""
    ttft = rate = 0
    for run in runs:
        ttft += moved(ttft_blocks(run), 0.2) is not None
        rate += moved(rate_blocks(run), 0.1) is not None
    return ttft, rate


def test_noise_is_not_called_unsteady():
    """At most 1 in 100 of steady runs; 300 runs each of three kinds of noise, from one seed."""
    dice = dice_of(20)
    quiet = unsteady(served(dice, noise=0.05) for _ in range(300))
    loud = unsteady(served(dice, noise=0.5) for _ in range(300))
    bursty = unsteady(arrivals(dice) for _ in range(300))
    assert max(*quiet, *loud, *bursty) <= 3


def test_a_server_that_becomes_half_as_fast_again_is_called_unsteady():
    """In at least 19 of 20 runs, by its rate; by its time to the first token where that is not lost in the noise."""
    dice = dice_of(21)
    _, rate = unsteady(served(dice, drift=0.75) for _ in range(100))
    ttft, _ = unsteady(served(dice, drift=0.75, noise=0.1) for _ in range(100))
    assert min(rate, ttft) >= 95


def test_the_reason_says_by_how_much():
    found = judged(served(dice_of(1), drift=1.0), cell=replace(CELL, concurrency=8, requests=200))
    assert found["steady-rate"].reason.startswith("c1: the server was not steady: the rate of the last third is 0.")


def test_a_load_of_one_burst_cannot_tell():
    burst = tuple(shifted(row(), at, number=at) for at in range(60))
    assert isinstance(judged(burst, cell=replace(CELL, concurrency=60))["steady-rate"].verdict, Undecided)


def test_a_poisson_load_is_asked_whether_it_was_steady():
    found = judged(arrivals(dice_of(3)), cell=replace(CELL, load=Poisson(50.0), requests=200))
    assert isinstance(found["steady-ttft"].verdict, Proven)
