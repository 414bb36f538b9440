"""Attempts at one question: what each may spend of the error, and how those before it are said."""

from collections.abc import Sequence
from dataclasses import dataclass

UNENDED = "did not end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """An attempt before this one.

    Attributes:
        verdict: What it said, ``""`` where it did not end.
        captured: Whether its captures had begun; an attempt that never came to them has seen nothing, and spends nothing.
        answer: Digest of its answer, ``""`` where it did not end.
    """

    verdict: str
    captured: bool
    answer: str


def together(filed: Sequence[Past], kept: Sequence[Past]) -> tuple[Past, ...]:
    """Put the attempts that a ledger has and those that a folder keeps together, each once.

    Attempts that did not end carry nothing to tell them apart by: the longer of the two lists counts.
    """
    known = {one.answer for one in filed if one.answer}
    unended = sum(not one.answer for one in filed)
    new = [one for one in kept if one.answer and one.answer not in known]
    return (*filed, *new, *[one for one in kept if not one.answer][unended:])


def left(alpha: float, before: Sequence[Past]) -> float:
    """Give the error that is left for an attempt: half for each one before it that has captured anything.

    However often it is tried, all attempts together err with at most ``2 * alpha``: repeating until it passes gains nothing.

    Args:
        alpha: Of the first attempt.
        before: The attempts before this one.
    """
    return alpha / 2.0 ** sum(one.captured for one in before)


def in_words(before: Sequence[Past], alpha: float) -> str:
    """Say which attempt this is, at which error it is judged, and what those before it said."""
    if not before:
        return f"the first attempt, at alpha {alpha:g}"
    said = ", ".join(one.verdict or UNENDED for one in before)
    return f"attempt {len(before) + 1}, at alpha {alpha:g}; before it: {said}"
