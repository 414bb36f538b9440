"""Draw the measured grid: one small SVG a metric, to stand in a page whose style sheet colours it."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Final

from dayzero.catalog.series import Point, Series

WIDTH: Final = 400
HEIGHT: Final = 230
LEFT: Final = 46
RIGHT: Final = 18
TOP: Final = 22
BOTTOM: Final = 40
PAD: Final = 28
_MARK: Final = 4
_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_MOST: Final = 3
_LINES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One drawing and what stands under it.

    Attributes:
        title: What is drawn, in words, without its unit.
        unit: Its unit.
        load: What the points have in common, in words.
        names: The lines of the drawing, in the order of their marks.
        svg: The drawing: one ``<svg>`` element.
    """

    title: str
    unit: str
    load: str
    names: tuple[str, ...]
    svg: str


def draw(series: Iterable[Series]) -> tuple[Plot, ...]:
    """Draw every metric that was measured at two loads or more; lines of one metric and one load share a drawing."""
    groups: dict[tuple[str, str, str], list[Series]] = {}
    for each in series:
        if len({point.x for point in each.points}) > 1:
            groups.setdefault((each.metric, each.unit, each.load), []).append(each)
    drawings = [group[at : at + _MOST] for group in groups.values() for at in range(0, len(group), _MOST)]
    return tuple(_plot(drawing, number) for number, drawing in enumerate(drawings, start=1))


def _plot(group: list[Series], number: int) -> Plot:
    first = group[0]
    names = tuple(each.statistic or each.label for each in group)
    title = first.label.removesuffix(first.statistic).rstrip(" ,") or first.label
    scale = _Scale.over([point for each in group for point in each.points])
    parts = [
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="plot-{number}-t plot-{number}-d">',
        f'<title id="plot-{number}-t">{escape(f"{title}, {first.unit}" if first.unit else title)}</title>',
        f'<desc id="plot-{number}-d">{escape(" ".join(_told(group)))}</desc>',
        *_axes(scale, first.unit),
        *(part for style, each in enumerate(group) for part in _line(each, scale, style, alone=len(group) == 1)),
        "</svg>",
    ]
    return Plot(title=title, unit=first.unit, load=first.load, names=names, svg="".join(parts))


def _told(group: list[Series]) -> Iterator[str]:
    for each in group:
        points = "; ".join(f"{point.text} at {point.x} in flight" for point in each.points)
        yield f"{each.statistic or each.label}: {points}."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """Where a value stands: to the right by the logarithm of the load, upwards from zero."""

    loads: tuple[int, ...]
    top: float
    step: float

    @classmethod
    def over(cls, points: list[Point]) -> "_Scale":
        highest = max((point.y for point in points), default=0.0)
        step = _step(highest / _LINES if highest > 0 else 1.0)
        top = max(step, math.ceil(highest / step - 1e-9) * step)
        return cls(loads=tuple(sorted({point.x for point in points})), top=top, step=step)

    def x(self, load: int) -> float:
        low, high = math.log2(max(self.loads[0], 1)), math.log2(max(self.loads[-1], 2))
        share = (math.log2(max(load, 1)) - low) / (high - low) if high > low else 0.5
        return LEFT + PAD + share * (WIDTH - LEFT - RIGHT - 2 * PAD)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - min(max(value / self.top, 0.0), 1.0) * (HEIGHT - TOP - BOTTOM)


def _step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in _STEPS if step * power >= least * (1 - 1e-9))


def _axes(scale: _Scale, unit: str) -> Iterator[str]:
    value = 0.0
    while value <= scale.top * (1 + 1e-9):
        y = scale.y(value)
        kind = "grid" if value else "axis"
        yield f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
        value += scale.step
    yield f'<text x="4" y="12">{escape(unit)}</text>'
    last = -math.inf
    for load in scale.loads:
        x = scale.x(load)
        yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM + 4}"/>'
        if x - last >= 9 * len(str(load)):
            yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{load}</text>'
            last = x
    yield f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">requests in flight</text>'


def _line(series: Series, scale: _Scale, style: int, *, alone: bool) -> Iterator[str]:
    places = [(scale.x(point.x), scale.y(point.y)) for point in series.points]
    yield f'<g class="s{style}"><path d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in places)}"/>'
    for x, y in places:
        yield mark(x, y, style)
    yield "</g>"
    if alone and all(right - left >= _room(series) for (left, _), (right, _) in pairwise(places)):
        for point, (x, y) in zip(series.points, places, strict=True):
            yield f'<text class="value" x="{x:.1f}" y="{y - 9:.1f}" text-anchor="middle">{escape(_bare(point, series))}</text>'


def _room(series: Series) -> int:
    """Give the width that the widest value needs."""
    return 7 * max(len(_bare(point, series)) for point in series.points) + 6


def _bare(point: Point, series: Series) -> str:
    return point.text.removesuffix(series.unit).strip() if series.unit else point.text


def mark(x: float, y: float, style: int) -> str:
    """Draw a point: a circle, a square or a triangle, so that lines are told apart without their colours."""
    if style == 0:
        return f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="{_MARK}"/>'
    if style == 1:
        return f'<rect class="point" x="{x - _MARK:.1f}" y="{y - _MARK:.1f}" width="{2 * _MARK}" height="{2 * _MARK}"/>'
    corners = f"{x:.1f},{y - _MARK - 1:.1f} {x + _MARK + 1:.1f},{y + _MARK:.1f} {x - _MARK - 1:.1f},{y + _MARK:.1f}"
    return f'<polygon class="point" points="{corners}"/>'
