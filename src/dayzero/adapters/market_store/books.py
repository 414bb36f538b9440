"""The books of the market in SQLite or PostgreSQL: each transaction whole, one at a time for an account."""

import contextlib
import itertools
from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

import sqlalchemy
from sqlalchemy.engine import Connection, Engine

from dayzero.adapters.market_store import statements
from dayzero.adapters.market_store.answers import KeepFirst, OnceMore, answering, gone, wrapped
from dayzero.adapters.market_store.unchanging import Unchanging, named
from dayzero.market.chain import Head, entry_row
from dayzero.market.model import KEYS, Deed, Row, Value, Values
from dayzero.market.ports import Desk

T = TypeVar("T")

_TRIES = 4
_FETCHED = 250
_HEAD = "SELECT seq, hash FROM journal WHERE account_id = {0} ORDER BY seq DESC LIMIT 1"
_HEADS = (
    "SELECT j.account_id, j.seq, j.hash FROM (SELECT account_id, max(seq) AS seq FROM journal GROUP BY account_id) h"
    " JOIN journal j ON j.account_id = h.account_id AND j.seq = h.seq"
)
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"


class SqlBooks:
    """Books behind an engine of SQLAlchemy; it is ``dayzero.market.ports.Books``.

    Args:
        engine: The application's engine; see ``dayzero.adapters.market_store.opening``.
        one_by_one: Append row by row in a transaction, also on PostgreSQL, where a deed is one statement otherwise.
    """

    def __init__(self, engine: Engine, *, one_by_one: bool = False) -> None:
        self._engine = engine
        self._postgres = engine.dialect.name == "postgresql"
        self._one_by_one = one_by_one or not self._postgres
        self._seen = Unchanging()

    def write(self, account: str, work: Callable[[Desk], T]) -> T:
        """Have a transaction done that nobody else does for this account meanwhile.

        On PostgreSQL the first try keeps nobody waiting: it fails where somebody was faster, and the next ones keep the account.
        """
        attempts = [self._kept] * _TRIES
        if not self._one_by_one:
            attempts.insert(0, self._optimistic)
        for attempt in attempts[:-1]:
            with contextlib.suppress(OnceMore, KeepFirst):
                return attempt(account, work)
        try:
            return attempts[-1](account, work)
        except OnceMore as error:
            raise error.answer from error

    def read(self, work: Callable[[Desk], T]) -> T:
        """Have something read as of one moment."""
        with answering(), self._engine.connect() as plain:
            options = {"isolation_level": "REPEATABLE READ"} if self._postgres else {"reads_only": True}
            connection = plain.execution_options(**options)
            with connection.begin():
                return work(self._desk(connection))

    def close(self) -> None:
        """Let the connections go."""
        self._engine.dispose()

    def _kept(self, account: str, work: Callable[[Desk], T]) -> T:
        with answering(), self._engine.begin() as connection:
            return work(self._desk(connection, account))

    def _optimistic(self, account: str, work: Callable[[Desk], T]) -> T:
        from dayzero.adapters.market_store.optimistic import attempt  # noqa: PLC0415  (its driver is an extra)

        with answering():
            return attempt(self._engine, account, self._seen, work)

    def _desk(self, connection: Connection, account: str = "") -> "SqlDesk":
        return SqlDesk(connection, account, self._seen, one_by_one=self._one_by_one)


class SqlDesk:
    """One transaction; it is ``dayzero.market.ports.Desk``.

    Args:
        connection: In a transaction.
        account: Whose transaction; nobody else appends to that chain meanwhile.
        seen: Rows that were read before and never change, shared between transactions.
        one_by_one: Append row by row.
    """

    def __init__(self, connection: Connection, account: str, seen: Unchanging, *, one_by_one: bool) -> None:
        self._connection, self._seen, self._one_by_one = connection, seen, one_by_one
        self._account = account
        self._mark = "?" if connection.dialect.name == "sqlite" else "%s"
        self._fresh = True
        self._head: Head | None = None
        self._locked = not account or connection.dialect.name == "sqlite"  # SQLite has one writer anyway

    def one(self, table: str, /, **equal: Value) -> Values | None:
        """Read the row that has these values."""
        return next(iter(self.every(table, **equal)), None)

    def every(self, table: str, /, **equal: Value) -> tuple[Values, ...]:
        """Read all rows that have these values, by their keys."""
        kept = self._seen.find(named(table, equal)) if self._fresh else ()
        if kept:
            return kept
        self._lock()
        filled, empty = statements.sorted_out(equal)
        names = statements.columns(table)
        statement = statements.select(table, filled, empty, self._mark)
        result = self._connection.exec_driver_sql(statement, tuple(equal[name] for name in filled))
        found: tuple[Values, ...] = tuple(dict(zip(names, row, strict=True)) for row in result)
        if self._fresh:
            self._seen.keep(table, equal, found)
        return found

    def expect(self, *asked: tuple[str, Values], likely_none: tuple[tuple[str, Values], ...] = ()) -> None:
        """Do nothing: what is asked is read when it is asked."""

    def record(self, deed: Deed) -> None:
        """Append the rows of a deed, and its entry in the account's chain."""
        self._fresh = False
        self._lock()
        head = self._head if self._head is not None and deed.account == self._account else self._read_head(deed.account)
        self._head = None
        self._append((*deed.rows, entry_row(deed, head)))

    def heads(self) -> dict[str, Head]:
        """Read the newest entry of each chain, by account; no body is read."""
        return {account: Head(seq, hash_) for account, seq, hash_ in self._connection.exec_driver_sql(_HEADS)}

    def entries(self, table: str, start: int, /, **equal: Value) -> Iterator[Values]:
        """Read a chain in turn from a number on, a few hundred entries at a time."""
        return self._stream(table, statements.select_from(table, tuple(equal), self._mark), (*equal.values(), start))

    def stream(self, table: str, /, *by: str) -> Iterator[Values]:
        """Read all rows that have these columns filled, by them, a few hundred at a time."""
        return self._stream(table, statements.select_by(table, by))

    def among(self, table: str, column: str, values: Collection[Value], /) -> tuple[Values, ...]:
        """Read all rows whose column has one of these values."""
        if not values:
            return ()
        statement = statements.select_among(table, column, len(values), self._mark)
        found = self._connection.exec_driver_sql(statement, tuple(values))
        return tuple(dict(zip(statements.columns(table), row, strict=True)) for row in found)

    def hashes(self, entries: Collection[tuple[str, int]], /) -> dict[tuple[str, int], str]:
        """Read the hashes of some entries of the journal."""
        bound = tuple(itertools.chain.from_iterable(entries))
        found = self._connection.exec_driver_sql(statements.select_hashes(len(entries), self._mark), bound)
        return {(account, seq): hash_ for account, seq, hash_ in found}

    def stored(self, row: Row) -> Values | None:
        """Read the row with the key of this one as the database has it now."""
        keys = KEYS[row.table]
        statement = statements.select(row.table, keys, (), self._mark)
        found = self._connection.exec_driver_sql(statement, tuple(row.values[key] for key in keys)).one_or_none()
        return dict(zip(statements.columns(row.table), found, strict=True)) if found is not None else None

    def append_block(self, block: Values) -> None:
        """Append a block."""
        self._append((Row("block", block),))

    def _stream(self, table: str, statement: str, bound: tuple[Value, ...] = ()) -> Iterator[Values]:
        options = {"stream_results": True, "yield_per": _FETCHED}
        found = self._connection.exec_driver_sql(statement, bound, execution_options=options)
        names = statements.columns(table)
        for some in found.partitions(_FETCHED):
            for row in some:
                yield dict(zip(names, row, strict=True))

    def _lock(self) -> None:
        """Keep the account to this transaction, before the first row of it is read or written.

        The head is read at once: a deed that came without keeping the account then has the number that this one would take.
        """
        if not self._locked:
            self._locked = True
            with self._nothing_done():
                self._connection.exec_driver_sql(_LOCK, (f"market:{self._account}",))
            self._head = self._read_head(self._account)

    @contextlib.contextmanager
    def _nothing_done(self) -> Iterator[None]:
        """Take a connection that died while nobody used it for what it is: another try, for nothing was done on it yet."""
        try:
            yield
        except sqlalchemy.exc.OperationalError as error:
            self._connection.invalidate()
            raise gone(error) from error

    def _read_head(self, account: str) -> Head:
        found = self._connection.exec_driver_sql(_HEAD.format(self._mark), (account,)).one_or_none()
        return Head(*found) if found is not None else Head()

    def _append(self, rows: tuple[Row, ...]) -> None:
        if self._one_by_one:
            for row in rows:
                self._connection.exec_driver_sql(statements.insert(row.table, self._mark), statements.bound(row))
            return
        from dayzero.adapters.market_store.optimistic import append_together  # noqa: PLC0415  (its driver is an extra)
        from dayzero.adapters.market_store.wire import wire_of  # noqa: PLC0415  (as above)

        with wrapped(self._connection.dialect):
            append_together(wire_of(self._connection.connection), rows)
