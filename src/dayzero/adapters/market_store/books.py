"""The books of the market in SQLite or PostgreSQL: each transaction whole, one at a time for an account."""

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

import sqlalchemy
from sqlalchemy.engine import Connection, Engine

from dayzero.adapters.market_store import statements
from dayzero.adapters.market_store.tables import TABLES
from dayzero.core.errors import RemoteError
from dayzero.market.chain import Head, canonical, entry_body, link
from dayzero.market.errors import RefusedError
from dayzero.market.model import Deed, Row, Value, Values
from dayzero.market.ports import Desk
from dayzero.market.rows import number, text

T = TypeVar("T")

_TRIES = 4
_AGAIN = frozenset({"40001", "40P01", "23505"})  # a cycle of waiting, a conflict; somebody was first: decide anew
_UNCHANGING = frozenset(
    {"account", "ledger_account", "package_version", "price_tier", "product", "terms", "terms_affirmation"}
)
_KEPT = 4096
_OPENS = (
    "ledger_account"  # its trigger opens a balance that another trigger needs, and one statement does not order them
)
_HEAD = "SELECT seq, hash FROM journal WHERE account_id = {0} ORDER BY seq DESC LIMIT 1"
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"


class SqlBooks:
    """Books behind an engine of SQLAlchemy; it is ``dayzero.market.ports.Books``.

    Args:
        engine: The application's engine; see ``dayzero.adapters.market_store.opening``.
        one_by_one: Append row by row, also on PostgreSQL, where a deed is one statement otherwise.
    """

    def __init__(self, engine: Engine, *, one_by_one: bool = False) -> None:
        self._engine = engine
        self._postgres = engine.dialect.name == "postgresql"
        self._one_by_one = one_by_one or not self._postgres
        self._seen: dict[tuple[object, ...], tuple[Values, ...]] = {}

    def write(self, account: str, work: Callable[[Desk], T]) -> T:
        """Have a transaction done that nobody else does for this account meanwhile."""
        for attempt in range(1, _TRIES + 1):
            try:
                with _answering(), self._engine.begin() as connection:
                    return work(self._desk(connection, account))
            except _OnceMore as error:
                if attempt == _TRIES:
                    raise error.answer from error
        raise AssertionError

    def read(self, work: Callable[[Desk], T]) -> T:
        """Have something read as of one moment."""
        with _answering(), self._engine.connect() as plain:
            options = {"isolation_level": "REPEATABLE READ"} if self._postgres else {"reads_only": True}
            connection = plain.execution_options(**options)
            with connection.begin():
                return work(self._desk(connection))

    def close(self) -> None:
        """Let the connections go."""
        self._engine.dispose()

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

    def __init__(
        self,
        connection: Connection,
        account: str,
        seen: dict[tuple[object, ...], tuple[Values, ...]],
        *,
        one_by_one: bool,
    ) -> None:
        self._connection, self._seen, self._one_by_one = connection, seen, one_by_one
        self._account = account
        self._ahead: dict[tuple[object, ...], tuple[Values, ...]] = {}
        self._head: Head | None = None
        self._mark = "?" if connection.dialect.name == "sqlite" else "%s"
        self._fresh = True
        self._locked = not account or connection.dialect.name == "sqlite"  # SQLite has one writer anyway

    def one(self, table: str, /, **equal: Value) -> Values | None:
        """Read the row that has these values."""
        return next(iter(self.every(table, **equal)), None)

    def every(self, table: str, /, **equal: Value) -> tuple[Values, ...]:
        """Read all rows that have these values, by their keys."""
        named = _named(table, equal)
        if self._fresh and named in self._ahead:
            return self._ahead[named]
        keep = self._fresh and _lasting(table, equal)
        if keep and named in self._seen:
            return self._seen[named]
        self._lock()
        filled, empty = _sorted_out(equal)
        names = statements.columns(table)
        statement = statements.select(table, filled, empty, self._mark)
        result = self._connection.exec_driver_sql(statement, tuple(equal[name] for name in filled))
        found: tuple[Values, ...] = tuple(dict(zip(names, row, strict=True)) for row in result)
        if keep and found:
            if len(self._seen) >= _KEPT:
                self._seen.clear()
            self._seen[named] = found
        return found

    def expect(self, *asked: tuple[str, Values]) -> None:
        """Fetch what will be read next, and the head of the account's chain, in one statement; SQLite is near enough."""
        if self._one_by_one:
            return
        questions = [(table, *_sorted_out(equal)) for table, equal in asked]
        bound = [equal[name] for (_, equal), (_, filled, _) in zip(asked, questions, strict=True) for name in filled]
        statement = statements.select_together(tuple(questions))
        answers: list[list[Values]] = [[] for _ in range(len(asked) + 1)]
        for question, row in self._first(statement, (*bound, self._account)):
            answers[question].append(row)
        for (table, equal), rows in zip(asked, answers, strict=False):
            keys = [column.name for column in TABLES[table].primary_key.columns]
            self._ahead[_named(table, equal)] = tuple(sorted(rows, key=lambda row: [row[key] for key in keys]))
        self._head = Head(number(answers[-1][0], "seq"), text(answers[-1][0], "hash")) if answers[-1] else Head()

    def record(self, deed: Deed) -> None:
        """Append the rows of a deed, and its entry in the account's chain."""
        self._fresh = False
        self._lock()
        head = self._head if self._head is not None and deed.account == self._account else self._read_head(deed.account)
        linked = link(head, entry_body(deed, head.seq + 1))
        entry: dict[str, Value] = {
            "account_id": deed.account,
            "seq": linked.seq,
            "prev_seq": linked.prev_seq,
            "kind": deed.kind,
            "body": linked.body,
            "prev_hash": linked.prev_hash,
            "hash": linked.hash,
        }
        self._append((*deed.rows, Row("journal", entry)))

    def append_block(self, block: Values) -> None:
        """Append a block."""
        self._append((Row("block", block),))

    def _lock(self) -> None:
        """Keep the account to this transaction, before the first row of it is read or written."""
        if not self._locked:
            self._locked = True
            with self._nothing_done():
                self._connection.exec_driver_sql(_LOCK, (f"market:{self._account}",))

    def _first(self, statement: str, values: tuple[Value, ...]) -> list[tuple[int, Values]]:
        """Keep the account and read, in one go over the wire: what is read is read once the account is kept."""
        if self._locked:
            return [(row[0], row[1]) for row in self._connection.exec_driver_sql(statement, values)]
        self._locked = True
        driver = self._connection.connection.driver_connection
        if driver is None:
            raise AssertionError
        with self._nothing_done(), driver.pipeline():
            driver.execute(_LOCK, (f"market:{self._account}",))
            answer = driver.execute(statement, values)
            return list(answer.fetchall())

    @contextlib.contextmanager
    def _nothing_done(self) -> Iterator[None]:
        """Take a connection that died while nobody used it for what it is: another try, for nothing was done on it yet."""
        failed = self._connection.dialect.loaded_dbapi.OperationalError
        try:
            yield
        except (failed, sqlalchemy.exc.OperationalError) as error:
            self._connection.invalidate()
            message = str(error).partition("\n")[0]
            raise _OnceMore(
                RemoteError(f"the database is gone: {message}", hint="Look at it, then ask again.")
            ) from error

    def _read_head(self, account: str) -> Head:
        found = self._connection.exec_driver_sql(_HEAD.format(self._mark), (account,)).one_or_none()
        return Head(*found) if found is not None else Head()

    def _append(self, rows: tuple[Row, ...]) -> None:
        if self._one_by_one:
            for row in rows:
                self._connection.exec_driver_sql(statements.insert(row.table, self._mark), _bound(row))
            return
        opened = tuple(row for row in rows if row.table == _OPENS)
        for part in (opened, tuple(row for row in rows if row.table != _OPENS)):
            grouped: dict[str, list[Values]] = {}
            for row in part:
                grouped.setdefault(row.table, []).append(row.values)
            if grouped:
                statement = statements.insert_together(tuple(grouped))
                self._connection.exec_driver_sql(statement, tuple(canonical(each) for each in grouped.values()))


def _named(table: str, equal: Values) -> tuple[object, ...]:
    return (table, *sorted(equal.items()))


def _sorted_out(equal: Values) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Tell the columns that are compared with a value from those that have to be empty."""
    filled = tuple(name for name, value in equal.items() if value is not None)
    return filled, tuple(name for name, value in equal.items() if value is None)


def _bound(row: Row) -> tuple[Value, ...]:
    return tuple(row.values[name] for name in statements.columns(row.table))


def _lasting(table: str, equal: Values) -> bool:
    """Say whether what is read stays as it is: one row by its name, or the affirmations of terms, which come with them."""
    if table == "terms_affirmation":
        return set(equal) == {"terms_id"}
    named = "id" in equal or set(equal) == {"owner_id", "kind", "provider", "currency"}
    return table in _UNCHANGING and named


class _OnceMore(Exception):  # noqa: N818  (no error: the transaction is done again)
    def __init__(self, answer: RefusedError | RemoteError) -> None:
        super().__init__()
        self.answer = answer


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    """Say what a database refuses in the market's words."""
    try:
        yield
    except sqlalchemy.exc.IntegrityError as error:
        raise _again(error, _refusal(error)) from error
    except sqlalchemy.exc.DBAPIError as error:
        raise _again(error, _remote(error)) from error


def _remote(error: sqlalchemy.exc.DBAPIError) -> RemoteError:
    message = str(error.orig).partition("\n")[0]
    return RemoteError(f"the database does not do it: {message}", hint="Look at the database, then ask again.")


def _again(error: sqlalchemy.exc.DBAPIError, answer: RefusedError | RemoteError) -> Exception:
    return _OnceMore(answer) if getattr(error.orig, "sqlstate", None) in _AGAIN else answer


def _refusal(error: sqlalchemy.exc.IntegrityError) -> RefusedError:
    message = str(error.orig).partition("\n")[0]
    if "balance_not_negative" in message:
        return RefusedError(
            "insufficient-funds",
            "the wallet does not cover it",
            hint="Ask the operator for credit, or pay in another way.",
        )
    return RefusedError(
        "refused-by-schema", f"the books do not take it: {message}", hint="Nothing was recorded; mend the request."
    )
