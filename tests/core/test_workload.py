"""Loads that make no sense are refused when they are made."""

from collections.abc import Callable

import pytest

from dayzero.core.errors import InputError
from dayzero.core.workload import Arrival, Cell, Constant, Poisson, Ramp, Replay, Slo, Workload, pace_words, with_nonce

ARRIVAL = Arrival(at_s=0, input_tokens=4, output_tokens=1)


def cell(**changes: object) -> Cell:
    values: dict[str, object] = {
        "name": "c1",
        "concurrency": 1,
        "requests": 6,
        "warmup_requests": 2,
        "input_tokens": 16,
        "output_tokens": 4,
    }
    return Cell(**values | changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: cell(concurrency=0), "concurrency must be at least 1 in cell 'c1'"),
        (lambda: cell(warmup_requests=-1), "warmup_requests must not be negative"),
        (lambda: cell(shared_prefix_tokens=16), "leaves no token of a prompt's own"),
        (lambda: cell(think_s=1.0), "think_s without turns"),
        (lambda: cell(turns=2, think_s=float("inf")), "think_s must not be negative"),
        (lambda: cell(turns=4, warmup_requests=0), "requests is no multiple of 4 turns"),
        (lambda: cell(turns=3), "warmup_requests is no multiple of 3 turns"),
        (lambda: cell(turns=2, load=Poisson(2)), "conversations have no rate"),
        (lambda: cell(slos=(Slo("ttft_ms", 1), Slo("ttft_ms", 2))), "two objectives for one metric"),
        (lambda: cell(load=Replay((ARRIVAL,))), "8 requests of a trace of 1"),
        (
            lambda: cell(requests=1, warmup_requests=0, shared_prefix_tokens=1, load=Replay((ARRIVAL,))),
            "beside a trace",
        ),
        (lambda: Constant(0), "rate_per_s must be above 0"),
        (lambda: Poisson(float("nan")), "rate_per_s must be above 0"),
        (lambda: Ramp(start_per_s=-1, end_per_s=1, over_s=1), "start_per_s must be above 0"),
        (lambda: Ramp(start_per_s=0, end_per_s=0, over_s=1), "end_per_s must be above 0"),
        (lambda: Ramp(start_per_s=0, end_per_s=1, over_s=0), "over_s must be above 0"),
        (lambda: Replay((ARRIVAL,), 0), "speed must be above 0"),
        (lambda: Replay(()), "without requests"),
        (lambda: Replay((Arrival(at_s=1, input_tokens=4, output_tokens=1), ARRIVAL)), "not in order"),
        (lambda: Slo("speed", 1), "no objective for 'speed'"),
        (lambda: Slo("ttft_ms", 0), "the limit of ttft_ms must be above 0"),
        (lambda: Workload(seed=1, cells=()), "at least one cell"),
        (lambda: Workload(seed=1, cells=(cell(), cell())), "not unique: c1, c1"),
    ],
)
def test_a_load_that_makes_no_sense_is_refused(make: Callable[[], object], complaint: str):
    with pytest.raises(InputError, match=complaint) as raised:
        make()
    assert raised.value.hint


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "1 in flight"),
        ({"turns": 2}, "1 at once of conversations of 2 turns"),
        ({"turns": 2, "think_s": 0.5}, "1 at once of conversations of 2 turns with 0.5 s between them"),
        ({"load": Constant(2.5)}, "2.5 a second at even distances, at most 1 in flight"),
        ({"load": Poisson(20)}, "20 a second as a Poisson process, at most 1 in flight"),
        (
            {"load": Ramp(start_per_s=0, end_per_s=9, over_s=30)},
            "0 to 9 a second over 30 s, at most 1 in flight",
        ),
        (
            {"load": Replay((ARRIVAL,), 2), "requests": 1, "warmup_requests": 0},
            "at the times of a trace, 2 times as fast, at most 1 in flight",
        ),
    ],
)
def test_a_load_is_said_in_words(changes: dict[str, object], words: str):
    assert pace_words(cell(**changes)) == words


def test_a_nonce_leaves_the_workload_as_it_is():
    plain = Workload(seed=1, cells=(cell(),))
    assert with_nonce(plain, "a") == Workload(seed=1, cells=plain.cells, nonce="a")
