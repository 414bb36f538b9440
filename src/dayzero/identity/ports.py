"""What knowing who asks needs from outside: rows that can be changed, a clock, and randomness."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from dayzero.identity.model import Values


class Register(Protocol):
    """Tables ``credential``, ``session``, ``token`` and ``attempt``; each call is a transaction of its own."""

    def every(self, table: str, /, **equal: str | int) -> tuple[Values, ...]:
        """Read all rows that have these values, by their keys."""
        ...

    def put(self, table: str, values: Values) -> None:
        """Write a row, in the place of the one with the same key."""
        ...

    def drop(self, table: str, /, **equal: str | int) -> None:
        """Delete all rows that have these values."""
        ...

    def drop_before(self, table: str, column: str, second: int) -> None:
        """Delete all rows whose time is before a second."""
        ...

    def count(self, bucket: str, window: int) -> int:
        """Count one more in a bucket's window, and say how many there are now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What is needed to know who asks.

    Attributes:
        register: Where it is kept.
        now_s: The clock: seconds since 1970.
        secret: Gives 256 random bits as text that can stand in a header.
    """

    register: Register
    now_s: Callable[[], int]
    secret: Callable[[], str]
