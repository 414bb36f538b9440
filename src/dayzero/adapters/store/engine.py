"""Open a database: SQLite in one file by default, PostgreSQL through psycopg where a URL names one."""

import sqlite3
from pathlib import Path

import sqlalchemy
from sqlalchemy.engine import URL, Connection, Engine, make_url

from dayzero.core.errors import InputError

_PRAGMAS = (
    "foreign_keys = ON",
    "recursive_triggers = ON",  # without it INSERT OR REPLACE deletes a row and no trigger hears of it
    "journal_mode = WAL",
    "synchronous = FULL",
    "busy_timeout = 15000",
    "trusted_schema = OFF",
)
_DRIVERS = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+psycopg"}


def open_engine(database: str | Path, *, pool_size: int = 5, ping: bool = True) -> Engine:
    """Open a database; nothing is asked of it yet.

    Args:
        database: A file of SQLite, or a URL: ``sqlite:///FILE``, ``postgresql://USER@HOST/NAME``.
        pool_size: Most connections to PostgreSQL that are kept open.
        ping: Ask a kept connection whether it still stands before each use; one that does not ask finds out by failing.

    Returns:
        An engine whose transactions of SQLite take the write lock when they begin, so that two writers wait for each other and none
        fails half way; one with the execution option ``reads_only`` takes none.

    Raises:
        InputError: The URL is no URL, names another kind of database, or the driver of its kind is not installed.
    """
    url = _url(database)
    if url.get_backend_name() == "postgresql":
        return _postgres(url, pool_size=pool_size, ping=ping)
    engine = sqlalchemy.create_engine(url)
    sqlalchemy.event.listen(engine, "connect", _prepare)
    sqlalchemy.event.listen(engine, "begin", _begin)
    return engine


def _postgres(url: URL, *, pool_size: int, ping: bool) -> Engine:
    try:
        return sqlalchemy.create_engine(url, pool_size=pool_size, max_overflow=0, pool_pre_ping=ping)
    except ImportError as error:
        raise InputError(
            "PostgreSQL's driver is not installed", hint="Install it: pip install 'dayzero[postgres]'."
        ) from error


def _url(database: str | Path) -> URL:
    if isinstance(database, Path) or "://" not in database:
        return URL.create(_DRIVERS["sqlite"], database=str(database))
    try:
        url = make_url(database)
        return url.set(drivername=_DRIVERS[url.get_backend_name()])
    except (sqlalchemy.exc.ArgumentError, KeyError, ValueError) as error:
        raise InputError(
            f"cannot use the database {database.partition('://')[0]}://...",
            hint="Give a file for SQLite, or postgresql://USER@HOST/NAME.",
        ) from error


def _prepare(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # SQLAlchemy begins and ends transactions, not the driver
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    reads = connection.get_execution_options().get("reads_only", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
