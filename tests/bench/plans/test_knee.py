"""The search for the knee, on curves whose knee is known."""

import math
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.sample_rows import CELL, CHEAP, QUIET, rows

from dayzero.bench.model import ClientLoad, Completed, Outcome, Row
from dayzero.bench.plans.knee import (
    ATTAINED,
    NEAR_BEST,
    RESOLUTION,
    Found,
    Knee,
    Measure,
    Search,
    Step,
    find_knee,
    next_step,
    step_of,
)
from dayzero.bench.report import Report, report
from dayzero.core.errors import InputError
from dayzero.core.verdict import Undecided
from dayzero.core.workload import Slo, Workload

STREAMS = Search(start=1, limit=1024, whole=True, objective=False)


def closed_queue(servers: int, service_s: float = 0.1, think_s: float = 0.4) -> Callable[[float], float]:
    """Throughput of a closed M/M/c queue, from the steady state of its birth and death rates."""

    def rate(streams: float) -> float:
        logs = [0.0]
        for waiting in range(1, int(streams) + 1):
            arriving = (streams - waiting + 1) / think_s
            logs.append(logs[-1] + math.log(arriving / (min(waiting, servers) / service_s)))
        weights = [math.exp(log - max(logs)) for log in logs]
        return sum(w * min(n, servers) / service_s for n, w in enumerate(weights)) / sum(weights)

    return rate


def open_queue(servers: int, service_s: float, limit_s: float) -> Callable[[float], float]:
    """Share of the requests of an M/M/c queue that wait no longer than a limit, by Erlang's C formula."""

    def share(rate: float) -> float:
        load = rate * service_s
        if load >= servers:
            return 0.0
        last = load**servers / math.factorial(servers) * servers / (servers - load)
        waits = last / (sum(load**n / math.factorial(n) for n in range(servers)) + last)
        return 1 - waits * math.exp(-(servers / service_s - rate) * limit_s)

    return share


def search_rate(rate: Callable[[float], float], search: Search = STREAMS, noise: float = 0.0, seed: int = 1) -> Found:
    draw = random.Random(seed)  # noqa: S311  (noise)

    def measure(level: float, _number: int) -> Step:
        return Step(level=level, output_tok_s=rate(level) * (1 + draw.gauss(0, noise)), attained=None)

    return find_knee(search, measure)


def search_share(share: Callable[[float], float], search: Search, noise: float = 0.0, seed: int = 1) -> Found:
    draw = random.Random(seed)  # noqa: S311  (noise)

    def measure(level: float, _number: int) -> Step:
        attained = min(max(share(level) + draw.gauss(0, noise), 0.0), 1.0)
        return Step(level=level, output_tok_s=level, attained=attained)

    return find_knee(search, measure)


def knee(found: Found) -> Knee:
    assert isinstance(found.answer, Knee), found.answer
    return found.answer


@pytest.mark.parametrize("servers", [1, 2, 4, 16, 64])
def test_the_knee_of_a_closed_queue_is_the_first_concurrency_near_the_best_rate(servers: int):
    rate = closed_queue(servers)
    found = search_rate(rate)
    best = max(step.output_tok_s for step in found.steps)
    truth = next(streams for streams in range(1, 1025) if rate(streams) >= NEAR_BEST * best)
    assert truth <= knee(found).level <= truth * RESOLUTION + 1
    assert knee(found).other is None or knee(found).other < truth
    assert len(found.steps) <= 20


@pytest.mark.parametrize("seed", range(8))
def test_three_per_cent_of_noise_moves_the_knee_by_less_than_a_third(seed: int):
    rate = closed_queue(16)
    truth = next(streams for streams in range(1, 1025) if rate(streams) >= NEAR_BEST * 160)
    assert truth / 1.34 <= knee(search_rate(rate, noise=0.03, seed=seed)).level <= truth * 1.34


def test_a_rate_that_falls_again_beyond_its_best_has_its_knee_before_the_best():
    found = search_rate(lambda streams: streams if streams <= 32 else 32 - (streams - 32) / 4)
    assert 28 <= knee(found).level <= 31


def test_one_stream_can_be_the_knee():
    found = search_rate(lambda _streams: 100.0)
    assert knee(found) == Knee(level=1, other=None, reason=knee(found).reason)
    assert [step.level for step in found.steps] == [1, 2, 1]


def test_a_start_beyond_the_knee_is_left_downwards():
    search = Search(start=256, limit=1024, whole=True, objective=False)
    assert 28 <= knee(search_rate(lambda streams: min(streams, 32.0), search)).level <= 32


def test_a_rate_that_never_stops_growing_has_no_knee():
    found = search_rate(lambda streams: streams)
    assert isinstance(found.answer, Undecided)
    assert "still grows at 1024, and more than 1024 is not allowed" in found.answer.reason
    assert [step.level for step in found.steps] == [2**power for power in range(11)]


@pytest.mark.parametrize(("servers", "start"), [(1, 1.0), (4, 1.0), (4, 200.0), (16, 0.01)])
def test_the_knee_under_an_objective_is_the_highest_rate_that_keeps_it(servers: int, start: float):
    share = open_queue(servers, service_s=0.1, limit_s=0.2)
    found = search_share(share, Search(start=start, limit=1e6, whole=False, objective=True))
    answer = knee(found)
    assert answer.other is not None
    assert share(answer.level) >= ATTAINED > share(answer.other)
    assert answer.other / answer.level <= RESOLUTION


@given(seed=st.integers(0, 2**32), noise=st.floats(0, 0.2))
def test_whatever_the_noise_the_search_ends_and_a_knee_lies_between_two_measured_levels(seed: int, noise: float):
    share = open_queue(4, service_s=0.1, limit_s=0.2)
    found = search_share(share, Search(start=1, limit=1000, whole=False, objective=True), noise=noise, seed=seed)
    assert len(found.steps) <= 40
    if isinstance(found.answer, Knee):
        assert found.answer.other is not None
        assert found.answer.level < found.answer.other
        for end in (found.answer.level, found.answer.other):
            assert sum(step.level == end for step in found.steps) >= 2


@pytest.mark.parametrize(
    ("share", "reason"),
    [
        (1.0, "the objective is still kept at 64, and more is not allowed"),
        (0.0, "the objective is missed even at 1"),
    ],
)
def test_an_objective_that_is_never_or_always_kept_brackets_no_knee(share: float, reason: str):
    found = search_share(lambda _level: share, Search(start=4, limit=64, whole=True, objective=True))
    assert found.answer == Undecided(reason)


def test_a_step_that_is_not_valid_ends_the_search():
    answers = iter([Step(level=1, output_tok_s=5, attained=None), Undecided("the client was late")])
    found = find_knee(STREAMS, lambda _level, _number: next(answers))
    assert found.answer == Undecided("the step at 2 says nothing: the client was late")
    assert len(found.steps) == 1


def test_levels_that_lie_the_wrong_way_round_are_measured_again_and_then_given_up():
    search = Search(start=8, limit=64, whole=True, objective=True)
    steps = [Step(level=level, output_tok_s=1, attained=share) for level, share in [(8, 0.0), (4, 0.0), (16, 1.0)]]
    assert next_step(search, steps) == Measure(4)
    again = [step for step in steps for _ in range(4)]
    answer = next_step(search, again)
    assert isinstance(answer, Undecided)
    assert "4 was found beyond the knee and 16 before it" in answer.reason


def judged(*measured: Row, client: ClientLoad = CHEAP, slos: tuple[Slo, ...] = ()) -> Report:
    cell = replace(CELL, slos=slos)
    outcome = Outcome(rows=measured, ending=Completed(), client=client)
    return report(outcome, Workload(seed=1, cells=(cell,)), QUIET)


def test_a_step_is_the_rate_of_its_run_and_the_share_that_kept_the_objectives():
    plain, bounded = judged(*rows(20)), judged(*rows(20), slos=(Slo("ttft_ms", 1.0),))
    assert step_of(3, plain) == Step(level=3, output_tok_s=plain.cells[0].output_tok_s, attained=None)  # type: ignore[arg-type]
    step = step_of(3, bounded)
    assert isinstance(step, Step)
    assert step.attained == 0.0


def test_what_too_much_load_does_is_a_step_and_what_the_client_did_is_none():
    failing = judged(*(replace(each, error="http 429") if each.index == 3 else each for each in rows(20)))
    assert not failing.valid
    assert isinstance(step_of(3, failing), Step)
    late = judged(*rows(20), client=replace(CHEAP, waited_s=CHEAP.window_s))
    assert isinstance(step_of(3, late), Undecided)


def test_a_rate_that_is_no_number_is_no_step():
    with pytest.raises(InputError, match="nan tok/s"):
        Step(level=1, output_tok_s=math.nan, attained=None)


def test_the_knee_of_a_rate_needs_an_objective():
    with pytest.raises(InputError, match="needs an objective"):
        Search(start=1, limit=10, whole=False, objective=False)
