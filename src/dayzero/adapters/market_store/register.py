"""Where it is kept who may sign in, in SQLite or PostgreSQL beside the books; each call is a transaction of its own."""

import contextlib
from collections.abc import Iterator

import sqlalchemy
from sqlalchemy import ColumnElement, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection, Engine

from dayzero.adapters.market_store.sign_in_tables import ATTEMPT, SIGN_IN
from dayzero.core.errors import RemoteError
from dayzero.identity.model import Values


class SqlRegister:
    """A ``dayzero.identity.ports.Register`` behind an engine of SQLAlchemy.

    Args:
        engine: See ``dayzero.adapters.market_store.opening``.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._insert = postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert

    def every(self, table: str, /, **equal: str | int) -> tuple[Values, ...]:
        """Read all rows that have these values, by their keys."""
        kept = SIGN_IN[table]
        statement = sqlalchemy.select(kept).where(*_tests(kept, equal)).order_by(*kept.primary_key.columns)
        with _answering(), self._engine.connect() as plain:
            connection = (
                plain if self._engine.dialect.name == "postgresql" else plain.execution_options(reads_only=True)
            )
            return tuple(dict(row) for row in connection.execute(statement).mappings())

    def put(self, table: str, values: Values) -> None:
        """Write a row, in the place of the one with the same key."""
        kept = SIGN_IN[table]
        keys = [column.name for column in kept.primary_key.columns]
        statement = self._insert(kept).values(dict(values))
        rest = {name: statement.excluded[name] for name in values if name in _CHANGING[table]}
        with self._writing() as connection:
            connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=rest))

    def drop(self, table: str, /, **equal: str | int) -> None:
        """Delete all rows that have these values."""
        kept = SIGN_IN[table]
        with self._writing() as connection:
            connection.execute(sqlalchemy.delete(kept).where(*_tests(kept, equal)))

    def drop_before(self, table: str, column: str, second: int) -> None:
        """Delete all rows whose time is before a second."""
        kept = SIGN_IN[table]
        with self._writing() as connection:
            connection.execute(sqlalchemy.delete(kept).where(kept.columns[column] < second))

    def count(self, bucket: str, window: int) -> int:
        """Count one more in a bucket's window, and say how many there are now."""
        statement = self._insert(ATTEMPT).values(bucket=bucket, starts_at=window, tried=1)
        counted = statement.on_conflict_do_update(
            index_elements=["bucket", "starts_at"], set_={"tried": ATTEMPT.columns["tried"] + 1}
        ).returning(ATTEMPT.columns["tried"])
        with self._writing() as connection:
            return int(connection.execute(counted).scalar_one())

    def close(self) -> None:
        """Let the connections go."""
        self._engine.dispose()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Connection]:
        with _answering(), self._engine.begin() as connection:
            yield connection


_CHANGING = {
    "credential": {"password", "changed_at"},
    "session": {"account_id", "created_at", "expires_at"},
    "token": {"revoked_at"},
}
"""What may be other than before under the same key; the application's role may change nothing else."""


def _tests(table: Table, equal: dict[str, str | int]) -> list[ColumnElement[bool]]:
    return [table.columns[name] == value for name, value in equal.items()]


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    """Say what a database refuses in words of our own."""
    try:
        yield
    except sqlalchemy.exc.DBAPIError as error:
        message = str(error.orig).partition("\n")[0]
        raise RemoteError(
            f"the database does not do it: {message}", hint="Look at the database, then ask again."
        ) from error
