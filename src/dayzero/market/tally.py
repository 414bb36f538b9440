"""Hold two long readings against each other in little memory: what one adds and the other takes away has to come out at nothing.

Each thing has a weight that is drawn for this one comparison, a keyed hash of 256 bits: who wrote the readings could not know it,
so that what differs cancels out by chance alone. Things fall into groups, so that a second reading looks closely at few of them.
"""

import hashlib
from collections.abc import Iterator

_GROUPS = 1 << 16


class Tally:
    """Sums of weights, one a group.

    Args:
        secret: What the weights are drawn with, 16 to 64 bytes that nobody knew before.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._sums = [0] * _GROUPS
        self.things = 0

    def add(self, name: str, thing: str, times: int) -> None:
        """Add a thing so many times, or take it away.

        Args:
            name: Its group is that of its name.
            thing: All that matters of it.
            times: How often; negative takes away.
        """
        weight = hashlib.blake2b(thing.encode(), digest_size=32, key=self._secret).digest()
        self._sums[hash(name) % _GROUPS] += times * int.from_bytes(weight, "big")
        self.things += 1

    def uneven(self) -> tuple[int, ...]:
        """Give the groups in which the readings differ."""
        return tuple(group for group, total in enumerate(self._sums) if total)


class Closely:
    """The groups that a second reading looks at: as many as hold at most so many things, on average.

    Args:
        tally: What differs.
        things: How many things the second reading may hold.
    """

    def __init__(self, tally: Tally, things: int) -> None:
        uneven = tally.uneven()
        most = max(1, things * _GROUPS // max(1, tally.things))
        self._groups = frozenset(uneven[:most])
        self.left = len(uneven) - len(self._groups)

    def __bool__(self) -> bool:
        """Say whether there is anything to look at."""
        return bool(self._groups)

    def __contains__(self, name: str) -> bool:
        """Say whether a thing of this name is looked at."""
        return hash(name) % _GROUPS in self._groups

    def rest(self, what: str) -> Iterator[str]:
        """Say how much is not looked at, where there is too much to name."""
        if self.left:
            yield f"{what} differ in {self.left} more of {_GROUPS} groups, too many to name: mend these, then audit again"
