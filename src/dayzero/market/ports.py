"""What the market needs from outside: books that keep one transaction whole, providers of payment, a clock and new names."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from dayzero.market.chain import Head
from dayzero.market.model import Deed, Event, Order, Row, Session, Value, Values

T = TypeVar("T")


class Desk(Protocol):
    """One transaction on the books."""

    def one(self, table: str, /, **equal: Value) -> Values | None:
        """Read the row that has these values, ``None`` where there is none."""
        ...

    def every(self, table: str, /, **equal: Value) -> tuple[Values, ...]:
        """Read all rows that have these values, by their keys."""
        ...

    def expect(self, *asked: tuple[str, Values], likely_none: tuple[tuple[str, Values], ...] = ()) -> None:
        """Say what will be read next, each a table and its values: books that are far away fetch it together.

        ``likely_none`` is what most likely has no answer: such books may take that for granted, and have the work done again where
        it does not hold at the moment of appending. The outcome does not change.
        """
        ...

    def record(self, deed: Deed) -> None:
        """Append the rows of a deed, and its entry in the account's chain, at most once a transaction."""
        ...

    def heads(self) -> Mapping[str, Head]:
        """Read the newest entry of each chain, by account; no body is read."""
        ...

    def entries(self, table: str, start: int, /, **equal: Value) -> Iterator[Values]:
        """Read a chain (``journal`` or ``block``) in turn from a number on, without holding more of it than a few entries."""
        ...

    def stream(self, table: str, /, *by: str) -> Iterator[Values]:
        """Read all rows of a table without holding more of it than a few.

        Rows that agree in the columns ``by`` come together, and a number there rises; rows where one of them is empty are left out.
        """
        ...

    def among(self, table: str, column: str, values: Collection[Value], /) -> tuple[Values, ...]:
        """Read all rows whose column has one of these values, a few hundred at most, in no order."""
        ...

    def hashes(self, entries: Collection[tuple[str, int]], /) -> Mapping[tuple[str, int], str]:
        """Read the hashes of some entries of the journal, a few hundred at most, by account and number; no body is read."""
        ...

    def stored(self, row: Row) -> Values | None:
        """Read the row with the key of this one as the database has it now, past whatever is kept; ``None`` where it is gone."""
        ...

    def append_block(self, block: Values) -> None:
        """Append a block; only who owns the books may."""
        ...


class Books(Protocol):
    """The books of a market, wherever they are kept."""

    def write(self, account: str, work: Callable[[Desk], T]) -> T:
        """Have a transaction done that nobody else does for this account meanwhile; it is kept whole or not at all.

        ``work`` may be called again where the database asks for it, so it does nothing but read and record.
        """
        ...

    def read(self, work: Callable[[Desk], T]) -> T:
        """Have something read as of one moment."""
        ...


class PaymentProvider(Protocol):
    """Where money comes from outside."""

    @property
    def name(self) -> str:
        """What the books call it."""
        ...

    def begin(self, order: Order, title: str) -> Session:
        """Open a page on which the order is paid; asked twice for one order, it is the same page."""
        ...

    def read_event(self, body: bytes, headers: Mapping[str, str]) -> Event:
        """Read a delivery, once its signature holds.

        Raises:
            IntegrityError: It is forged, changed, or too old.
        """
        ...

    def close(self, order: Order, reference: str) -> Event | None:
        """Ask what became of the page of an order, and close it where nobody has paid; asked twice, it is the same answer.

        Returns:
            ``paid`` or ``cancelled``; ``None`` where the money is still on its way.

        Raises:
            RemoteError: The provider cannot be reached, or does not do it.
        """
        ...

    def refund(self, order: Order, payment: str, amount_minor: int, key: str) -> None:
        """Send money back; asked twice with one key, it goes once."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """A market at work.

    Attributes:
        books: Its books.
        now: The clock: UTC, RFC 3339, to the second.
        new_id: Gives a name that nothing has yet; names sort by when they were given.
    """

    books: Books
    now: Callable[[], str]
    new_id: Callable[[], str]
