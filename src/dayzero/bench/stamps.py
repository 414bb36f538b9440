"""Arrival stamps of one request, in a fifth of the memory that a tuple of them takes."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import overload


class Stamps(Sequence[int]):
    """Nanoseconds, in order. Never changed; equal to any tuple of the same stamps, and a slice of it is one."""

    __slots__ = ("_stamps",)

    def __init__(self, stamps: Iterable[int] = ()) -> None:
        self._stamps = array("q", stamps)

    @overload
    def __getitem__(self, at: int) -> int: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[int, ...]: ...

    def __getitem__(self, at: int | slice) -> int | tuple[int, ...]:
        found = self._stamps[at]
        return tuple(found) if isinstance(found, array) else found

    def __len__(self) -> int:
        return len(self._stamps)

    def __iter__(self) -> Iterator[int]:
        return iter(self._stamps)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Stamps | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))
