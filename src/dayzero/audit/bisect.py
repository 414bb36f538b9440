"""Find the first of an ordered row that has something, asking as few as possible."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bisected:
    """What was found.

    Attributes:
        first: The first that has it, ``""`` where the last does not.
        last_without: The last before it that does not have it, ``""`` where the very first has it.
        unknown: Those that did not say.
    """

    first: str
    last_without: str
    unknown: tuple[str, ...]


def first_that(row: Sequence[str], has: Callable[[str], bool | None]) -> Bisected:
    """Bisect a row in which what has it stays so; asks about ``log2(len(row))`` of them.

    One that does not say (``None``) is left out, and its neighbours are asked instead.

    Args:
        row: Oldest first.
        has: Whether one has it.
    """
    left, unknown = list(row), []
    low, high = -1, len(left)  # everything up to low lacks it, everything from high on has it
    first_probe = True
    while high - low > 1:
        middle = (
            high - 1 if first_probe else (low + high) // 2
        )  # the newest first: most often nothing older need be read
        answer = has(left[middle])
        if answer is None:
            unknown.append(left.pop(middle))
            high -= 1
            continue
        first_probe = False
        low, high = (low, middle) if answer else (middle, high)
    first = left[high] if high < len(left) else ""
    return Bisected(first, left[low] if low >= 0 else "", tuple(unknown))
