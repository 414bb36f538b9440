"""What a failed start teaches: the smallest combination that explains it is never started again.

The log decides where it can: of the settings that the trial changed, those whose flag or keyword stands among the words that the
wall's rule took out of the log. Where it names none of them, or where what it names was seen to serve, the whole of what
was changed is the explanation: less would forbid what nobody saw fail.
"""

import re
from collections.abc import Sequence
from itertools import chain

from dayzero.optimize.model import WALLED, NeverAgain, Point, Trial, changed

_WORD = re.compile(r"[A-Za-z][\w.-]*")
_SERVED = ("measured", "stopped", "invalid")


def learned(trials: Sequence[Trial], stock: Point) -> tuple[NeverAgain, ...]:
    """Draw from every trial that hit a wall what is never started again.

    Args:
        trials: All trials so far.
        stock: The package as it is.
    """
    served = [changed(one.point, stock) for one in trials if one.kind in _SERVED]
    found: dict[Point, NeverAgain] = {}
    for one in trials:
        if one.outcome is None or one.kind not in WALLED:
            continue
        whole = changed(one.point, stock)
        named = _named(whole, one.outcome.wall.names)
        sure = bool(named) and not any(set(named) <= set(other) for other in served)
        point = named if sure else whole
        if point:
            found.setdefault(
                point,
                NeverAgain(point=point, named=sure, trial=one.number, reason=one.outcome.reason, wall=one.outcome.wall),
            )
    return tuple(found.values())


def keeping_out(walls: Sequence[NeverAgain], point: Point) -> NeverAgain | None:
    """Say which wall a combination contains."""
    levels = set(point)
    return next((wall for wall in walls if set(wall.point) <= levels), None)


def _named(point: Point, names: Sequence[str]) -> Point:
    words = set(chain.from_iterable(_plain(word) for name in names for word in _WORD.findall(name)))
    return tuple((name, level) for name, level in point if words.intersection(_plain(name)))


def _plain(word: str) -> tuple[str, ...]:
    """Write a flag as a keyword, with the attribute alone where it belongs to something (``cpuparams.n_threads``)."""
    whole = re.sub(r"\A(?:(?:no|disable|enable)_)+", "", word.strip("-.").replace("-", "_").lower())
    return (whole, whole.rpartition(".")[2])
