"""The closed loop: how many are in flight, what is kept, and how it ends early."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from tests.bench.sample_rows import row

from dayzero.bench.model import Aborted, Finished, Outcome, Progress, Request, Row, TokenPool
from dayzero.bench.run import measure
from dayzero.core.errors import InputError, RemoteError
from dayzero.core.workload import Cell, Workload

POOL = TokenPool(ids=tuple(range(64)))


@dataclass
class Endpoint:
    """Answers in memory after a turn of the loop; ``answer`` decides what comes."""

    answer: Callable[[Request], Row]
    in_flight: int = 0
    most: int = 0
    asked: list[Request] = field(default_factory=list)

    async def complete(self, request: Request) -> Row:
        self.asked.append(request)
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            await asyncio.sleep(0.001)
        finally:
            self.in_flight -= 1
        return self.answer(request)


@dataclass
class Kept:
    """Keeps rows in memory; the disk is full after ``room`` of them."""

    room: int = 1_000_000
    rows: list[Row] = field(default_factory=list)

    def add(self, new: Row) -> None:
        if len(self.rows) == self.room:
            raise RemoteError("the disk is full", hint="Free some space.")
        self.rows.append(new)


def good(request: Request) -> Row:
    return row(cell=request.cell, phase=request.phase, index=request.index)


def gone(request: Request) -> Row:
    return row(cell=request.cell, phase=request.phase, index=request.index, status=0, error="ConnectError: refused")


def load(*, concurrency: int = 3, requests: int = 12, warmup: int = 4, name: str = "c") -> Cell:
    return Cell(
        name=name,
        concurrency=concurrency,
        requests=requests,
        warmup_requests=warmup,
        input_tokens=8,
        output_tokens=3,
    )


def run(
    *cells: Cell,
    endpoint: Endpoint,
    sink: Kept | None = None,
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> Outcome:
    return asyncio.run(measure(Workload(seed=1, cells=cells), POOL, endpoint, sink or Kept(), on_progress))


def test_as_many_requests_as_asked_are_in_flight_and_never_more():
    endpoint = Endpoint(good)
    outcome = run(load(concurrency=3), endpoint=endpoint)
    assert endpoint.most == 3
    assert isinstance(outcome, Finished)
    assert len(outcome.rows) == 16


def test_cells_run_in_order_and_warmup_comes_first():
    endpoint = Endpoint(good)
    run(load(name="a", concurrency=1, requests=2, warmup=1), load(name="b", requests=1, warmup=0), endpoint=endpoint)
    order = [(request.cell, request.phase, request.index) for request in endpoint.asked]
    assert order == [("a", "warmup", 0), ("a", "measured", 0), ("a", "measured", 1), ("b", "measured", 0)]


def test_streams_go_on_from_warmup_to_measurement_without_a_pause():
    phases: list[int] = []
    endpoint = Endpoint(good)

    def note(request: Request) -> Row:
        if request.phase == "warmup":
            phases.append(endpoint.in_flight)
        return good(request)

    endpoint.answer = note
    run(load(concurrency=3, warmup=6), endpoint=endpoint)
    # When the last warm-up answers come, the other streams are already at work again.
    assert phases[-1] >= 1


def test_every_row_is_kept_and_reported_before_the_stream_goes_on():
    kept, seen = Kept(), list[Progress]()
    outcome = run(load(), endpoint=Endpoint(good), sink=kept, on_progress=seen.append)
    assert tuple(kept.rows) == outcome.rows
    assert [progress.done for progress in seen] == list(range(1, 17))
    assert {progress.planned for progress in seen} == {16}


def test_a_failed_request_is_a_row_and_the_run_goes_on():
    def every_third(request: Request) -> Row:
        return good(request) if request.index % 3 else row(cell=request.cell, status=429, error="http 429: slow down")

    seen: list[Progress] = []
    outcome = run(load(), endpoint=Endpoint(every_third), on_progress=seen.append)
    assert isinstance(outcome, Finished)
    assert seen[-1].failed == sum(not each.ok for each in outcome.rows) == 6


@pytest.mark.parametrize(("concurrency", "unanswered"), [(1, 3), (3, 3), (5, 5)])
def test_an_engine_that_is_gone_ends_the_run_and_keeps_what_came(concurrency: int, unanswered: int):
    def dies(request: Request) -> Row:
        return good(request) if len(endpoint.asked) <= 8 else gone(request)

    endpoint, kept = Endpoint(dies), Kept()
    outcome = run(load(concurrency=concurrency, requests=500), endpoint=endpoint, sink=kept)
    assert isinstance(outcome, Aborted)
    assert outcome.reason == f"the endpoint answered none of the last {unanswered} requests: ConnectError: refused"
    assert len(outcome.rows) < 40
    assert tuple(kept.rows) == outcome.rows


def test_single_lost_connections_do_not_end_the_run():
    outcome = run(
        load(requests=60), endpoint=Endpoint(lambda request: good(request) if request.index % 3 else gone(request))
    )
    assert isinstance(outcome, Finished)


def test_requests_that_the_server_refuses_do_not_look_like_a_dead_engine():
    outcome = run(load(), endpoint=Endpoint(lambda request: row(cell=request.cell, status=500, error="http 500")))
    assert isinstance(outcome, Finished)


def test_an_interrupt_ends_the_run_keeps_the_rows_and_leaves_no_request_behind():
    endpoint, kept = Endpoint(good), Kept()

    async def interrupted() -> tuple[Outcome, int]:
        ten = asyncio.Event()

        def count(_progress: Progress) -> None:
            if len(kept.rows) == 10:
                ten.set()

        work = asyncio.create_task(
            measure(Workload(seed=1, cells=(load(requests=10_000),)), POOL, endpoint, kept, count)
        )
        await ten.wait()
        work.cancel()
        outcome = await work
        assert work.cancelling() == 0  # answered: the caller's own waits go on
        await asyncio.sleep(0)
        return outcome, len(asyncio.all_tasks())

    outcome, tasks_left = asyncio.run(interrupted())
    assert isinstance(outcome, Aborted)
    assert "interrupted" in outcome.reason
    assert tuple(kept.rows) == outcome.rows
    assert endpoint.in_flight == 0
    assert tasks_left == 1


def test_a_full_disk_goes_through_and_stops_every_stream():
    endpoint, kept = Endpoint(good), Kept(room=5)
    with pytest.raises(RemoteError, match="disk is full"):
        run(load(requests=10_000), endpoint=endpoint, sink=kept)
    assert len(kept.rows) == 5
    assert endpoint.in_flight == 0


def test_a_full_disk_does_not_wait_for_an_answer_that_never_comes():
    class Stuck(Endpoint):
        async def complete(self, request: Request) -> Row:
            if request.index == 1:
                await asyncio.sleep(3600)
            return await super().complete(request)

    async def bounded() -> None:
        async with asyncio.timeout(20):
            await measure(
                Workload(seed=1, cells=(load(warmup=0),)), POOL, Stuck(good), Kept(room=2), lambda _progress: None
            )

    with pytest.raises(RemoteError, match="disk is full"):
        asyncio.run(bounded())


def test_prompts_that_cannot_be_written_stop_it_before_anything_is_sent():
    endpoint = Endpoint(good)
    short = Cell(name="x", concurrency=1, requests=500, warmup_requests=0, input_tokens=1, output_tokens=1)
    with pytest.raises(InputError, match="cannot all differ"):
        run(load(), short, endpoint=endpoint)
    assert not endpoint.asked


def test_it_notes_how_late_the_loop_woke_up():
    def stall(request: Request) -> Row:
        deadline = asyncio.get_running_loop().time() + 0.03
        while asyncio.get_running_loop().time() < deadline:
            pass
        return good(request)

    outcome = run(load(requests=4, warmup=0), endpoint=Endpoint(stall))
    assert max(outcome.lag_ms) > 5
