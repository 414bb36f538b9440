"""One change at a time from the best so far: what is tried before a sampler has anything to learn from.

Few starts are affordable, and most flags act alone: so each setting is moved from the best combination so far, in the order of
the list, and what helped is kept. A setting whose levels are numbers is walked in one direction as long as that helps, and in the
other one only where the first step did not. Each step differs from an earlier trial in one flag, which is what a contrast needs.
"""

from collections.abc import Collection, Iterator, Mapping

from dayzero.optimize.model import Point, Setting, Space, moved
from dayzero.optimize.objective import Goal
from dayzero.optimize.standing import Placed


def next_step(
    space: Space, known: Mapping[Point, Placed], closed: Collection[Point], goal: Goal, begin: Placed
) -> Point | None:
    """Walk the settings through what is known, and give the first combination that is not.

    Args:
        space: The space.
        known: A trial for each combination that was started.
        closed: Combinations that were taken out.
        goal: Says what is better.
        begin: Where the walk begins: the best of the package and the seeds.

    Returns:
        What to try next; ``None`` when every setting was walked.
    """
    walk = _Walk(known, closed, goal, begin)
    for setting in space.settings:
        for line in _lines(setting, dict(walk.best.trial.point)[setting.name]):
            wanted = walk.along(setting.name, line)
            if wanted is not None:
                return wanted
            if walk.helped:
                break
    return None


class _Walk:
    """Goes through what is known."""

    def __init__(self, known: Mapping[Point, Placed], closed: Collection[Point], goal: Goal, begin: Placed) -> None:
        self.best = begin
        self.helped = False
        self._known = known
        self._closed = closed
        self._goal = goal

    def along(self, name: str, levels: tuple[str, ...]) -> Point | None:
        """Follow one setting as long as it helps; gives the first combination that nobody has tried."""
        self.helped = False
        for level in levels:
            point = moved(self.best.trial.point, name, level)
            if point in self._closed:
                continue
            if point not in self._known:
                return point
            if not self._better(self._known[point]):
                return None
            self.best, self.helped = self._known[point], True
        return None

    def _better(self, one: Placed) -> bool:
        if one.values is None or not one.eligible:
            return False
        if self.best.values is None or not self.best.eligible:
            return True
        return self._goal.objectives[0].clearly_better(one.values[0], self.best.values[0])


def _lines(setting: Setting, level: str) -> Iterator[tuple[str, ...]]:
    """Give the levels to walk, one line a direction; without an order each other level is a line of its own."""
    if not setting.ordered:
        yield from ((other,) for other in setting.levels if other != level)
        return
    at = setting.levels.index(level)
    yield setting.levels[at + 1 :]
    yield setting.levels[:at][::-1]
