"""Draw the latencies of a lane on a system: size to the right, microseconds upwards, both by their logarithms, with error bars."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Final

from dayzero.adapters.site.plot import BOTTOM, HEIGHT, LEFT, PAD, RIGHT, TOP, WIDTH, mark
from dayzero.catalog.performance import PerfCurve, PerfLine, PerfPoint

_CAP: Final = 3
_LETTER: Final = 8
_STYLES: Final = 3
_THOUSAND: Final = 1024
_LARGE: Final = 10_000


def draw_curve(curve: PerfCurve, number: int) -> str:
    """Draw a curve as one ``<svg>`` element; ``number`` tells its labels from those of others on the page."""
    scale = _Scale.over(curve)
    names = f"curve-{number}-t curve-{number}-d"
    return "".join(
        [
            f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{names}">',
            f'<title id="curve-{number}-t">{escape(f"{curve.system}: latency by {axis_words(curve.axis)}")}</title>',
            f'<desc id="curve-{number}-d">{escape(" ".join(_told(line) for line in curve.lines))}</desc>',
            *_axes(scale, curve),
            *(part for place, line in enumerate(curve.lines) for part in _line(line, scale, style_of(line, place))),
            "</svg>",
        ]
    )


def style_of(line: PerfLine, place: int) -> int:
    """Choose how a line is drawn: solid for rows that count, dashed for those that were taken back."""
    return 1 if line.retracted else 0 if place % _STYLES != 2 else 2  # noqa: PLR2004  (the third kind of line)


def axis_words(column: str) -> str:
    """Say a column in words."""
    return column.replace("_", " ").replace("num ", "number of ").replace("seq len", "sequence length")


def size_words(size: int) -> str:
    """Write a size so that it takes little room: large powers of two with Ki and Mi."""
    if size < _LARGE or size % _THOUSAND:
        return str(size)
    thousands = size // _THOUSAND
    return f"{thousands}Ki" if thousands % _THOUSAND else f"{thousands // _THOUSAND}Mi"


def _told(line: PerfLine) -> str:
    points = "; ".join(f"{one.value_us:g} microseconds at {one.size}" for one in line.points)
    return f"{line.name}: {points}."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """Where a value stands; whole decades upwards."""

    sizes: tuple[int, ...]
    low: int
    high: int

    @classmethod
    def over(cls, curve: PerfCurve) -> "_Scale":
        points = [point for line in curve.lines for point in line.points]
        least = min((point.low_us for point in points), default=1.0)
        most = max((point.high_us for point in points), default=10.0)
        low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))
        return cls(sizes=tuple(sorted({point.size for point in points})), low=low, high=max(high, low + 1))

    def x(self, size: int) -> float:
        first, last = math.log2(max(self.sizes[0], 1)), math.log2(max(self.sizes[-1], 2))
        share = (math.log2(max(size, 1)) - first) / (last - first) if last > first else 0.5
        return LEFT + PAD / 2 + share * (WIDTH - LEFT - RIGHT - PAD)

    def y(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - min(max(share, 0.0), 1.0) * (HEIGHT - TOP - BOTTOM)


def _axes(scale: _Scale, curve: PerfCurve) -> Iterator[str]:
    for power in range(scale.low, scale.high + 1):
        y = scale.y(10.0**power)
        kind = "axis" if power == scale.low else "grid"
        yield f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_decade(power)}</text>'
    yield '<text x="4" y="12">µs</text>'
    last = -math.inf
    for size in scale.sizes:
        x, words = scale.x(size), size_words(size)
        yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM + 4}"/>'
        if x - last >= _LETTER * len(words) + 6:
            yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{words}</text>'
            last = x
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{escape(axis_words(curve.axis))}</text>'


def _decade(power: int) -> str:
    return f"{10**power}" if 0 <= power < 5 else f"{10.0**power:g}"  # noqa: PLR2004  (longer ones do not fit)


def _line(line: PerfLine, scale: _Scale, style: int) -> Iterator[str]:
    places = [(scale.x(point.size), scale.y(point.value_us)) for point in line.points]
    yield f'<g class="s{style}"><path d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in places)}"/>'
    for point, (x, y) in zip(line.points, places, strict=True):
        yield _bar(point, x, scale)
        yield mark(x, y, style)
    yield "</g>"


def _bar(point: PerfPoint, x: float, scale: _Scale) -> str:
    low, high = scale.y(point.low_us), scale.y(point.high_us)
    cap = f"M{x - _CAP:.1f} {{0:.1f}} H{x + _CAP:.1f}"
    return f'<path class="bar" d="M{x:.1f} {low:.1f} V{high:.1f} {cap.format(low)} {cap.format(high)}"/>'
