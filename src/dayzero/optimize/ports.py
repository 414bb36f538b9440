"""What a search needs from outside: engines that can be started and measured, a sampler, and a journal."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from dayzero.optimize.facts import Fact
from dayzero.optimize.model import Outcome, Point, Refusal
from dayzero.optimize.stop import Watch


class Bench(Protocol):
    """Looks at command lines, and measures them."""

    def look(self, flags: tuple[str, ...]) -> Refusal | None:
        """Say why a command line is not started, from files alone; ``None`` where nothing speaks against it."""
        ...

    def measure(self, number: int, flags: tuple[str, ...], watch: Watch) -> Outcome:
        """Start it, measure it, stop it; whatever comes of that is an outcome, and what was received is kept.

        Raises:
            KeyboardInterrupt: Somebody asked for the end; the engine is stopped by then.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a sampler learns of a trial.

    Attributes:
        how: ``whole``; ``partly``, where it ended early and the values are estimates; ``bad``, where it is no combination to
            go near; ``void``, where nothing was learned.
        values: Its objectives; empty unless whole or partly.
        violations: By how much each limit is broken; at or below 0 is kept.
    """

    how: Literal["whole", "partly", "bad", "void"]
    values: tuple[float, ...] = ()
    violations: tuple[float, ...] = ()


class Sampler(Protocol):
    """Proposes combinations, and keeps the numbers of trials apart between workers."""

    def ask(self, point: Point | None = None) -> tuple[int, Point]:
        """Open a trial: of this combination, or of one that it proposes."""
        ...

    def tell(self, number: int, told: Told) -> None:
        """Close a trial."""
        ...


class Journal(Protocol):
    """Keeps facts, of every worker."""

    def turn(self) -> AbstractContextManager[None]:
        """Hold the turn to choose: no other worker of the study chooses meanwhile."""
        ...

    def write(self, fact: Fact) -> None:
        """Put a fact on disk before it comes back."""
        ...

    def facts(self) -> tuple[Fact, ...]:
        """Read every fact of every worker."""
        ...
