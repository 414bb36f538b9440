"""What follows from a search: a winner that is confirmed and written, or why there is none."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dayzero.optimize.document import Found, Verdict
from dayzero.optimize.model import WALLED, Point, changed, in_words
from dayzero.optimize.plan import View
from dayzero.optimize.search import End
from dayzero.optimize.standing import Placed
from dayzero.wiring.optimize_confirm import NOT_ASKED, Confirmation, Told, compared, gated, summary
from dayzero.wiring.optimize_package import write_winner
from dayzero.wiring.optimize_study import Opened
from dayzero.wiring.window_arms import Waiting

_AS_COMPARED: Final[Mapping[str, Verdict]] = {
    "BETTER": "BETTER",
    "WORSE": "NO-BETTER-FOUND",
    "EQUIVALENT": "NO-BETTER-FOUND",
    "INCONCLUSIVE": "NO-BETTER-FOUND",
    "INSTRUMENT-BAD": "UNDECIDED",
    "DOES-NOT-SERVE": "UNDECIDED",
}
_ENDED: Final[Mapping[End, str]] = {
    "budget": "the search ended with its budget",
    "trials": "the search ended with its starts",
    "exhausted": "every combination was started or taken out",
    "stock": "the search did not begin",
}


class Conclusion:
    """Draws the conclusion from a search.

    Args:
        opened: The study.
        now: Where the search ended.
        how: How a winner is confirmed.
        say: Takes a line about the progress.
        waiting: Is told of each start and each load.
    """

    def __init__(
        self, opened: Opened, now: View, how: Confirmation, say: Callable[[str], None], waiting: Waiting
    ) -> None:
        self._opened = opened
        self._now = now
        self._how = how
        self._say = say
        self._waiting = waiting

    def found(self, end: End) -> Found:
        """Say what came of it; confirms where there is something to confirm."""
        standing = self._now.standing
        stock, best = standing.stock, standing.best
        if end == "stock" or stock is None:
            return self._no_stock()
        if best is None:
            return self._without("NO-BETTER-FOUND", f"no combination keeps the limits; {_ENDED[end]}")
        if best.trial.point == stock.trial.point:
            return self._without("NO-BETTER-FOUND", f"no combination was better than the package; {_ENDED[end]}")
        if not self._how.wanted:
            return self._without("UNCONFIRMED", f"{self._seen(best)}; nothing was confirmed; {_ENDED[end]}")
        return self._confirmed(best, _ENDED[end])

    def _confirmed(self, best: Placed, ended: str) -> Found:
        number, point = best.trial.number, best.trial.point
        told = Told(self._say)
        found = compared(self._opened, (number, point), self._how, told, self._waiting)
        folder = f"confirm/{number:04}"
        confirmation = summary(found, folder, self._how.flags)
        because = (self._seen(best), *map(str, found["because"]), ended)
        verdict = _AS_COMPARED[found["verdict"]]
        if verdict != "BETTER":
            return Found(verdict=verdict, because=because, confirmation=confirmation, gate=NOT_ASKED, winner=None)
        return self._held_to_the_gate(point, because, confirmation)

    def _held_to_the_gate(self, point: Point, because: tuple[str, ...], confirmation: Mapping[str, Any]) -> Found:
        if not self._how.gate:
            return self._won(point, because, confirmation, NOT_ASKED)
        self._say("the distribution gate: the package as it is against the winner")
        said = gated(self._opened, point, self._how, self._waiting)
        if said.same:
            return self._won(point, because, confirmation, said.document())
        verdict: Final = "NOT-THE-SAME" if said.different else "UNDECIDED"
        why = "the gate found another distribution" if said.different else "the gate could not certify it"
        return Found(
            verdict=verdict, because=(*because, why), confirmation=confirmation, gate=said.document(), winner=None
        )

    def _won(
        self, point: Point, because: tuple[str, ...], confirmation: Mapping[str, Any], gate: Mapping[str, object]
    ) -> Found:
        winner = write_winner(self._opened, point)
        name = str(winner.relative_to(self._opened.folder.root))
        return Found(verdict="BETTER", because=because, confirmation=confirmation, gate=gate, winner=name)

    def _no_stock(self) -> Found:
        stock = [one for one in self._now.state.trials if one.role == "stock" and one.outcome]
        last = stock[-1].outcome if stock else None
        lacking = [last.missing[name] for name in self._opened.goal.figures if name in last.missing] if last else []
        reason = (last.reason or "; ".join(lacking)) if last else "it was never started"
        fell = any(one.kind in WALLED for one in stock)
        if fell:
            return self._without("DOES-NOT-SERVE", f"the package as it is {reason}")
        return self._without("UNDECIDED", f"the package as it is was not measured: {reason}")

    def _seen(self, best: Placed) -> str:
        stock, objective = self._now.standing.stock, self._opened.goal.objectives[0]
        words = in_words(changed(best.trial.point, self._opened.study.space.stock))
        before = stock.values[0] if stock and stock.values else 0.0
        after = best.values[0] if best.values else 0.0
        over = f" ({after / before - 1:+.1%})" if before else ""
        name = objective.name
        return f"the best of the search is trial {best.trial.number}, {words}: {name} {after:.4g}, as it is {before:.4g}{over}"

    @staticmethod
    def _without(verdict: Verdict, reason: str) -> Found:
        return Found(verdict=verdict, because=(reason,), confirmation=None, gate=NOT_ASKED, winner=None)
