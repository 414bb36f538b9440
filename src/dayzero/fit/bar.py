"""Lay a GPU's memory out as one stacked bar, in characters or in a picture."""

from dataclasses import dataclass

from dayzero.fit.model import Component, RankBudget

LETTERS = {
    Component.WEIGHTS: "W",
    Component.ACTIVATIONS: "A",
    Component.GRAPHS: "G",
    Component.OTHER: "O",
    Component.KV_CACHE: "K",
}
WORDS = {
    Component.WEIGHTS: "weights",
    Component.ACTIVATIONS: "activations",
    Component.GRAPHS: "graphs",
    Component.OTHER: "other",
    Component.KV_CACHE: "KV cache",
}


@dataclass(frozen=True, slots=True)
class Segment:
    """One component on the bar, in bytes from the left."""

    component: Component
    start: int
    size: int


def segments(rank: RankBudget) -> tuple[Segment, ...]:
    """Stack the components of a rank in the order in which they are allocated; those that take nothing are left out.

    The cache is drawn with one request at least: a bar of what does not fit goes past what may be used.
    """
    found: list[Segment] = []
    start = 0
    for component in LETTERS:
        size = rank.figure(component).size.count
        if component is Component.KV_CACHE:
            size = max(size, rank.request.size.count)
        if size:
            found.append(Segment(component, start, size))
            start += size
    return tuple(found)


def full_width(ranks: tuple[RankBudget, ...]) -> int:
    """Give the bytes that the widest bar needs: what is free, or what is needed where that is more."""
    return max(max(rank.free.count, rank.needed[1].count, _end(rank)) for rank in ranks)


def bar(rank: RankBudget, *, width: int, full: int) -> str:
    """Write a rank as ``width`` characters: letters of components, dots to what is free, ``|`` where it must end.

    Args:
        rank: What is drawn.
        width: Characters for ``full`` bytes.
        full: See :func:`full_width`.
    """
    cells = [" "] * (width + 1)
    for place in range(_cell(rank.free.count, width, full)):
        cells[place] = "."
    for segment in segments(rank):
        begin = _cell(segment.start, width, full)
        end = max(_cell(segment.start + segment.size, width, full), begin + 1)
        for place in range(begin, min(end, width)):
            cells[place] = LETTERS[segment.component]
    cells.insert(_cell(rank.limit.count, width, full), "|")
    return "".join(cells).rstrip()


def _cell(size: int, width: int, full: int) -> int:
    return min(round(size * width / full), width) if full else 0


def _end(rank: RankBudget) -> int:
    return sum(segment.size for segment in segments(rank))
