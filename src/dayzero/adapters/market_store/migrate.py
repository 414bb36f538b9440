"""Bring a database to the schema of this release, or say that it is not there."""

from pathlib import Path

import sqlalchemy
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection, Engine

from dayzero.adapters.market_store.roles import grant_application
from dayzero.core.errors import InputError, RemoteError

_FOLDER = Path(__file__).parent / "migrations"


def migrate(engine: Engine, application: str = "") -> str:
    """Run the migrations that are missing, all of them or none.

    Args:
        engine: The owner's connection; it must not be guarded.
        application: The role of the application; ``""`` for none, as on SQLite.

    Returns:
        The revision that the database has now.

    Raises:
        InputError: A role is named for SQLite, or it is no role for an application.
    """
    if application and engine.dialect.name != "postgresql":
        raise InputError("SQLite has no roles", hint="Leave --app-role out.")
    with engine.begin() as connection:
        command.upgrade(config_for(connection), "head")
        if application:
            grant_application(connection, application)
        return _current(connection)


def check_migrated(engine: Engine) -> None:
    """Hold a database to the schema of this release.

    Raises:
        InputError: It has none, or another one.
        RemoteError: It cannot be opened.
    """
    try:
        with engine.connect() as connection:
            current = _current(connection)
    except sqlalchemy.exc.DBAPIError as error:
        message = str(error.orig).partition("\n")[0]
        raise RemoteError(f"the database cannot be opened: {message}", hint="Look whether it is there.") from error
    head = ScriptDirectory.from_config(_config()).get_current_head()
    if current != head:
        raise InputError(
            f"the database has the schema {current}, and this release needs {head}"
            if current
            else "no market is there",
            hint="Run 'dayzero market init' with the owner's URL.",
        )


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
