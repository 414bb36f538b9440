"""The plots of one cell: what the rows show over requests and over time."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from dayzero.bench import plot
from dayzero.bench.metrics import CHUNK_GAP, TTFT, minimum_sample, percentile, sample
from dayzero.bench.model import Row
from dayzero.bench.plot import Mark, Plot

_NS_PER_MS: Final = 1_000_000
_NS_PER_S: Final = 1_000_000_000
_CERTIFIABLE: Final = (50, 90, 99)
_BINS: Final = 60
_SLICES: Final = 120
_TAIL: Final = 99.5
_LABEL_WIDTH: Final = 110


def plots(cell: str, rows: Sequence[Row], *, streams: float) -> tuple[Plot, ...]:
    """Draw what the rows of a cell show; a plot without values is left out.

    Args:
        cell: Name of the cell.
        rows: Its rows, both phases. The plots over time show both, those over requests the measured ones that came whole.
        streams: Requests in flight that were asked for.
    """
    measured = [row for row in rows if row.phase == "measured" and row.ok]
    drawn = (
        _ttft(cell, measured),
        _gaps(cell, measured),
        _in_flight(cell, rows, streams),
        _tokens(cell, rows),
        _lag(cell, rows),
    )
    return tuple(found for found in drawn if found is not None)


def _ttft(cell: str, rows: Sequence[Row]) -> Plot | None:
    values = sample(TTFT, rows).values
    if not values:
        return None
    certified = [p for p in _CERTIFIABLE if len(values) >= minimum_sample(p)]
    # The picture ends a little beyond the largest value that is told, so that one straggler does not flatten the rest.
    high = max(percentile(values, _TAIL) * 1.05, values[0] * 1.01)
    x, y = plot.x_scale(_floor(values[0], high), high), plot.y_scale(0, 100)
    points = [(x(value), y(share * 100)) for value, share in plot.thinned(values)]
    rules = _rules([(f"p{p} {percentile(values, p):.2f}", x(percentile(values, p))) for p in certified])
    told = (
        ", ".join(f"p{p} {percentile(values, p):.2f} ms" for p in certified)
        or "no percentile, for the sample is too small"
    )
    beyond = sum(value > high for value in values)
    return Plot(
        slug=f"ttft-{cell}",
        title="Time to first token",
        description=f"Share of {len(values)} requests at or below each time. Certified: {told}."
        + (f" {beyond} slower ones are beyond the right edge, the slowest {values[-1]:.1f} ms." if beyond else ""),
        x_label="ms",
        y_label="% of requests",
        x_ticks=x.ticks(),
        y_ticks=y.ticks(4),
        marks=(Mark(kind="line", path=plot.staircase([(points[0][0], y(0)), *points])), *rules),
    )


def _rules(labelled: Sequence[tuple[str, float]]) -> tuple[Mark, ...]:
    """Put labels that would touch on lines of their own."""
    found: list[Mark] = []
    for label, x in labelled:
        taken = {mark.row for mark in found if abs(mark.x - x) < _LABEL_WIDTH}
        row = next(row for row in range(len(labelled)) if row not in taken)
        found.append(Mark(kind="rule", x=x, label=label, row=row))
    return tuple(found)


def _floor(low: float, high: float) -> float:
    """Begin at zero unless the values lie close together far from it."""
    return 0.0 if low < high / 2 else max(low - (high - low) * 0.1, 0.0)


def _gaps(cell: str, rows: Sequence[Row]) -> Plot | None:
    values = sample(CHUNK_GAP, rows).values
    if not values:
        return None
    high = max(percentile(values, _TAIL) * 1.05, 1e-3)
    low = _floor(percentile(values, 100 - _TAIL), high)
    x = plot.x_scale(low, high)
    edges, counts = plot.binned(values, low, high, _BINS)
    y = plot.y_scale(0, max(counts))
    beyond = sum(not low <= value <= high for value in values)
    return Plot(
        slug=f"gaps-{cell}",
        title="Gaps between chunks",
        description=f"{len(values):,} gaps; half are at or below {percentile(values, 50):.2f} ms, the longest is {values[-1]:.1f}."
        + (f" {beyond} outside the picture are in its outermost bars." if beyond else ""),
        x_label="ms",
        y_label="gaps",
        x_ticks=x.ticks(),
        y_ticks=y.ticks(4),
        marks=(Mark(kind="area", path=plot.bars(edges, counts, x, y)),),
    )


def _in_flight(cell: str, rows: Sequence[Row], asked: float) -> Plot | None:
    spans = [(row.sent_ns, row.end_ns) for row in rows if row.sent_ns and row.end_ns]
    if not spans:
        return None
    start, end = min(sent for sent, _ in spans), max(ended for _, ended in spans)
    sent, ended = sorted(sent for sent, _ in spans), sorted(ended for _, ended in spans)

    def mean(begin: int, until: int) -> float:
        return (_waited(sent, begin, until) - _waited(ended, begin, until)) / max(until - begin, 1)

    points = plot.over_time(start, end, _SLICES, mean)
    x, y = plot.x_scale(0, (end - start) / _NS_PER_S), plot.y_scale(0, max(asked, *(value for _, value in points)))
    return Plot(
        slug=f"flight-{cell}",
        title="Requests in flight",
        description=f"Warm-up included; {asked:g} were asked, the most in one slice was {max(v for _, v in points):.1f}.",
        x_label="s",
        y_label="in flight",
        x_ticks=x.ticks(),
        y_ticks=y.ticks(4),
        marks=(
            Mark(kind="level", y=y(asked), label=f"{asked:g} asked"),
            *_begin_of_measurement(rows, start, x),
            Mark(kind="line", path=plot.staircase([(x(at_s), y(value)) for at_s, value in points])),
        ),
    )


def _waited(ordered: Sequence[int], begin: int, until: int) -> int:
    """Add up, over the stamps before ``until``, the time from each (or from ``begin``, if that is later) to ``until``."""
    early, all_before = bisect_left(ordered, begin), bisect_left(ordered, until)
    return early * (until - begin) + sum(until - stamp for stamp in ordered[early:all_before])


def _begin_of_measurement(rows: Sequence[Row], start: int, x: plot.Scale) -> tuple[Mark, ...]:
    measured = [row.sent_ns for row in rows if row.phase == "measured" and row.sent_ns]
    if not measured or min(measured) <= start:
        return ()
    return (Mark(kind="rule", x=x((min(measured) - start) / _NS_PER_S), label="measured from here"),)


def _tokens(cell: str, rows: Sequence[Row]) -> Plot | None:
    stamps = sorted(stamp for row in rows for stamp in row.content_ns)
    if not stamps or stamps[0] == stamps[-1]:
        return None
    chunks = len(stamps)
    tokens = sum(row.usage.completion_tokens for row in rows if row.usage)
    per_chunk = tokens / chunks if tokens and all(row.usage for row in rows if row.ok) else 1.0
    unit = "tokens/s" if tokens else "chunks/s"
    start = min(row.sent_ns for row in rows if row.sent_ns)

    def rate(begin: int, until: int) -> float:
        count = bisect_left(stamps, until) - bisect_left(stamps, begin)
        return count * per_chunk / max((until - begin) / _NS_PER_S, 1e-9)

    points = plot.over_time(start, stamps[-1], _SLICES, rate)
    x, y = plot.x_scale(0, (stamps[-1] - start) / _NS_PER_S), plot.y_scale(0, max(value for _, value in points))
    return Plot(
        slug=f"tokens-{cell}",
        title="Output rate",
        description=f"{tokens or chunks:,} in {(stamps[-1] - start) / _NS_PER_S:.2f} s, warm-up included.",
        x_label="s",
        y_label=unit,
        x_ticks=x.ticks(),
        y_ticks=y.ticks(4),
        marks=(
            *_begin_of_measurement(rows, start, x),
            Mark(kind="line", path=plot.staircase([(x(at_s), y(value)) for at_s, value in points])),
        ),
    )


def _lag(cell: str, rows: Sequence[Row]) -> Plot | None:
    values = sorted(row.lag_ns / _NS_PER_MS for row in rows if row.lag_ns >= 0)
    if not values:
        return None
    high = max(percentile(values, _TAIL) * 1.1, 0.05)
    x, y = plot.x_scale(0, high), plot.y_scale(0, 100)
    points = [(x(value), y(share * 100)) for value, share in plot.thinned(values)]
    return Plot(
        slug=f"lag-{cell}",
        title="Client lag",
        description=(
            f"How much later than the kernel the client had a request's slowest read: half of {len(values)} requests "
            f"at or below {percentile(values, 50):.3f} ms, the largest {values[-1]:.3f} ms."
        ),
        x_label="ms",
        y_label="% of requests",
        x_ticks=x.ticks(),
        y_ticks=y.ticks(4),
        marks=(Mark(kind="line", path=plot.staircase([(points[0][0], y(0)), *points])),),
    )
