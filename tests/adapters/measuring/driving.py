"""Drive the measuring client over requests, without a file, and parse what it kept."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import pytest

from dayzero.adapters.measuring.client import MeasuringClient
from dayzero.adapters.measuring.loop import Loop
from dayzero.adapters.measuring.records import Records
from dayzero.adapters.measuring.server import servers_of
from dayzero.adapters.openai_http import Connection, GenericDialect, Speech, Wording
from dayzero.bench.model import (
    Ending,
    EnoughSeenError,
    Exhausted,
    Progress,
    Prompt,
    ReadsHeader,
    Request,
    Row,
    TokenPrompt,
    Wait,
)
from dayzero.bench.parse import Parsed, parse
from dayzero.bench.ports import Plan
from dayzero.bench.reads import encode_header
from dayzero.core.workload import Cell

HOW = Speech(model="sim", route="/v1/completions", dialect=GenericDialect())
HEADER = ReadsHeader(
    server="", model="sim", route="", engine="", seed=0, cells=(), pool_sha256="", boot="", client="test"
)

CLOCKS_NS = (
    10_000_000  # the two clocks belong together to within a look at both, in which the machine may do something else
)


def ask(number: int = 0, *, output_tokens: int = 4, prompt: Prompt | None = None, due_ns: int | None = None) -> Request:
    return Request(
        number=number,
        cell="c1",
        phase="measured",
        index=number,
        prompt=prompt or TokenPrompt(ids=(5, 6, 7)),
        input_tokens=3,
        output_tokens=output_tokens,
        due_ns=due_ns,
        session=number,
    )


@dataclass
class ListPlan:
    """Sends requests in order, each when it is due; notes when they ended and what they were answered."""

    requests: Sequence[Request]
    taken: int = 0
    ended_ns: list[int] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)

    def take(self, elapsed_ns: int) -> Request | Wait | Exhausted:
        if self.taken == len(self.requests):
            return Exhausted()
        request = self.requests[self.taken]
        if request.due_ns is not None and elapsed_ns < request.due_ns:
            return Wait(request.due_ns)
        self.taken += 1
        return request

    def ended(self, request: Request, elapsed_ns: int, reply: Callable[[], str]) -> None:  # noqa: ARG002  (the port's)
        self.ended_ns.append(elapsed_ns)
        self.replies.append(reply())


@dataclass
class Looks:
    """Every look of the loop at its sockets: until when it was to wait, and when it was done."""

    wakes_ns: list[int] = field(default_factory=list)
    done_ns: list[int] = field(default_factory=list)

    @classmethod
    def noted(cls, monkeypatch: pytest.MonkeyPatch) -> Self:
        """Note those of this test."""
        looks, step = cls(), Loop.step

        def noted(loop: Loop, wake_ns: int) -> None:
            looks.wakes_ns.append(wake_ns)
            step(loop, wake_ns)
            looks.done_ns.append(time.monotonic_ns())

        monkeypatch.setattr(Loop, "step", noted)
        return looks

    def wait_for(self, more: int) -> None:
        """Return when there were so many more."""
        until = len(self.done_ns) + more
        while len(self.done_ns) < until:
            time.sleep(0.001)


@dataclass(frozen=True)
class Driven:
    """What came of it."""

    ending: Ending
    parsed: Parsed
    connections: int
    progress: tuple[Progress, ...]
    raw: bytes

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(sorted(self.parsed.rows, key=lambda row: row.number))


def cell_of(plan_size: int, streams: int, *, turns: int = 1) -> Cell:
    return Cell(
        name="c1",
        concurrency=streams,
        requests=max(plan_size, 1),
        warmup_requests=0,
        input_tokens=3,
        output_tokens=4,
        turns=turns,
    )


def drive(  # noqa: PLR0913  (each is one condition of a test)
    url: str,
    plan: Plan | Sequence[Request],
    *,
    streams: int = 1,
    how: Speech = HOW,
    timeout_s: float = 20.0,
    api_key: str = "",
    ca_file: Path | None = None,
    turns: int = 1,
    enough: int = 0,
) -> Driven:
    server = servers_of(Connection(url=url, ca_file=ca_file))[0]
    records = Records()
    records.parts.append(encode_header(HEADER))
    client = MeasuringClient(server, Wording(server.address, api_key), how, records, timeout_s=timeout_s)
    chosen = ListPlan(plan) if isinstance(plan, Sequence) else plan
    size = len(plan) if isinstance(plan, Sequence) else 1
    told: list[Progress] = []
    cell = replace(cell_of(size * turns, streams), turns=turns)

    def hear(progress: Progress) -> None:
        told.append(progress)
        if enough and progress.done >= enough:
            raise EnoughSeenError(f"seen {progress.done}")

    try:
        ending = client.run(chosen, cell=cell, on_progress=hear)
    finally:
        client.close()
    raw = b"".join(records.parts)
    return Driven(ending, parse([raw], how.dialect.usage), client.connections, tuple(told), raw)


def one(url: str, request: Request | None = None, *, timeout_s: float = 20.0, how: Speech = HOW) -> Row:
    (row,) = drive(url, (request or ask(),), timeout_s=timeout_s, how=how).rows
    return row
