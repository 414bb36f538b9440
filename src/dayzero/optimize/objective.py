"""What is to be best, and which limits have to be kept: read as the user types them, computed from a trial's figures."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dayzero.bench.windows.model import Measure, parse_measure
from dayzero.core.errors import InputError
from dayzero.optimize.model import Outcome

TIE: Final = 0.005
"""Share below which two single trials count as equal: the one that changes less of the package is then the better one."""

_RATE: Final = "output_tok_s"
_A_DEVICE, _COST = "tok_s_gpu", "cost"
_SECONDS_AN_HOUR: Final = 3600.0
_MILLION: Final = 1_000_000.0
_TIME: Final = re.compile(r"(\d+(?:\.\d+)?)([smh])")
_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """One figure that is to be as good as can be.

    Attributes:
        name: As the user named it.
        figure: The figure of a trial that it is computed from.
        factor: What the figure is multiplied by.
        inverse: Whether the factor is divided by the figure instead.
        unit: Of the value.
        higher_is_better: Which way is better.
    """

    name: str
    figure: str
    factor: float = 1.0
    inverse: bool = False
    unit: str
    higher_is_better: bool

    def value(self, figures: Mapping[str, float]) -> float | None:
        """Compute it; ``None`` where a trial has no such figure."""
        figure = figures.get(self.figure)
        if figure is None or (self.inverse and figure <= 0):
            return None
        return self.factor / figure if self.inverse else self.factor * figure

    @property
    def of_speed(self) -> bool:
        """Whether it follows from how many answers a second came."""
        return self.figure == _RATE

    @property
    def measure(self) -> Measure:
        """The figure as a comparison names it."""
        return parse_measure(self.figure)

    def better(self, value: float, than: float) -> bool:
        """Say whether one value is better than another."""
        return value > than if self.higher_is_better else value < than

    def clearly_better(self, value: float, than: float) -> bool:
        """Say whether one value is better than another by more than what no single trial can tell."""
        return self.better(value, than * (1 + TIE if self.higher_is_better else 1 - TIE))


@dataclass(frozen=True, slots=True)
class Limit:
    """A figure that has to stay at or below a bound.

    Attributes:
        figure: Which.
        most: The bound, in the figure's unit.
    """

    figure: str
    most: float

    def over(self, figures: Mapping[str, float]) -> float | None:
        """Give by which share of the bound a trial is over it (negative below); ``None`` without the figure."""
        figure = figures.get(self.figure)
        return None if figure is None else figure / self.most - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a study is after: the objectives, the first of which decides, and the limits."""

    objectives: tuple[Objective, ...]
    limits: tuple[Limit, ...] = ()

    @property
    def figures(self) -> tuple[str, ...]:
        """Every figure that has to be taken of a trial."""
        return tuple(
            dict.fromkeys([*(one.figure for one in self.objectives), *(limit.figure for limit in self.limits)])
        )

    def values(self, outcome: Outcome | None) -> tuple[float, ...] | None:
        """Compute every objective of a trial that was measured whole; ``None`` where one is missing."""
        if outcome is None or outcome.kind != "measured":
            return None
        found = [one.value(outcome.figures) for one in self.objectives]
        return None if any(value is None for value in found) else tuple(value for value in found if value is not None)

    def violations(self, outcome: Outcome | None) -> tuple[float, ...]:
        """Give by how much each limit is broken; one without its figure counts as broken."""
        figures = {} if outcome is None else outcome.figures
        return tuple(1.0 if (over := limit.over(figures)) is None else over for limit in self.limits)

    def eligible(self, outcome: Outcome | None) -> bool:
        """Say whether a trial has its values and keeps every limit."""
        return self.values(outcome) is not None and all(over <= 0 for over in self.violations(outcome))


def parse_objectives(text: str, *, devices: int, price_per_hour: float | None) -> tuple[Objective, ...]:
    """Read ``output_tok_s,ttft_ms.p90``.

    Args:
        text: Measures, joined with commas.
        devices: GPUs that the package takes, 1 for a machine without.
        price_per_hour: Of one device; ``None`` counts device-seconds.

    Raises:
        InputError: There is no such measure, or one is named twice.
    """
    found = tuple(_objective(one.strip(), devices, price_per_hour) for one in text.split(","))
    if len({one.name for one in found}) != len(found):
        raise InputError(f"an objective is named twice: {text}", hint="Name each once.")
    return found


def parse_limits(text: str) -> tuple[Limit, ...]:
    """Read ``ttft_ms.p90=500,tpot_ms.p50=30``.

    Raises:
        InputError: One is no limit, or a figure has two.
    """
    found = tuple(_limit(one.strip()) for one in text.split(",") if one.strip())
    if len({one.figure for one in found}) != len(found):
        raise InputError(f"a measure has two limits: {text}", hint="Give each one limit.")
    return found


def parse_time(text: str) -> float:
    """Read ``90s``, ``12m`` or ``2h`` as seconds.

    Raises:
        InputError: It is none.
    """
    match = _TIME.fullmatch(text.strip())
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if seconds <= 0:
        raise InputError(f"not a time: {text!r}", hint="Write 90s, 12m or 2h.")
    return seconds


def _objective(name: str, devices: int, price_per_hour: float | None) -> Objective:
    if name == _A_DEVICE:
        return Objective(name=name, figure=_RATE, factor=1 / devices, unit="tok/s a device", higher_is_better=True)
    if name == _COST:
        a_second = 1.0 if price_per_hour is None else price_per_hour / _SECONDS_AN_HOUR
        unit = "device-seconds" if price_per_hour is None else "of the price"
        return Objective(
            name=name,
            figure=_RATE,
            factor=devices * a_second * _MILLION,
            inverse=True,
            unit=f"{unit} a million output tokens",
            higher_is_better=False,
        )
    measure = parse_measure(name)
    unit = "ms" if measure.statistic else "tok/s"
    return Objective(name=str(measure), figure=str(measure), unit=unit, higher_is_better=measure.higher_is_better)


def _limit(text: str) -> Limit:
    name, equals, bound = text.partition("=")
    try:
        most = float(bound)
    except ValueError:
        most = 0.0
    if not equals or most <= 0:
        raise InputError(f"not a limit: {text!r}", hint="Write MEASURE=MS, such as ttft_ms.p90=500.")
    measure = parse_measure(name.strip())
    if not measure.statistic:
        raise InputError(f"{measure} is no latency", hint="Limits are for latencies; a rate can be the objective.")
    return Limit(str(measure), most)
