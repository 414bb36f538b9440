"""A client that drives a plan in virtual time, as the real one does, and a server that takes as long as it is told."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from dayzero.bench.model import Exhausted, Request, Wait
from dayzero.bench.ports import Plan


@dataclass(frozen=True, slots=True)
class Sent:
    """One request with the instants at which it went out and ended, in nanoseconds of virtual time."""

    request: Request
    sent_ns: int
    end_ns: int


def drive(
    plan: Plan, service_ns: Callable[[Request, int], int], *, reply: Callable[[Request], str] = lambda _: "well"
) -> list[Sent]:
    """Run a plan to its end.

    Args:
        plan: What is sent.
        service_ns: How long a request takes; told how many others are in flight.
        reply: What the server says to it.
    """
    now, done, order = 0, list[Sent](), count()
    flying: list[tuple[int, int, Sent]] = []
    while True:
        answer = plan.take(now)
        if isinstance(answer, Request):
            sent = Sent(answer, now, now + service_ns(answer, len(flying)))
            heapq.heappush(flying, (sent.end_ns, next(order), sent))
            continue
        if isinstance(answer, Exhausted) and not flying:
            return done
        until = answer.until_ns if isinstance(answer, Wait) else None
        assert until is None or until > now, "a plan that waits for the past would spin"
        assert flying or until is not None, "a plan that waits for nothing would hang"
        if flying and (until is None or flying[0][0] <= until):
            now, _, sent = heapq.heappop(flying)
            done.append(sent)
            plan.ended(sent.request, now, lambda sent=sent: reply(sent.request))
        elif until is not None:
            now = until


def most_in_flight(done: list[Sent]) -> int:
    """Count the requests that were in flight together at most; one that ends as another starts is not beside it."""
    changes = sorted([(each.sent_ns, 1) for each in done] + [(each.end_ns, -1) for each in done])
    level = most = 0
    for _, change in changes:
        level += change
        most = max(most, level)
    return most
