"""Answer one question for a latency: with which rows, of which build, over which channel, and how far off it may be."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from statistics import median
from typing import TypeAlias

from dayzero.core.errors import InputError
from dayzero.core.verdict import Undecided
from dayzero.perfdb.error_bar import Points, interpolate, neighbours, quantile
from dayzero.perfdb.lane_index import LaneIndex, Measurement, Shape
from dayzero.perfdb.model import Failure

_ENOUGH, _TOLD = 20, 12
_CASE = {"kernel_source": "kernel_label"}  # as files of cases call it


class Channel(StrEnum):
    """Over which way rows answer."""

    EXACT = "exact"
    KERNEL_EQUAL = "kernel_equal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A point of a lane.

    Attributes:
        label: Version of the build that is asked for (``0.24.0``).
        fixed: Value of each fixed shape column, in the lane's order.
        sizes: Size on each axis, in the lane's order.
        failed: What is on record of an attempt at this very point; ``""`` where nothing is.
    """

    label: str
    fixed: Shape
    sizes: Shape
    failed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A latency.

    Attributes:
        value_us: It.
        low_us: Lower end of the bar that holds nine in ten.
        high_us: Upper end.
        channel: Whether rows of the build itself answer, or of another one with the same kernel.
        axis: Axis along which it was interpolated, or ``""``.
        gap_octaves: How far apart the rows on both sides are; 0 for a row itself.
        size, around: The size on that axis, and size and median latency on both sides of it; 0 and empty for a row itself.
        used: The rows, those of the smaller size first.
        noise: Share of the bar that repeats make, or the samples of the rows themselves, as a ratio above 1; likewise below.
        interpolation: Share that interpolation makes.
        transfer: Share that another build makes.
        residuals: How many left-out points are behind ``interpolation``.
    """

    value_us: float
    low_us: float
    high_us: float
    channel: Channel
    axis: str
    gap_octaves: float
    size: int
    around: Points
    used: tuple[Measurement, ...]
    noise: float
    interpolation: float
    transfer: float
    residuals: int


Outcome: TypeAlias = Answer | Undecided


@dataclass(frozen=True, slots=True, kw_only=True)
class _Value:
    value: float
    axis: str
    gap: float
    size: int
    around: Points
    used: tuple[Measurement, ...]
    bound: float
    residuals: int


def explain(index: LaneIndex, question: Question) -> Outcome:
    """Answer a question from a lane.

    A row of the build itself is taken before one of another build, which has to have the same kernel label on the same system;
    between rows it is interpolated along one axis, and never beyond them, nor where an attempt failed.
    """
    if not index.points:
        return Undecided("no row of this lane is left on this system")
    found = _value(index, question.label, question)
    if question.failed and not (isinstance(found, _Value) and not found.axis):
        return Undecided(f"{question.label} was tried at this very point: {question.failed}")
    if isinstance(found, _Value):
        return _answer(found, index, Channel.EXACT, 0.0)
    others = [(label, _value(index, label, question)) for label in sorted(index.labels - {question.label})]
    usable = [(label, value) for label, value in others if isinstance(value, _Value)]
    if not usable:
        return found
    errors = list(_between_builds(index))
    if len(errors) < _ENOUGH:
        return Undecided(
            f"{found.reason}; {usable[0][0]} has it with the same kernel, but fewer than {_ENOUGH} shapes show how builds differ"
        )
    values = sorted((value for _, value in usable), key=lambda value: value.value)
    return _answer(values[len(values) // 2], index, Channel.KERNEL_EQUAL, quantile(errors))


def _value(index: LaneIndex, label: str, question: Question) -> _Value | Undecided:
    rows = index.points.get((label, question.fixed, question.sizes))
    if rows:
        value = median(row.latency_us for row in rows)
        return _Value(value=value, axis="", gap=0.0, size=0, around=(), used=tuple(rows), bound=0.0, residuals=0)
    best: _Value | None = None
    unbound = False
    known: list[str] = []
    for axis, name in enumerate(index.family.axes):
        others = question.sizes[:axis] + question.sizes[axis + 1 :]
        line = index.series[axis].get((label, question.fixed, others), ())
        around = neighbours(line, question.sizes[axis])
        if around is None:
            known += [f"{name} goes from {line[0][0]} to {line[-1][0]}"] if line else []
            continue
        gap = math.log2(around[1][0] / around[0][0])
        bound = index.calibrations[axis].bound(gap)
        if bound is None:
            unbound = True
            continue
        if best is None or bound[0] < best.bound:
            best = _Value(
                value=interpolate(*around, question.sizes[axis]),
                axis=name,
                gap=gap,
                size=question.sizes[axis],
                around=around,
                used=tuple(row for size, _ in around for row in _rows(index, label, question, axis, size)),
                bound=bound[0],
                residuals=bound[1],
            )
    return best or _why_not(label, known, unbound=unbound)


def _why_not(label: str, known: Sequence[str], *, unbound: bool) -> Undecided:
    if unbound:
        return Undecided(f"{label} has rows on both sides, but too few to say how wrong a value between them may be")
    told = f" ({', '.join(known)}, and nothing is told beyond)" if known else ""
    return Undecided(f"{label} has no row of this shape, and none on both sides of it along one axis{told}")


def _rows(index: LaneIndex, label: str, question: Question, axis: int, size: int) -> Sequence[Measurement]:
    sizes = (*question.sizes[:axis], size, *question.sizes[axis + 1 :])
    return index.points[label, question.fixed, sizes]


def _answer(found: _Value, index: LaneIndex, channel: Channel, transfer: float) -> Answer:
    """Put the shares together.

    Residuals hold the noise of the lane's rows already, so that between rows only what is beyond that counts. A row's own
    repeats and samples count where they differ by more than those of the lane.
    """
    if found.axis:
        noise = math.sqrt(max(max(row.spread for row in found.used) ** 2 - index.spread**2, 0.0))
    else:
        own = (abs(math.log(row.latency_us / found.value)) + row.spread for row in found.used)
        noise = max(index.noise, *own)
    ratio = math.exp(math.sqrt(noise**2 + found.bound**2 + transfer**2))
    return Answer(
        value_us=found.value,
        low_us=found.value / ratio,
        high_us=found.value * ratio,
        channel=channel,
        axis=found.axis,
        gap_octaves=found.gap,
        size=found.size,
        around=found.around,
        used=found.used,
        noise=math.exp(noise),
        interpolation=math.exp(found.bound),
        transfer=math.exp(transfer),
        residuals=found.residuals,
    )


def _between_builds(index: LaneIndex) -> Iterator[float]:
    """Give by how much labels differ at equal shapes, each pair of neighbouring labels once."""
    by_shape: dict[tuple[Shape, Shape], list[float]] = {}
    for (_, fixed, sizes), rows in sorted(index.points.items(), key=lambda item: item[0][0]):
        by_shape.setdefault((fixed, sizes), []).append(median(row.latency_us for row in rows))
    for values in by_shape.values():
        for one, other in pairwise(values):
            yield abs(math.log(one / other))


def question_of(index: LaneIndex, label: str, shape: Mapping[str, int]) -> Question:
    """Complete a question: a shape column that was not given, and has one value beside those that were, has that.

    Raises:
        InputError: Columns were not given that have several values.
    """
    names = (*index.fixed, *index.family.axes)
    values = {name: _values(index, names, shape, name) for name in names}
    missing = [name for name, found in values.items() if len(found) != 1]
    if missing:
        told = "; ".join(f"--where {name}=VALUE, {_choice(index, name, values[name])}" for name in missing)
        raise InputError(f"{', '.join(missing)} {'are' if missing[1:] else 'is'} not given", hint=f"Give {told}.")
    return Question(
        label=label,
        fixed=tuple(values[name][0] for name in index.fixed),
        sizes=tuple(values[name][0] for name in index.family.axes),
    )


def failed_at(index: LaneIndex, question: Question, failures: Iterable[Failure]) -> str:
    """Say what is on record of an attempt at a point: of one that names each size, and nothing that is not the lane's."""
    sizes = dict(zip((*index.fixed, *index.family.axes), (*question.fixed, *question.sizes), strict=True))
    point = {term.column: term.value for term in index.terms} | {name: str(size) for name, size in sizes.items()}
    there = (index.family.table, point["system"], point["engine"], question.label)
    for one in failures:
        if (one.table, one.place.system, one.place.engine, one.place.version) != there:
            continue
        case = {_CASE.get(name, name): value for name, value in one.case}
        if case.keys() >= sizes.keys() and all(point.get(name, value) == value for name, value in case.items()):
            return f"{one.error} ({one.path}{one.position})"
    return ""


def _values(index: LaneIndex, names: Sequence[str], shape: Mapping[str, int], name: str) -> Sequence[int]:
    """Give what a column can be: what was given, else its values in rows that have the given fixed columns."""
    if name in shape:
        return (shape[name],)
    given = [(names.index(column), value) for column, value in shape.items() if column in index.fixed]
    rows = [(*fixed, *sizes) for _, fixed, sizes in index.points]
    beside = [row for row in rows if all(row[place] == value for place, value in given)] or rows
    return sorted({row[names.index(name)] for row in beside})


def _choice(index: LaneIndex, name: str, values: Sequence[int]) -> str:
    if name in index.family.axes:
        return f"from {values[0]} to {values[-1]}, which can lie between rows"
    return f"one of {', '.join(map(str, values[:_TOLD]))}"
