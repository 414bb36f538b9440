"""What goes out when: every load, driven by a client in virtual time."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulators.plan_client import Sent, drive, most_in_flight

from dayzero.bench.model import ChatPrompt, Request, TextPrompt, TokenPool, TokenPrompt, WordPool
from dayzero.bench.plans import plan_of
from dayzero.bench.plans.open_loop import LEAD_NS
from dayzero.core.errors import InputError
from dayzero.core.workload import (
    Arrival,
    Cell,
    ClosedLoop,
    Constant,
    Load,
    Message,
    Poisson,
    Ramp,
    Replay,
    Workload,
    with_nonce,
)

POOL = TokenPool(ids=tuple(range(1000, 1430)))
WORDS = WordPool(words=tuple(f"w{number}" for number in range(400)), overhead=5)
S = 1_000_000_000
MS = 1_000_000


def cell(load: Load = ClosedLoop(), **changes: object) -> Cell:  # noqa: B008  (frozen)
    values: dict[str, object] = {
        "name": "c",
        "concurrency": 4,
        "requests": 20,
        "warmup_requests": 8,
        "input_tokens": 16,
        "output_tokens": 4,
        "load": load,
    }
    return Cell(**values | changes)  # type: ignore[arg-type]


def run(
    plan: Cell, *, service_ns: int = 30 * MS, seed: int = 7, pool: TokenPool | WordPool = POOL, nonce: str = ""
) -> list[Sent]:
    workload = with_nonce(Workload(seed=seed, cells=(plan,)), nonce)
    return sorted(drive(plan_of(workload, plan, pool), lambda _request, _others: service_ns), key=lambda s: s.sent_ns)


def due(done: list[Sent]) -> list[int]:
    """Give the times of the schedule, which begins a moment after the cell."""
    return [each.request.due_ns - LEAD_NS for each in done if each.request.due_ns is not None]


def ids(request: Request) -> tuple[int, ...]:
    assert isinstance(request.prompt, TokenPrompt)
    return request.prompt.ids


rates = st.floats(0.5, 500)
loads = st.one_of(
    st.just(ClosedLoop()),
    st.builds(Constant, rates),
    st.builds(Poisson, rates),
    st.builds(
        Ramp,
        start_per_s=st.floats(0, 200),
        end_per_s=rates,
        over_s=st.floats(0.01, 20),
        arrivals=st.sampled_from(["constant", "poisson"]),
    ),
)


@given(
    load=loads,
    cap=st.integers(1, 9),
    warmup=st.integers(0, 9),
    requests=st.integers(1, 40),
    service=st.lists(st.integers(1, 400 * MS), min_size=50, max_size=50),
)
def test_every_request_goes_out_once_in_order_never_early_and_never_above_the_cap(
    load: Load, cap: int, warmup: int, requests: int, service: list[int]
):
    plan = cell(load, concurrency=cap, warmup_requests=warmup, requests=requests)
    made = plan_of(Workload(seed=1, cells=(plan,)), plan, POOL)
    done = sorted(drive(made, lambda request, _others: service[request.number]), key=lambda each: each.request.number)
    assert [each.request.number for each in done] == list(range(warmup + requests))
    assert [each.request.phase for each in done] == ["warmup"] * warmup + ["measured"] * requests
    assert all(earlier.sent_ns <= later.sent_ns for earlier, later in pairwise(done))
    assert most_in_flight(done) <= cap
    assert all(each.sent_ns >= (each.request.due_ns or 0) for each in done)
    assert all((each.request.due_ns is None) == isinstance(load, ClosedLoop) for each in done)


def test_a_closed_loop_hands_warmup_over_without_a_pause_and_starts_its_streams_apart():
    done = run(cell(concurrency=4))
    assert most_in_flight(done) == 4
    starts = [each.sent_ns for each in done[:4]]
    assert starts == [0, 1_030_000, 2_060_000, 3_090_000]
    ends = sorted(each.end_ns for each in done)
    assert [each.sent_ns for each in done[4:]] == ends[:-4]


def test_a_constant_rate_keeps_its_distances_whatever_the_server_does():
    done = run(cell(Constant(20.0), concurrency=100), service_ns=3 * S)
    assert due(done) == [number * 50 * MS for number in range(28)]
    assert [each.sent_ns for each in done] == [each.request.due_ns for each in done]


def test_a_request_that_the_cap_holds_back_keeps_its_time_and_is_sent_late():
    done = run(cell(Constant(100.0), concurrency=2, requests=6, warmup_requests=0), service_ns=50 * MS)
    assert due(done) == [0, 10 * MS, 20 * MS, 30 * MS, 40 * MS, 50 * MS]
    assert [each.sent_ns - LEAD_NS for each in done] == [0, 10 * MS, 50 * MS, 60 * MS, 100 * MS, 110 * MS]


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), rate=rates)
def test_poisson_arrivals_are_the_seed_s_and_keep_the_rate(seed: int, rate: float):
    plan = cell(Poisson(rate), concurrency=2000, requests=1000, warmup_requests=0)
    first, again = (due(run(plan, seed=seed, service_ns=1)) for _ in range(2))
    assert first == again
    # The 1000th arrival is a sum of 1000 exponential gaps: 1000 +- 31.6 of them; six standard deviations are allowed.
    assert 1000 - 190 < first[-1] / S * rate < 1000 + 190
    assert due(run(plan, seed=seed + 1, service_ns=1)) != first


def test_poisson_gaps_vary_as_exponential_ones_do():
    times = due(run(cell(Poisson(10.0), concurrency=5000, requests=4000, warmup_requests=0), service_ns=1))
    gaps = [later - earlier for earlier, later in pairwise(times)]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert 0.9 < deviation / mean < 1.1
    assert 0.34 < sum(gap > mean for gap in gaps) / len(gaps) < 0.40  # 1/e


def test_the_same_seed_gives_these_very_arrivals():
    # Written down once: a change here makes every earlier measurement's seed meaningless.
    times = due(run(cell(Poisson(20.0), requests=4, warmup_requests=0), service_ns=1))
    assert times == [1149929, 25011936, 31148919, 97893177]


@pytest.mark.parametrize(("start", "end"), [(0.0, 10.0), (2.0, 10.0), (10.0, 2.0), (5.0, 5.0)])
def test_a_ramp_has_as_many_requests_before_each_instant_as_the_area_under_its_rate(start: float, end: float):
    over = 20.0
    plan = cell(Ramp(start_per_s=start, end_per_s=end, over_s=over), concurrency=999, requests=300, warmup_requests=0)
    for number, at in enumerate(due(run(plan, service_ns=1))):
        time = at / S
        on = min(time, over)
        area = start * on + (end - start) * on * on / (2 * over) + end * max(time - over, 0)
        assert area == pytest.approx(number, abs=1e-6)


@given(
    gaps=st.lists(st.integers(0, 5 * S), min_size=1, max_size=30),
    speed=st.sampled_from([1.0, 2.0, 0.5]),
)
def test_a_replay_at_twice_the_speed_halves_the_gaps(gaps: list[int], speed: float):
    times = [sum(gaps[:number]) for number in range(len(gaps) + 1)]
    arrivals = tuple(Arrival(at_s=at / S, input_tokens=9 + n, output_tokens=1 + n) for n, at in enumerate(times))
    plan = cell(Replay(arrivals, speed), concurrency=99, requests=len(arrivals), warmup_requests=0)
    done = run(plan, service_ns=1)
    if times[-1]:
        assert [round(at * speed) for at in due(done)] == pytest.approx(times, abs=2)
    else:
        assert due(done) == []
    assert [len(ids(each.request)) for each in done] == [each.input_tokens for each in arrivals]
    assert [each.request.output_tokens for each in done] == [each.output_tokens for each in arrivals]


def replayed(*arrivals: Arrival, pool: TokenPool | WordPool = POOL, nonce: str = "") -> list[Request]:
    plan = cell(Replay(arrivals), concurrency=99, requests=len(arrivals), warmup_requests=0)
    return [each.request for each in run(plan, service_ns=1, pool=pool, nonce=nonce)]


def shared(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@pytest.mark.parametrize("nonce", ["", "half 2"])
def test_blocks_of_one_name_are_the_same_tokens_and_lengths_stay_exact(nonce: str):
    one, two, three = (
        ids(each)
        for each in replayed(
            Arrival(at_s=0, input_tokens=1200, output_tokens=1, blocks=(0, 7, 8)),
            Arrival(at_s=1, input_tokens=1030, output_tokens=1, blocks=(0, 7, 9)),
            Arrival(at_s=2, input_tokens=513, output_tokens=1, blocks=(3, 7)),
            nonce=nonce,
        )
    )
    assert [len(one), len(two), len(three)] == [1200, 1030, 513]
    assert 1024 <= shared(one, two) < 1027
    assert shared(one, three) < 3


def test_requests_of_one_session_begin_alike_and_others_do_not():
    first, alone, second = replayed(
        Arrival(at_s=0, input_tokens=40, output_tokens=1, session="a"),
        Arrival(at_s=1, input_tokens=40, output_tokens=1),
        Arrival(at_s=2, input_tokens=90, output_tokens=1, session="a"),
    )
    assert ids(second)[:40] == ids(first)
    assert shared(ids(alone), ids(first)) == 0
    assert [(each.session, each.turn) for each in (first, alone, second)] == [(0, 0), (1, 0), (0, 1)]


def test_a_prompt_of_the_trace_is_sent_as_it_stands_and_its_length_is_not_claimed():
    text, chat = replayed(
        Arrival(at_s=0, input_tokens=0, output_tokens=1, prompt="tell me"),
        Arrival(at_s=1, input_tokens=0, output_tokens=1, prompt=(Message("user", "hello"),)),
    )
    assert text.prompt == TextPrompt(text="tell me")
    assert chat.prompt == ChatPrompt(messages=(Message("user", "hello"),))
    assert not text.exact
    assert text.input_tokens == 0


def test_a_trace_with_a_prompt_shorter_than_what_the_server_adds_is_refused():
    with pytest.raises(InputError, match="prompt of 5 tokens; the server alone adds 5"):
        replayed(Arrival(at_s=0, input_tokens=5, output_tokens=1), pool=WORDS)


def conversations(**changes: object) -> Cell:
    return cell(**{"turns": 3, "think_s": 0.5, "concurrency": 2, "requests": 12, "warmup_requests": 6} | changes)


def test_as_many_conversations_as_asked_go_on_and_each_turn_waits_for_its_answer_and_the_pause():
    done = run(conversations(), service_ns=100 * MS)
    assert len({each.request.number for each in done}) == 18
    assert most_in_flight(done) <= 2
    by_session: dict[int, list[Sent]] = {}
    for each in done:
        by_session.setdefault(each.request.session, []).append(each)
    assert len(by_session) == 6
    for turns in by_session.values():
        assert [each.request.turn for each in turns] == [0, 1, 2]
        for earlier, later in pairwise(turns):
            assert later.sent_ns == later.request.due_ns == earlier.end_ns + S // 2
    spans = [Sent(turns[0].request, turns[0].sent_ns, turns[-1].end_ns) for turns in by_session.values()]
    assert most_in_flight(spans) == 2


def test_a_turn_of_token_ids_carries_the_one_before_and_room_for_its_answer():
    requests = {(e.request.session, e.request.turn): e.request for e in run(conversations())}
    for session in range(6):
        one, two, three = (ids(requests[session, turn]) for turn in range(3))
        assert [len(one), len(two), len(three)] == [16, 36, 56]
        assert two[:16] == one
        assert three[:36] == two
    assert all(each.exact and each.input_tokens == len(ids(each)) for each in requests.values())


def test_a_turn_of_text_carries_the_answer_that_came_and_says_that_its_length_is_an_estimate():
    plan = conversations(concurrency=1, requests=3, warmup_requests=0)
    made = plan_of(Workload(seed=7, cells=(plan,)), plan, WORDS)
    done = drive(made, lambda _request, _others: MS, reply=lambda request: f"answer {request.turn}")
    last = done[-1].request
    assert isinstance(last.prompt, ChatPrompt)
    assert [message.role for message in last.prompt.messages] == ["user", "assistant", "user", "assistant", "user"]
    assert [m.content for m in last.prompt.messages if m.role == "assistant"] == ["answer 0", "answer 1"]
    assert [each.request.exact for each in done] == [True, False, False]
    assert last.input_tokens == 3 * 16 + 2 * 4


def test_what_cannot_be_written_is_refused_before_anything_is_sent():
    plan = cell(requests=500, input_tokens=1)
    with pytest.raises(InputError, match="cannot all differ in 1 tokens"):
        plan_of(Workload(seed=1, cells=(plan,)), plan, POOL)
