"""Ask PostgreSQL with little in between: each statement is prepared once a connection, and every value goes as text.

The columns say the types, so that one plan serves every request. A call waits for its answer until the connection ends.
"""

import itertools
from collections.abc import Iterable

import msgspec
import psycopg
from psycopg import pq
from sqlalchemy.engine import Engine
from sqlalchemy.event import listen
from sqlalchemy.pool import PoolProxiedConnection

from dayzero.market.model import Value

_ANSWERS = frozenset({pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK})
_KEPT = "dayzero.wire"


class Wire:
    """One connection, with the statements that it knows.

    Args:
        driver: The driver's connection; outside a transaction each statement is one of its own.
    """

    def __init__(self, driver: psycopg.Connection[tuple[object, ...]]) -> None:
        self._wire = driver.pgconn
        self._known: dict[str, bytes] = {}
        self._numbers = itertools.count()

    def ask(self, statement: str, values: Iterable[Value]) -> pq.abc.PGresult:
        """Have a statement with ``$1`` and on done.

        Raises:
            psycopg.Error: The server refuses it, or is gone.
        """
        name = self._known.get(statement) or self._prepare(statement)
        bound = [value.encode() if value.__class__ is str else _written(value) for value in values]  # most are text
        if b"\0" in b"".join(filter(None, bound)):  # the wire would end the text there
            raise psycopg.DataError("a text holds a NUL")
        try:
            return _held(self._wire.exec_prepared(name, bound))  # type: ignore[arg-type]  # its stub forgets None
        except psycopg.errors.InvalidSqlStatementName:  # somebody between here and the server dropped what was prepared
            self._known.clear()
            raise

    def read(self, statement: str, values: Iterable[Value]) -> list[tuple[int, dict[str, Value]]]:
        """Have a statement done that answers with a number and a row as JSON."""
        found = self.ask(statement, values)
        return [(int(_cell(found, row, 0)), msgspec.json.decode(_cell(found, row, 1))) for row in range(found.ntuples)]

    def _prepare(self, statement: str) -> bytes:
        name = f"dayzero_{next(self._numbers)}".encode()
        _held(self._wire.prepare(name, statement.encode()))
        self._known[statement] = name
        return name


def prepare_alone(engine: Engine) -> None:
    """Have the driver prepare nothing by itself: after a rollback it would drop that, and with it all that was prepared here."""
    listen(engine, "connect", _set)


def _set(connection: psycopg.Connection[tuple[object, ...]], _: object) -> None:
    connection.prepare_threshold = None


def wire_of(pooled: PoolProxiedConnection) -> Wire:
    """Give the wire of a connection of the pool; it lasts as long as the connection.

    Raises:
        AssertionError: The pool took the connection away.
    """
    wire: Wire | None = pooled.info.get(_KEPT)
    if wire is None:
        driver: psycopg.Connection[tuple[object, ...]] | None = pooled.driver_connection
        if driver is None:
            raise AssertionError
        wire = pooled.info[_KEPT] = Wire(driver)
    return wire


def _written(value: Value) -> bytes | None:
    return None if value is None else str(value).encode()


def _cell(found: pq.abc.PGresult, row: int, column: int) -> bytes:
    return found.get_value(row, column) or b"null"


def _held(result: pq.abc.PGresult) -> pq.abc.PGresult:
    if result.status in _ANSWERS:
        return result
    state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
    message = result.get_error_message()
    if not state:  # the server did not say it: the connection is gone
        raise psycopg.OperationalError(message)
    try:
        kind = psycopg.errors.lookup(state)
    except KeyError:
        kind = psycopg.DatabaseError
    raise kind(message)
