"""A deed in two statements of PostgreSQL: what it rests on is read with the head of the account's chain, then it is appended.

No lock is taken and no transaction stays open in between. The journal has one entry of each number: where another deed of the
account came between the two statements, the second one fails as a whole, and the work is done again with the account kept.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

import psycopg
from sqlalchemy.engine import Engine
from sqlalchemy.pool import PoolProxiedConnection

from dayzero.adapters.market_store import statements
from dayzero.adapters.market_store.answers import KeepFirst, gone, wrapped
from dayzero.adapters.market_store.tables import TABLES
from dayzero.adapters.market_store.unchanging import Unchanging, lasting, named
from dayzero.market.chain import Head, entry_row
from dayzero.market.model import Deed, Row, Value, Values
from dayzero.market.ports import Desk
from dayzero.market.rows import number, text

T = TypeVar("T")
Connection: TypeAlias = psycopg.Connection[tuple[object, ...]]

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
        driver = driver_of(pooled)
        driver.autocommit = True
        desk = OptimisticDesk(driver, account, seen)
        with wrapped(engine.dialect):
            try:
                result = work(desk)
            except psycopg.OperationalError as error:
                pooled.invalidate()
                raise gone(error) from error
            desk.finish()
        return result
    finally:
        if pooled.is_valid:
            driver_of(pooled).autocommit = False
        pooled.close()


def driver_of(pooled: PoolProxiedConnection) -> Connection:
    """Give the driver's own connection.

    Raises:
        AssertionError: The pool took it away.
    """
    driver: Connection | None = pooled.driver_connection
    if driver is None:
        raise AssertionError
    return driver


class OptimisticDesk:
    """What one deed asks and appends; it is ``dayzero.market.ports.Desk``.

    Args:
        connection: In no transaction, and it commits each statement.
        account: Whose deed.
        seen: Rows that were read before and never change.
    """

    def __init__(self, connection: Connection, account: str, seen: Unchanging) -> None:
        self._connection, self._account, self._seen = connection, account, seen
        self._ahead: dict[tuple[object, ...], tuple[Values, ...]] = {}
        self._head: Head | None = None
        self._rows: tuple[Row, ...] = ()

    def one(self, table: str, /, **equal: Value) -> Values | None:
        """Read the row that has these values."""
        return next(iter(self.every(table, **equal)), None)

    def every(self, table: str, /, **equal: Value) -> tuple[Values, ...]:
        """Read all rows that have these values, by their keys.

        Raises:
            KeepFirst: They may change, and nobody said that they will be read.
        """
        if self._rows:
            raise KeepFirst
        found = self._ahead.get(named(table, equal))
        if found is None:
            found = self._seen.find(table, equal) or self._read(table, equal)
        return found

    def expect(self, *asked: tuple[str, Values]) -> None:
        """Fetch what will be read next, and the head of the account's chain, in one statement."""
        unknown = [(table, equal) for table, equal in asked if not self._seen.find(table, equal)]
        questions = [(table, *statements.sorted_out(equal)) for table, equal in unknown]
        bound = [equal[name] for (_, equal), (_, filled, _) in zip(unknown, questions, strict=True) for name in filled]
        statement = statements.select_together(tuple(questions))
        answers: list[list[Values]] = [[] for _ in range(len(unknown) + 1)]
        for question, row in execute(self._connection, statement, (*bound, self._account)):
            answers[int(str(question))].append(row)  # type: ignore[arg-type]
        for (table, equal), rows in zip(unknown, answers, strict=False):
            keys = [column.name for column in TABLES[table].primary_key.columns]
            found = tuple(sorted(rows, key=lambda row: [row[key] for key in keys]))
            self._ahead[named(table, equal)] = found
            self._seen.keep(table, equal, found)
        self._head = Head(number(answers[-1][0], "seq"), text(answers[-1][0], "hash")) if answers[-1] else Head()

    def record(self, deed: Deed) -> None:
        """Have the rows of a deed, and its entry in the account's chain, appended when the work is done.

        Raises:
            KeepFirst: The head of its chain is not known, or one statement cannot append it.
        """
        opens = any(row.table == _OPENS for row in deed.rows)
        if self._head is None or self._rows or opens or deed.account != self._account:
            raise KeepFirst
        self._rows = (*deed.rows, entry_row(deed, self._head))

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
        """Append what was recorded; this statement is the transaction."""
        if self._rows:
            append_together(self._connection, self._rows)

    def _read(self, table: str, equal: Values) -> tuple[Values, ...]:
        if not lasting(table, equal):
            raise KeepFirst
        filled, empty = statements.sorted_out(equal)
        statement = statements.select(table, filled, empty, "%s")
        names = statements.columns(table)
        answer = self._connection.execute(statement.encode(), tuple(equal[name] for name in filled))
        found = tuple(dict(zip(names, row, strict=True)) for row in answer)
        self._seen.keep(table, equal, found)  # type: ignore[arg-type]
        return found  # type: ignore[return-value]


def append_together(connection: Connection, rows: tuple[Row, ...]) -> None:
    """Append rows in one statement, or two where an account of the ledger is opened first."""
    opened = tuple(row for row in rows if row.table == _OPENS)
    for part in (opened, tuple(row for row in rows if row.table != _OPENS)):
        grouped: dict[str, list[Row]] = {}
        for row in part:
            grouped.setdefault(row.table, []).append(row)
        if grouped:
            shape = tuple((table, len(each)) for table, each in grouped.items())
            values = [value for each in grouped.values() for row in each for value in statements.bound(row)]
            execute(connection, statements.insert_together(shape), values)


def execute(connection: Connection, statement: str, values: Iterable[Value]) -> psycopg.RawCursor[tuple[object, ...]]:
    """Have a statement with ``$1`` and on done: text for every value, so that the columns say the types and one plan serves."""
    bound_texts = [value if value is None else str(value) for value in values]
    cursor = psycopg.RawCursor(connection)
    cursor.execute(statement.encode(), bound_texts)
    return cursor
