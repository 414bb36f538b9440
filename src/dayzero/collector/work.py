"""What a lane gives to be measured: a call, and how to see that it computes what it is called."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Torch: TypeAlias = Any
"""The module, or something of it; it comes without types here."""
Columns: TypeAlias = Mapping[str, Any]


class UnsupportedError(Exception):
    """What the lane needs is not here; its text says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What a call's result was held against.

    Attributes:
        state: ``agrees``, ``differs`` or ``unchecked``.
        against: What was compared, or why nothing was.
        error: Largest difference over the largest expected value.
        limit: What it may be.
    """

    state: str
    against: str
    error: float = 0.0
    limit: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """What ranks that wait for each other do together; each of them calls it.

    Attributes:
        line_up: Ends on all ranks at about the same time; on a GPU it is queued like any call.
        largest: Gives the largest of the ranks' numbers.
        mean: Gives the mean over the ranks, number by number.
    """

    line_up: Callable[[], object]
    largest: Callable[[float], float]
    mean: Callable[[list[float]], list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One case, its inputs made.

    Attributes:
        call: Runs the operator once.
        check: Runs it once and looks at the result.
        graph: Whether a CUDA graph can hold its calls, so that it is measured in one.
        device: ``cuda`` or ``cpu``.
        package: Distribution whose files it runs, ``""`` for none.
        note: What is worth saying of how it was made.
        ranks: What its ranks do together; ``None`` for a call that runs alone.
    """

    call: Callable[[], object]
    check: Callable[[], Check]
    graph: bool = True
    device: str = "cuda"
    package: str = ""
    note: str = ""
    ranks: Ranks | None = None


def unchecked(why: str) -> Callable[[], Check]:
    """Say that nothing is compared, and why."""
    return lambda: Check(state="unchecked", against=why)


def compare(torch: Torch, found: Torch, expected: Torch, *, against: str, limit: float) -> Check:
    """Compare two tensors by their largest difference, relative to the largest expected value."""
    error = float((found.float() - expected.float()).abs().max() / expected.float().abs().max().clamp(min=1e-6))
    fine = bool(torch.isfinite(found).all()) and error <= limit
    return Check(state="agrees" if fine else "differs", against=against, error=_finite(error), limit=limit)


def _finite(value: float) -> float:
    return value if value == value and abs(value) != float("inf") else -1.0  # noqa: PLR0124  (not a number)
