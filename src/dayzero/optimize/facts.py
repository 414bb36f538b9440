"""The journal of a study: one fact a line, and the state that they add up to. Nothing else is remembered.

Facts of several workers are put in the order of their times; a fact that was cut off by a crash is no fact.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import msgspec

from dayzero.core.errors import IntegrityError
from dayzero.optimize.model import Excluded, Outcome, Point, Role, Trial


class Begun(msgspec.Struct, frozen=True, kw_only=True, tag="begun"):
    """A trial begins: its engine is not started yet."""

    at_s: float
    worker: str
    number: int
    role: Role
    point: Point


class Started(msgspec.Struct, frozen=True, kw_only=True, tag="started"):
    """The engine of a trial runs.

    Attributes:
        pid: Its process, which leads a group.
        ticks: When that process was started, as its system counts, so that another one with its number is not taken for it.
        boot: The system's boot.
    """

    at_s: float
    worker: str
    number: int
    pid: int
    ticks: int
    boot: str


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag="ended"):
    """A trial ended."""

    at_s: float
    worker: str
    number: int
    outcome: Outcome


class Pruned(msgspec.Struct, frozen=True, kw_only=True, tag="pruned"):
    """A combination was taken out before a start."""

    at_s: float
    worker: str
    excluded: Excluded


Fact: TypeAlias = Begun | Started | Ended | Pruned

_decoder = msgspec.json.Decoder(Fact)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the facts add up to.

    Attributes:
        trials: In the order in which they began.
        pruned: Combinations that were never started.
        running: The engine of each trial that has not ended, where it was started.
    """

    trials: tuple[Trial, ...] = ()
    pruned: tuple[Excluded, ...] = ()
    running: tuple[Started, ...] = ()

    @property
    def spent_s(self) -> float:
        """Seconds that trials took."""
        return sum(one.outcome.seconds for one in self.trials if one.outcome is not None)

    def lost(self, worker: str) -> tuple[Trial, ...]:
        """Give the trials of a worker that never ended: it was killed."""
        return tuple(one for one in self.trials if one.outcome is None and one.worker == worker)


def encode(fact: Fact) -> bytes:
    """Write one fact as a line."""
    return msgspec.json.encode(fact) + b"\n"


def decode(raw: bytes, source: str) -> tuple[Fact, ...]:
    """Read a journal; what stands after the last newline was cut off, and is left out.

    Raises:
        IntegrityError: A whole line is no fact.
    """
    *lines, _ = raw.split(b"\n")
    found: list[Fact] = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(_decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise IntegrityError(
                f"{source}:{number} is no fact of a study: {error}", hint="A journal is never mended by hand."
            ) from error
    return tuple(found)


def state(facts: Iterable[Fact]) -> State:
    """Add facts up."""
    trials: dict[int, Trial] = {}
    pruned: dict[Point, Excluded] = {}
    running: dict[int, Started] = {}
    for fact in sorted(facts, key=lambda one: one.at_s):
        match fact:
            case Begun():
                trials[fact.number] = Trial(
                    number=fact.number, role=fact.role, worker=fact.worker, point=fact.point, at_s=fact.at_s
                )
            case Started():
                running[fact.number] = fact
            case Ended():
                running.pop(fact.number, None)
                trials[fact.number] = replace(trials[fact.number], outcome=fact.outcome)
            case Pruned():
                pruned.setdefault(fact.excluded.point, fact.excluded)
    return State(trials=tuple(trials.values()), pruned=tuple(pruned.values()), running=tuple(running.values()))


def stock_trials(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Give the trials of the package as it is that were measured, in order."""
    return tuple(
        one for one in trials if one.role in {"stock", "baseline"} and one.outcome and one.outcome.kind == "measured"
    )
