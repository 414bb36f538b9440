"""A bench of engines that are arithmetic: a command line has a speed, a start can fail, the machine can drift.

Time is counted, never waited for. A trial tells its watch of each answer, as the measuring client does.
"""

import contextlib
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dayzero.optimize.facts import Fact
from dayzero.optimize.model import Outcome, Point, Refusal, WallMet
from dayzero.optimize.ports import Told
from dayzero.optimize.stop import Watch, boundaries, speeds

START_S = 5.0
TOKENS = 10


@dataclass
class FlagBench:
    """Implements ``optimize.ports.Bench``.

    Attributes:
        speed: Answers a second of a command line.
        falls: What a start runs into; ``None`` where it serves.
        refuses: What is refused before a start.
        moves: How fast the machine is at a time, over its beginning.
        noise: Spread of a block's speed.
        started: Command lines that were started, in order.
    """

    speed: Callable[[Mapping[str, str]], float]
    requests: int = 48
    warmup: int = 4
    falls: Callable[[Mapping[str, str]], Outcome | None] = lambda _: None
    refuses: Callable[[tuple[str, ...]], Refusal | None] = lambda _: None
    moves: Callable[[float], float] = lambda _: 1.0
    noise: float = 0.0
    interrupt_at: int = -1
    now_s: float = 0.0
    started: list[tuple[str, ...]] = field(default_factory=list)
    draws: random.Random = field(default_factory=lambda: random.Random(1))  # noqa: S311  (not a secret)

    def clock(self) -> float:
        self.now_s += 0.001
        return self.now_s

    def look(self, flags: tuple[str, ...]) -> Refusal | None:
        return self.refuses(flags)

    def measure(self, number: int, flags: tuple[str, ...], watch: Watch) -> Outcome:
        self.started.append(flags)
        began = self.now_s
        self.now_s += START_S
        if number == self.interrupt_at:
            raise KeyboardInterrupt
        given = dict(zip((word.removeprefix("--") for word in flags[::2]), flags[1::2], strict=True))
        fallen = self.falls(given)
        if fallen is not None:
            return fallen
        ends: list[float] = []
        bounds = boundaries(self.requests)
        for done in range(1, self.warmup + self.requests + 1):
            if done == 1 or done - self.warmup - 1 in bounds or done - self.warmup == 1:
                pace = self.speed(given) * self.moves(self.now_s) * self.draws.lognormvariate(0, self.noise)
            self.now_s += 1 / pace
            ends.append(self.now_s)
            if watch.see(done, self.now_s) is not None:
                blocks = speeds(ends, self.warmup, bounds)
                return Outcome(
                    kind="stopped", reason="hopeless", seconds=self.now_s - began, figures={}, missing={}, blocks=blocks
                )
        rate = self.requests / (ends[-1] - ends[self.warmup - 1])
        figures = {"output_tok_s": rate * TOKENS, "ttft_ms.p50": 1000 / rate}
        return Outcome(
            kind="measured",
            seconds=self.now_s - began,
            start_seconds=START_S,
            figures=figures,
            missing={},
            blocks=speeds(ends, self.warmup, bounds),
            receipt=True,
        )


class MemoryJournal:
    """Implements ``optimize.ports.Journal``."""

    def __init__(self) -> None:
        self.kept: list[Fact] = []

    def turn(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def write(self, fact: Fact) -> None:
        self.kept.append(fact)

    def facts(self) -> tuple[Fact, ...]:
        return tuple(self.kept)


class DrawingSampler:
    """Proposes at random. Implements ``optimize.ports.Sampler``."""

    def __init__(self, levels: Mapping[str, tuple[str, ...]], seed: int = 1) -> None:
        self._levels = levels
        self._random = random.Random(seed)  # noqa: S311  (not a secret)
        self.asked = 0
        self.told: dict[int, Told] = {}

    def ask(self, point: Point | None = None) -> tuple[int, Point]:
        drawn = tuple((name, self._random.choice(levels)) for name, levels in self._levels.items())
        self.asked += 1
        return self.asked - 1, point or drawn

    def tell(self, number: int, told: Told) -> None:
        self.told[number] = told


def died(reason: str = "died after 1.0 s with exit code 1", *names: str) -> Outcome:
    """Give the outcome of a start that died, with the words of its log."""
    return Outcome(kind="died-at-start", reason=reason, seconds=1.0, figures={}, missing={}, wall=WallMet(names=names))
