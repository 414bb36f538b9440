"""Bring a database to the schema of this release, or say that it is not there."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection, Engine

from dayzero.adapters.market_store.roles import applications, grant_application
from dayzero.core.errors import InputError, IntegrityError, RemoteError

_FOLDER = Path(__file__).parent / "migrations"
_OWNER = "Nothing was changed. The owner's role owns the database, and may make roles where --app-role names a new one."
_INIT = "Run 'dayzero market init' with the owner's URL."
_HELD = "Nothing was changed; look at what the audit says."


def migrate(engine: Engine, application: str = "") -> str:
    """Run the migrations that are missing, all of them or none.

    Args:
        engine: The owner's connection; it must not be guarded.
        application: The role of the application; ``""`` for none, as on SQLite. One that was let in before is let in again.

    Returns:
        The revision that the database has now.

    Raises:
        InputError: A role is named for SQLite, or it is no role for an application.
        IntegrityError: What is recorded does not hold to the schema of this release.
        RemoteError: It cannot be opened, or does not do it.
    """
    if application and engine.dialect.name != "postgresql":
        raise InputError("SQLite has no roles", hint="Leave --app-role out.")
    with _answering("does not do it", _OWNER), _migrating(engine) as connection:
        command.upgrade(config_for(connection), "head")
        known = applications(connection) if engine.dialect.name == "postgresql" else ()
        for role in sorted({*known, application} - {""}):
            grant_application(connection, role)
        return _current(connection)


@contextlib.contextmanager
def _answering(said: str, hint: str) -> Iterator[None]:
    """Say in our own words that a database cannot be opened, does not do what is asked, or holds what its schema would refuse."""
    try:
        yield
    except sqlalchemy.exc.DBAPIError as error:
        message = str(error.orig).partition("\n")[0]
        if isinstance(error, sqlalchemy.exc.IntegrityError):
            raise IntegrityError(f"what is recorded does not hold to the schema: {message}", hint=_HELD) from error
        raise RemoteError(f"the database {said}: {message}", hint=hint) from error


def _opened(engine: Engine) -> Connection:
    with _answering("cannot be opened", "Look whether it is there."):
        return engine.connect()


@contextlib.contextmanager
def _migrating(engine: Engine) -> Iterator[Connection]:
    """Begin a migration. On SQLite tables are made anew in it, so its references are held at the end and not row by row."""
    with _opened(engine) as connection:
        if engine.dialect.name != "sqlite":
            with connection.begin():
                yield connection
            return
        driver: sqlite3.Connection = connection.connection.driver_connection  # type: ignore[assignment]
        driver.execute("PRAGMA foreign_keys = OFF")  # within a transaction it would do nothing
        try:
            with connection.begin():
                yield connection
                _hold_references(connection)
        finally:
            driver.execute("PRAGMA foreign_keys = ON")


def _hold_references(connection: Connection) -> None:
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
    if broken is not None:
        raise IntegrityError(
            f"a row of {broken[0]} refers to none of {broken[2]}",
            hint=_HELD,
        )


def check_migrated(engine: Engine) -> None:
    """Hold a database to the schema of this release.

    Raises:
        InputError: It has none, or another one.
        RemoteError: It cannot be opened.
    """
    with _answering("cannot be opened", "Look whether it is there."), engine.connect() as connection:
        current = _current(connection)
    head = ScriptDirectory.from_config(_config()).get_current_head()
    if not current:
        raise no_market()
    if current != head:
        raise InputError(f"the database has the schema {current}, and this release needs {head}", hint=_INIT)


def no_market() -> InputError:
    """Say that a database has no market."""
    return InputError("no market is there", hint=_INIT)


def config_for(connection: Connection) -> Config:
    """Give what Alembic's commands need to work on a connection that is in a transaction."""
    config = _config()
    config.attributes["connection"] = connection
    return config


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _current(connection: Connection) -> str:
    return MigrationContext.configure(connection).get_current_revision() or ""
