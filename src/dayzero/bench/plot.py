"""Lay out small plots as coordinates: no drawing library, no scripts; a template turns them into inline SVG."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

WIDTH: Final = 640
HEIGHT: Final = 250
LEFT: Final = 64
RIGHT: Final = 20
TOP: Final = 26
BOTTOM: Final = 46
_POINTS: Final = 400
_THOUSAND: Final = 1000
_LONG: Final = 10_000
_STEPS: Final = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A mark on an axis: where it stands in the picture, and its label."""

    at: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One thing that is drawn.

    Attributes:
        kind: ``line`` or ``area`` (an SVG path), ``rule`` (a vertical line at ``x`` with ``label``), ``level`` (a
            horizontal one at ``y``), ``dot`` or ``ring`` (a point; ``label`` is told where it is pointed at), ``text``.
        path: The path's ``d``.
        x, y: Position in the picture.
        label: Its text; of a rule, drawn at its top.
        row: Which line of the labels' space at the top it takes, counted down.
    """

    kind: Literal["line", "area", "rule", "level", "dot", "ring", "text"]
    path: str = ""
    x: float = 0.0
    y: float = 0.0
    label: str = ""
    row: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One plot, ready to draw.

    Attributes:
        slug: Name that is unique on the page.
        title: What it shows.
        description: The same in a sentence with its numbers, for who cannot see it.
        x_label, y_label: Names of the axes with their units.
        x_ticks, y_ticks: Marks of the axes.
        marks: What is drawn, back to front.
    """

    slug: str
    title: str
    description: str
    x_label: str
    y_label: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale from values to the picture."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Place a value, one decimal; values outside stand at the edge."""
        span = self.high - self.low
        share = (value - self.low) / span if span else 0.5
        return round(self.start + min(max(share, 0.0), 1.0) * (self.end - self.start), 1)

    def ticks(self, count: int = 5) -> tuple[Tick, ...]:
        """Give about so many round values."""
        return tuple(Tick(at=self(value), label=_label(value)) for value in _round_values(self.low, self.high, count))


def x_scale(low: float, high: float) -> Scale:
    """Scale the horizontal axis."""
    return Scale(low, high, LEFT, WIDTH - RIGHT)


def y_scale(low: float, high: float) -> Scale:
    """Scale the vertical axis, up to a round value."""
    return Scale(low, _ceiling(low, high), HEIGHT - BOTTOM, TOP)


def polyline(points: Sequence[tuple[float, float]]) -> str:
    """Join points with straight lines."""
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points) if points else ""


def staircase(points: Sequence[tuple[float, float]]) -> str:
    """Join points so that each height holds until the next point."""
    if not points:
        return ""
    return f"M{points[0][0]:g} {points[0][1]:g}" + "".join(f"H{x:g}V{y:g}" for x, y in points[1:])


def bars(edges: Sequence[float], counts: Sequence[float], x: Scale, y: Scale) -> str:
    """Draw a histogram as one closed path."""
    floor = y(y.low)
    return "".join(
        f"M{x(left):g} {floor:g}V{y(count):g}H{x(right):g}V{floor:g}Z"
        for left, right, count in zip(edges, edges[1:], counts, strict=False)
        if count
    )


def binned(values: Sequence[float], low: float, high: float, bins: int) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Count sorted values in equal bins; values outside are in the first and last one."""
    width = (high - low) / bins or 1.0
    counts = [0] * bins
    for value in values:
        counts[min(max(int((value - low) / width), 0), bins - 1)] += 1
    return tuple(low + width * place for place in range(bins + 1)), tuple(counts)


def thinned(ordered: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Give the points of an empirical distribution, (value, share at or below it), at most some hundreds of them."""
    count = len(ordered)
    wanted = (
        sorted({min(round(step * (count - 1) / (_POINTS - 1)), count - 1) for step in range(_POINTS)}) if count else []
    )
    return tuple((ordered[place], (place + 1) / count) for place in wanted)


def over_time(
    start_ns: int, end_ns: int, bins: int, value: Callable[[int, int], float]
) -> tuple[tuple[float, float], ...]:
    """Evaluate something in equal slices of time: (seconds after the start, value)."""
    width = max((end_ns - start_ns) / bins, 1.0)
    slices = [(start_ns + round(width * place), start_ns + round(width * (place + 1))) for place in range(bins)]
    return tuple(((begin - start_ns) / 1e9, value(begin, end)) for begin, end in slices)


def _label(value: float) -> str:
    """Write a value short: thousands from ten thousand on."""
    return f"{value / _THOUSAND:g}k" if abs(value) >= _LONG else f"{value:.10g}"


def _round_values(low: float, high: float, count: int) -> tuple[float, ...]:
    step = _round_step((high - low) / max(count, 1))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(round(place * step, 12) for place in range(first, last + 1))


def _ceiling(low: float, high: float) -> float:
    if high <= low:
        return low + 1.0
    step = _round_step((high - low) / 5)
    return math.ceil(high / step - 1e-9) * step


def _round_step(rough: float) -> float:
    if rough <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in _STEPS if step * power >= rough * 0.999)
