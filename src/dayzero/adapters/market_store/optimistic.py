"""A deed in one or two statements of PostgreSQL: what it rests on is read with the head of the chain, then it is appended.

No lock is taken and no transaction stays open in between. The journal has one entry of each number: where another deed of the
account came between the two statements, the second one fails as a whole, and the work is done again with the account kept.

A deed that rests on what never changes, and on nothing being there, needs no first statement: the one that appends looks for
itself that nothing is there, and takes the head of the chain as it finds it. Where something is there, it appends nothing.
"""

import itertools
from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

import psycopg
from sqlalchemy.engine import Engine

from dayzero.adapters.market_store import statements
from dayzero.adapters.market_store.answers import KeepFirst, gone, wrapped
from dayzero.adapters.market_store.unchanging import Question, Unchanging, lasting, named
from dayzero.adapters.market_store.wire import Wire, wire_of
from dayzero.market.chain import Head, entry_row, entry_stem
from dayzero.market.errors import RefusedError
from dayzero.market.model import Deed, Row, Value, Values
from dayzero.market.ports import Desk
from dayzero.market.rows import number, text

T = TypeVar("T")

_OPENS = (
    "ledger_account"  # its trigger opens a balance that another trigger needs, and one statement does not order them
)


def attempt(engine: Engine, account: str, seen: Unchanging, work: Callable[[Desk], T]) -> T:
    """Have work done in two statements, each committed by itself.

    Raises:
        KeepFirst: The work needs more than that; nothing was recorded.
        OnceMore: Somebody was faster, or the connection had died before; nothing was recorded.
        RefusedError: The schema refuses it.
        RemoteError: The database does not do it.
    """
    pooled = engine.raw_connection()
    try:
        with wrapped(engine.dialect):
            desk = OptimisticDesk(wire_of(pooled), account, seen)
            try:
                result = work(desk)
            except psycopg.OperationalError as error:
                pooled.invalidate()
                raise gone(error) from error
            except RefusedError as refused:
                raise (KeepFirst if desk.presumes else refused) from refused
            try:
                desk.finish()
            except psycopg.OperationalError as error:
                if error.sqlstate or not desk.presumes:
                    raise
                pooled.invalidate()  # asked again, it looks for itself whether it was done
                raise gone(error) from error
        return result
    finally:
        pooled.close()


class OptimisticDesk:
    """What one deed asks and appends; it is ``dayzero.market.ports.Desk``.

    Args:
        wire: A connection in no transaction: each statement is one of its own.
        account: Whose deed.
        seen: Rows that were read before and never change.
    """

    def __init__(self, wire: Wire, account: str, seen: Unchanging) -> None:
        self._wire, self._account, self._seen = wire, account, seen
        self._ahead: dict[Question, tuple[Values, ...]] = {}
        self._head: Head | None = None
        self._presumed: tuple[tuple[str, Values], ...] = ()
        self._deed: Deed | None = None

    @property
    def presumes(self) -> bool:
        """Say whether something was taken for granted; then a refusal is none before it was looked at."""
        return bool(self._presumed)

    def one(self, table: str, /, **equal: Value) -> Values | None:
        """Read the row that has these values."""
        found = self.every(table, **equal)
        return found[0] if found else None

    def every(self, table: str, /, **equal: Value) -> tuple[Values, ...]:
        """Read all rows that have these values, by their keys.

        Raises:
            KeepFirst: They may change, and nobody said that they will be read.
        """
        if self._deed is not None:
            raise KeepFirst
        question = named(table, equal)
        found = self._ahead.get(question)
        return found if found is not None else self._seen.find(question) or self._read(table, equal)

    def expect(self, *asked: tuple[str, Values], likely_none: tuple[tuple[str, Values], ...] = ()) -> None:
        """Fetch what will be read next and the head of the chain in one statement; in none where only nothing is expected."""
        unknown = tuple((table, equal) for table, equal in asked if not self._seen.find(named(table, equal)))
        if likely_none and not unknown:
            self._presumed = likely_none
            self._ahead |= dict.fromkeys((named(table, equal) for table, equal in likely_none), ())
            return
        head = self._fetch((*unknown, *likely_none), self._account)
        self._head = Head(number(head, "seq"), text(head, "hash")) if head is not None else Head()

    def record(self, deed: Deed) -> None:
        """Have the rows of a deed, and its entry in the account's chain, appended when the work is done.

        Raises:
            KeepFirst: Nothing was expected before, or one statement cannot append it.
        """
        unread = self._head is None and not self._presumed
        opens = any(row.table == _OPENS for row in deed.rows)
        if unread or self._deed is not None or opens or deed.account != self._account:
            raise KeepFirst
        self._deed = deed

    def heads(self) -> dict[str, Head]:
        """Refuse: what goes through the whole books is no deed.

        Raises:
            KeepFirst: Always.
        """
        raise KeepFirst

    def entries(self, table: str, start: int, /, **equal: Value) -> Iterator[Values]:  # noqa: ARG002  (refused)
        """Refuse, as :meth:`heads` does.

        Raises:
            KeepFirst: Always.
        """
        raise KeepFirst

    def stream(self, table: str, /, *by: str) -> Iterator[Values]:  # noqa: ARG002  (refused)
        """Refuse, as :meth:`heads` does.

        Raises:
            KeepFirst: Always.
        """
        raise KeepFirst

    def among(self, table: str, column: str, values: Collection[Value], /) -> tuple[Values, ...]:  # noqa: ARG002  (refused)
        """Refuse, as :meth:`heads` does.

        Raises:
            KeepFirst: Always.
        """
        raise KeepFirst

    def hashes(self, entries: Collection[tuple[str, int]], /) -> dict[tuple[str, int], str]:  # noqa: ARG002  (refused)
        """Refuse, as :meth:`heads` does.

        Raises:
            KeepFirst: Always.
        """
        raise KeepFirst

    def stored(self, row: Row) -> Values | None:  # noqa: ARG002  (refused)
        """Refuse, as :meth:`heads` does.

        Raises:
            KeepFirst: Always.
        """
        raise KeepFirst

    def append_block(self, block: Values) -> None:  # noqa: ARG002  (refused)
        """Refuse: a block is appended by who keeps the house's account.

        Raises:
            KeepFirst: Always.
        """
        raise KeepFirst

    def finish(self) -> None:
        """Append what was recorded; this statement is the transaction.

        Raises:
            KeepFirst: What was taken for granted does not hold, or was not looked at; nothing was appended.
        """
        if self._deed is None and not self._presumed:
            return
        if self._deed is None:
            raise KeepFirst
        if self._head is not None:
            append_together(self._wire, (*self._deed.rows, entry_row(self._deed, self._head)))
        elif not _append_presuming(self._wire, self._deed, self._presumed):
            raise KeepFirst

    def _read(self, table: str, equal: Values) -> tuple[Values, ...]:
        if not lasting(table, equal):
            raise KeepFirst
        self._fetch(((table, equal),))
        return self._ahead[named(table, equal)]

    def _fetch(self, asked: tuple[tuple[str, Values], ...], account: str = "") -> Values | None:
        """Read what is asked, and give the head of a chain that is read with it; ``None`` where it has no entry."""
        questions = tuple((table, *statements.sorted_out(equal)) for table, equal in asked)
        bound = [equal[name] for (_, equal), (_, filled, _) in zip(asked, questions, strict=True) for name in filled]
        statement = statements.select_together(questions, head=bool(account))
        answers: list[list[Values]] = [[] for _ in range(len(asked) + 1)]
        for question, row in self._wire.read(statement, (*bound, account) if account else bound):
            answers[question].append(row)
        for (table, equal), rows in zip(asked, answers, strict=False):
            found = (
                tuple(sorted(rows, key=lambda row: [row[key] for key in statements.keys(table)]))
                if rows[1:]
                else tuple(rows)
            )
            self._ahead[named(table, equal)] = found
            self._seen.keep(table, equal, found)
        return next(iter(answers[-1]), None)


def append_together(wire: Wire, rows: tuple[Row, ...]) -> None:
    """Append rows in one statement, or two where an account of the ledger is opened first."""
    opened = tuple(row for row in rows if row.table == _OPENS)
    for part in (opened, tuple(row for row in rows if row.table != _OPENS)) if opened else (rows,):
        grouped: dict[str, list[Row]] = {}
        for row in part:
            grouped.setdefault(row.table, []).append(row)
        if grouped:
            shape = tuple((table, len(each)) for table, each in grouped.items())
            values = [value for each in grouped.values() for row in each for value in statements.bound(row)]
            wire.ask(statements.insert_together(shape), values)


def _append_presuming(wire: Wire, deed: Deed, presumed: tuple[tuple[str, Values], ...]) -> bool:
    """Append a deed to the chain as it is at that moment, where each of these questions has no answer; say whether it was."""
    questions = tuple((table, *statements.sorted_out(equal)) for table, equal in presumed)
    statement = statements.append_presuming(questions, tuple(row.table for row in deed.rows))
    bound = [equal[name] for (_, equal), (_, filled, _) in zip(presumed, questions, strict=True) for name in filled]
    values = itertools.chain.from_iterable(map(statements.bound, deed.rows))
    return wire.ask(statement, (deed.account, deed.kind, entry_stem(deed), *bound, *values)).command_tuples == 1
