"""Bring the kernel's receive stamps, of the real-time clock, onto the monotonic one.

Both clocks run at the same speed (the kernel disciplines them alike), so their difference is constant but for steps of the
real-time clock. It is looked at again and again; between two looks it is taken to move in a straight line.
"""

from array import array
from bisect import bisect_right
from itertools import pairwise
from operator import itemgetter
from typing import Final

_AT: Final = itemgetter(0)


class Clocks:
    """The looks at both clocks so far.

    Attributes:
        offset_ns: Real-time minus monotonic clock at the last look; 0 before the first one.
        moved_ns: The most that it moved, beyond what the looks cannot tell, between two of them.
    """

    __slots__ = ("_bracket_ns", "_looks", "moved_ns", "offset_ns")

    def __init__(self) -> None:
        self.offset_ns = 0
        self.moved_ns = 0
        self._bracket_ns = 0
        self._looks: list[tuple[int, int]] = []  # monotonic instant, offset

    def look(self, *, real_ns: int, monotonic_ns: int, bracket_ns: int) -> None:
        """Take a look at both.

        Args:
            real_ns: The real-time clock.
            monotonic_ns: The monotonic clock in the middle of the look.
            bracket_ns: How long the look took: the two belong together to half of it.
        """
        offset_ns = real_ns - monotonic_ns
        if self._looks:
            unsure_ns = (self._bracket_ns + bracket_ns + 1) // 2
            self.moved_ns = max(self.moved_ns, abs(offset_ns - self.offset_ns) - unsure_ns)
        self._looks.append((monotonic_ns, offset_ns))
        self.offset_ns, self._bracket_ns = offset_ns, bracket_ns

    def forget(self) -> None:
        """Begin anew: another process went on with the file, and no request spans the two."""
        self._looks.clear()
        self.offset_ns = 0

    def mend(self, stamps: "array[int]") -> "array[int]":
        """Correct stamps that were converted with the offset of the look before them by that of the look after them.

        Args:
            stamps: Monotonic stamps, ascending; a stamp after the last look stays.
        """
        if not stamps:
            return stamps
        first = max(bisect_right(self._looks, stamps[0], key=_AT) - 1, 0)
        after = bisect_right(self._looks, stamps[-1], key=_AT) + 1
        mended = array("q")
        at = 0
        for (begin_ns, offset_ns), (end_ns, next_ns) in pairwise(self._looks[first:after]):
            until = bisect_right(stamps, end_ns, lo=at)
            moved_ns = next_ns - offset_ns
            span_ns = end_ns + moved_ns - begin_ns  # as the first look's offset converts the second look
            if moved_ns and span_ns > 0:
                mended.extend([stamp - moved_ns * (stamp - begin_ns) // span_ns for stamp in stamps[at:until]])
            else:
                mended.extend(stamps[at:until])
            at = until
        mended.extend(stamps[at:])
        return mended
