"""Which flags mattered? What pairs of trials show that differ in one flag alone, and what is only correlation."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from dayzero.optimize.model import Interval, Setting
from dayzero.optimize.standing import Placed
from dayzero.optimize.stop import interval

SCHEMA: Final = "dayzero/optimize-explain/v1"

_ALPHA: Final = 0.05
_MATTERS: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """One change of one flag, as pairs of trials show it that differ in nothing else.

    Attributes:
        setting: Which flag.
        before, after: Its levels.
        trials: The pairs' numbers.
        effect: Mean logarithm of the objective after over before, with an interval where there are two pairs or more.
    """

    setting: str
    before: str
    after: str
    trials: tuple[tuple[int, int], ...]
    effect: Interval


def contrasts(settings: Sequence[Setting], placed: Sequence[Placed]) -> tuple[Contrast, ...]:
    """Find every pair of measured trials that differs in one flag alone, and put equal changes together."""
    order = {one.name: one.levels for one in settings}
    pairs: dict[tuple[str, str, str], list[tuple[Placed, Placed]]] = {}
    for one, other in combinations([one for one in placed if one.values is not None], 2):
        differing = [
            (a[0], a[1], b[1]) for a, b in zip(one.trial.point, other.trial.point, strict=True) if a[1] != b[1]
        ]
        if len(differing) != 1:
            continue
        name, before, after = differing[0]
        if order[name].index(before) > order[name].index(after):
            pairs.setdefault((name, after, before), []).append((other, one))
        else:
            pairs.setdefault((name, before, after), []).append((one, other))
    return tuple(_contrast(key, found) for key, found in sorted(pairs.items()))


def document(
    study: str,
    objective: str,
    settings: Sequence[Setting],
    placed: Sequence[Placed],
    importance: tuple[str, Mapping[str, float]],
) -> dict[str, object]:
    """Write the explanation of a study.

    Args:
        study: Its folder.
        objective: By which measure.
        settings: The settings of its space.
        placed: Its trials.
        importance: The evaluator and each setting's share.
    """
    found = contrasts(settings, placed)
    evaluator, shares = importance
    isolated = {one.setting for one in found}
    return {
        "schema": SCHEMA,
        "study": study,
        "objective": objective,
        "trials": sum(one.values is not None for one in placed),
        "importance": [
            {"setting": name, "share": round(value, 6), "evaluator": evaluator} for name, value in shares.items()
        ],
        "contrasts": [_written(one) for one in found],
        "correlation_only": [name for name, value in shares.items() if value >= _MATTERS and name not in isolated],
    }


def _contrast(key: tuple[str, str, str], found: Sequence[tuple[Placed, Placed]]) -> Contrast:
    name, before, after = key
    ratios = [math.log(b.values[0] / a.values[0]) for a, b in found if a.values and b.values]
    effect = interval(ratios, _ALPHA)
    if len(ratios) < 2 or not math.isfinite(effect.low):  # noqa: PLR2004  (one value has no spread)
        effect = Interval(value=statistics.fmean(ratios), low=-math.inf, high=math.inf)
    return Contrast(
        setting=name,
        before=before,
        after=after,
        trials=tuple((a.trial.number, b.trial.number) for a, b in found),
        effect=effect,
    )


def _written(one: Contrast) -> dict[str, object]:
    def ratio(value: float) -> float | None:
        return round(math.exp(value), 6) if math.isfinite(value) else None

    return {
        "setting": one.setting,
        "from": one.before,
        "to": one.after,
        "pairs": [list(pair) for pair in one.trials],
        "ratio": ratio(one.effect.value),
        "low": ratio(one.effect.low),
        "high": ratio(one.effect.high),
    }
