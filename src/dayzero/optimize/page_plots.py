"""The plots of a study: what each trial reached, the front, what mattered, and where device time went."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from dayzero.bench import plot
from dayzero.bench.foreign.fields import at, items, number, numbers, text
from dayzero.bench.plot import Mark, Plot

_ROOM: Final = 0.08
_NOTHING_SAVED: Final = 0.05
_BAR: Final = 44.0
_HALF_A_LETTER: Final = 5


def plots(result: Mapping[str, object], explanation: Mapping[str, object] | None) -> tuple[Plot, ...]:
    """Draw what a study shows; a plot without values is left out.

    Args:
        result: Its result's document.
        explanation: The document of which flags mattered, ``None`` where there is none.
    """
    drawn = (_trials(result), _front(result), _importance(explanation), _time(result))
    return tuple(one for one in drawn if one is not None)


def _trials(result: Mapping[str, object]) -> Plot | None:
    valued = [(number(one, "number") or 0.0, one) for one in items(result, "trials") if numbers(one, "values")]
    if not valued:
        return None
    name, unit, higher = _objective(result, 0)
    values = [numbers(one, "values")[0] for _, one in valued]
    last = max(place for place, _ in valued) + 1
    x, y = plot.x_scale(-1, last), plot.y_scale(*_room(values))
    best = _best_so_far(valued, higher=higher)
    stock = next((numbers(one, "values")[0] for _, one in valued if text(one, "role") == "stock"), None)
    level = () if stock is None else (Mark(kind="level", y=y(stock), label=f"the package as it is: {stock:,.4g}"),)
    points = [(x(place), y(value)) for place, value in best]
    if points:
        points.append((x(last), points[-1][1]))
    told = f"the best eligible one reached {best[-1][1]:,.4g} {unit}" if best else "none is eligible"
    return Plot(
        slug="trials",
        title=f"{name}, trial by trial",
        description=f"{len(valued)} of {len(items(result, 'trials'))} trials have a figure; {told}. "
        f"The line is the best so far{', the dotted one the package as it is' if level else ''}; rings break a limit.",
        x_label="trial",
        y_label=unit,
        x_ticks=tuple(tick for tick in x.ticks(8) if tick.label.isdigit() and float(tick.label) < last),
        y_ticks=y.ticks(4),
        marks=(
            *level,
            Mark(kind="line", path=plot.staircase(points)),
            *(
                _dot(x(place), y(numbers(one, "values")[0]), one, f"{name} {numbers(one, 'values')[0]:,.4g} {unit}")
                for place, one in valued
            ),
        ),
    )


def _best_so_far(valued: Sequence[tuple[float, object]], *, higher: bool) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for place, one in valued:
        value = numbers(one, "values")[0]
        counts = at(one, "eligible") is True and text(one, "role") != "baseline"
        if counts and (not found or (value > found[-1][1] if higher else value < found[-1][1])):
            found.append((place, value))
    return found


def _front(result: Mapping[str, object]) -> Plot | None:
    if len(items(result, "objective")) < 2:  # noqa: PLR2004  (a front has two sides)
        return None
    valued = [one for one in items(result, "trials") if len(numbers(one, "values")) > 1]
    if not valued:
        return None
    (name, unit, _), (other, other_unit, _) = _objective(result, 0), _objective(result, 1)
    pairs = [numbers(one, "values")[:2] for one in valued]
    x, y = plot.x_scale(*_room([pair[0] for pair in pairs])), plot.y_scale(*_room([pair[1] for pair in pairs]))
    front = {str(entry) for entry in items(result, "front")}
    on = sorted(numbers(one, "values")[:2] for one in valued if str(at(one, "number")) in front)
    return Plot(
        slug="front",
        title="The front",
        description=f"{name} against {other}: {len(on)} of {len(valued)} trials are beaten by no other one in both.",
        x_label=f"{name}, {unit}",
        y_label=f"{other}, {other_unit}",
        x_ticks=x.ticks(),
        y_ticks=y.ticks(4),
        marks=(
            Mark(kind="line", path=plot.polyline([(x(first), y(second)) for first, second in on])),
            *(
                _dot(x(pair[0]), y(pair[1]), one, f"{pair[0]:,.4g} {unit}, {pair[1]:,.4g} {other_unit}")
                for pair, one in zip(pairs, valued, strict=True)
            ),
        ),
    )


def _importance(explanation: Mapping[str, object] | None) -> Plot | None:
    shares = [(text(one, "setting"), number(one, "share") or 0.0) for one in items(explanation or {}, "importance")]
    if not shares:
        return None
    evaluator = text(items(explanation, "importance")[0], "evaluator")
    lone = {str(name) for name in items(explanation, "correlation_only")}
    rows = [(name + (" (correlation only)" if name in lone else ""), share * 100) for name, share in shares]
    told = ", ".join(f"{name} {share:.0f} %" for name, share in rows)
    return _bars(
        "importance", "What mattered", f"Share of the variation between trials, by {evaluator}: {told}.", "%", rows
    )


def _time(result: Mapping[str, object]) -> Plot | None:
    devices = number(result, "devices") or 1.0
    spent: dict[str, float] = {}
    for one in items(result, "trials"):
        spent[text(one, "outcome")] = spent.get(text(one, "outcome"), 0.0) + (number(one, "seconds") or 0.0) * devices
    rows = [(f"spent: {kind.replace('-', ' ')}", seconds) for kind, seconds in spent.items() if seconds]
    saved = number(result, "saved", "device_seconds") or 0.0
    if saved > _NOTHING_SAVED:
        rows.append(("not spent: taken out or ended early", saved))
    if not rows:
        return None
    told = "; ".join(f"{name} {seconds:,.0f} s" for name, seconds in rows)
    return _bars(
        "time", "Device-seconds", f"{told}. {text(result, 'saved', 'how').capitalize()}.", "device-seconds", rows
    )


def _bars(slug: str, title: str, description: str, unit: str, rows: Sequence[tuple[str, float]]) -> Plot:
    """Lay out horizontal bars, each with its label on it."""
    x = plot.x_scale(0, max(value for _, value in rows) or 1.0)
    height = min((plot.HEIGHT - plot.BOTTOM - plot.TOP) / len(rows), _BAR)
    marks: list[Mark] = []
    for place, (name, value) in enumerate(rows):
        top, bottom = plot.TOP + height * (place + 0.1), plot.TOP + height * (place + 0.9)
        bar = f"M{plot.LEFT} {top:.1f}H{x(value):g}V{bottom:.1f}H{plot.LEFT}Z"
        middle = round((top + bottom) / 2 + _HALF_A_LETTER, 1)
        marks += [Mark(kind="area", path=bar), Mark(kind="text", x=plot.LEFT + 6, y=middle, label=name)]
    return Plot(
        slug=slug,
        title=title,
        description=description,
        x_label=unit,
        y_label="",
        x_ticks=x.ticks(),
        y_ticks=(),
        marks=tuple(marks),
    )


def _dot(x: float, y: float, trial: object, told: str) -> Mark:
    eligible = at(trial, "eligible") is True
    return Mark(
        kind="dot" if eligible else "ring",
        x=x,
        y=y,
        label=f"trial {at(trial, 'number')}: {told}; {words_of(at(trial, 'changed'))}",
    )


def words_of(changed: object) -> str:
    """Write settings and levels for the reader."""
    pairs = [f"{name} {level}" for name, level in changed.items()] if isinstance(changed, dict) else []
    return ", ".join(pairs) or "the package as it is"


def _objective(result: Mapping[str, object], place: int) -> tuple[str, str, bool]:
    one = items(result, "objective")[place]
    return text(one, "measure"), text(one, "unit"), at(one, "higher_is_better") is True


def _room(values: Sequence[float]) -> tuple[float, float]:
    """Leave room around values: from zero where they reach far down, else from a little below the lowest."""
    low, high = min(values), max(values)
    span = high - low or abs(high) or 1.0
    return (0.0 if low < high / 2 else max(low - span * _ROOM * 2, 0.0)), math.nextafter(high + span * _ROOM, math.inf)
