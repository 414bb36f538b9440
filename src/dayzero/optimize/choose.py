"""Choose what is started next, and write down what is taken out on the way."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dayzero.optimize.facts import Pruned
from dayzero.optimize.model import Excluded, NeverAgain, Point, Refusal, Role, in_words
from dayzero.optimize.plan import Plan, Tools, View
from dayzero.optimize.ports import Told
from dayzero.optimize.space import count, flags_of, points, refused
from dayzero.optimize.standing import Placed, known
from dayzero.optimize.step import next_step
from dayzero.optimize.walls import keeping_out, learned

_ASKED: Final = 24
_ENUMERABLE: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What is started next.

    Attributes:
        role: Why.
        point: Which combination.
        number: The trial that the sampler opened for it; ``None`` where it is still to be opened.
    """

    role: Role
    point: Point
    number: int | None = None


class Chooser:
    """Chooses at one moment of a search.

    Args:
        plan: What was fixed.
        tools: What is worked with.
        now: Where the search stands.
    """

    def __init__(self, plan: Plan, tools: Tools, now: View) -> None:
        self._plan = plan
        self._tools = tools
        self._now = now
        self._known = known(now.standing.placed)
        self._walls: tuple[NeverAgain, ...] = learned(now.state.trials, plan.space.stock)
        # What another worker measures right now is left to it.
        running = (one.point for one in now.state.trials if one.kind == "running")
        self._closed = {*(one.point for one in now.state.pruned), *running}

    def choose(self) -> Chosen | None:
        """Give the next start; ``None`` where every combination was started or taken out."""
        stock = self._now.standing.stock
        if stock is None:
            return Chosen(role="stock", point=self._plan.space.stock)
        if self._baseline_due():
            return Chosen(role="baseline", point=self._plan.space.stock)
        for role, point in self._wanted(stock):
            if self._open(point):
                return Chosen(role=role, point=point)
        return self._sampled() or self._any()

    def _baseline_due(self) -> bool:
        every = self._plan.baseline_every
        since = 0
        for one in self._now.state.trials:
            fresh = one.role in {"stock", "baseline"} and one.kind in {"measured", "invalid"}
            since = 0 if fresh else since + (one.kind not in {"interrupted", "failed"})
        return every > 0 and since >= every

    def _wanted(self, stock: Placed) -> Iterator[tuple[Role, Point]]:
        """Give combinations in the order of promise; one that is closed meanwhile leads to the next."""
        yield from ((one.role, one.point) for one in self._now.state.trials if one.kind == "interrupted")
        yield from (("seed", point) for point in self._plan.seeds)
        seeds = [one for one in self._known.values() if one.trial.role in {"stock", "seed"} and one.eligible]
        begin = stock
        for one in seeds:
            if not begin.eligible or self._better(one, begin):
                begin = one
        while (step := next_step(self._plan.space, self._known, self._closed, self._plan.goal, begin)) is not None:
            yield "step", step

    def _better(self, one: Placed, than: Placed) -> bool:
        first = self._plan.goal.objectives[0]
        return bool(one.values and than.values and first.better(one.values[0], than.values[0]))

    def _sampled(self) -> Chosen | None:
        for _ in range(_ASKED):
            number, point = self._tools.sampler.ask()
            if self._open(point):
                return Chosen(role="sampled", point=point, number=number)
            seen = self._known.get(point)
            told = (
                Told(how="bad")
                if seen is None or seen.values is None
                else Told(how="whole", values=seen.values, violations=self._over(seen))
            )
            self._tools.sampler.tell(number, told)
        return None

    def _over(self, seen: Placed) -> tuple[float, ...]:
        return self._plan.goal.violations(seen.trial.outcome)

    def _any(self) -> Chosen | None:
        """Give any combination that is left, where the sampler only repeats itself."""
        space = self._plan.space
        if count(space) > _ENUMERABLE:
            return None
        left = [point for point in points(space) if point not in self._known and point not in self._closed]
        random.Random(self._plan.seed + len(self._known)).shuffle(left)  # noqa: S311  (it draws combinations)
        return next((Chosen(role="sampled", point=point) for point in left if self._open(point)), None)

    def _open(self, point: Point) -> bool:
        """Say whether a combination may be started; one that may not is written down, with why."""
        if point in self._known or point in self._closed:
            return False
        refusal = self._refusal(point)
        if refusal is None:
            return True
        self._closed.add(point)
        excluded = Excluded(point=point, by=refusal.by, why=refusal.why)
        self._tools.journal.write(Pruned(at_s=self._tools.clock(), worker=self._plan.worker, excluded=excluded))
        return False

    def _refusal(self, point: Point) -> Refusal | None:
        wall = keeping_out(self._walls, point)
        if wall is not None:
            return Refusal("wall", f"trial {wall.trial} with {in_words(wall.point)} {wall.reason}")
        flags = flags_of(self._plan.space, point)
        return refused(self._plan.space.relations, flags) or self._tools.bench.look(flags)
