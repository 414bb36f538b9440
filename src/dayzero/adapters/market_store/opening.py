"""Open the books: the application's way, which can only read and append, and the owner's, for migrations."""

from pathlib import Path

from sqlalchemy.engine import Engine

from dayzero.adapters.market_store.books import SqlBooks
from dayzero.adapters.market_store.guard import guard, guard_sign_ins
from dayzero.adapters.market_store.migrate import check_migrated, migrate, no_market
from dayzero.adapters.market_store.register import SqlRegister
from dayzero.adapters.store.engine import open_engine
from dayzero.core.errors import DayzeroError


def open_books(database: str | Path, *, pool_size: int = 5, one_by_one: bool = False) -> SqlBooks:
    """Open the books as the application does.

    Args:
        database: A file of SQLite or a URL, on PostgreSQL with the application's role.
        pool_size: Most connections to PostgreSQL.
        one_by_one: Append row by row, also on PostgreSQL.

    Raises:
        InputError: The database cannot be used, or has not the schema of this release.
    """
    engine = open_engine(database, pool_size=pool_size, ping=False)  # see SqlBooks.write
    if engine.dialect.name == "sqlite":
        _check_there(engine)
        guard(engine)
    else:
        from dayzero.adapters.market_store.wire import prepare_alone  # noqa: PLC0415  (its driver is an extra)

        prepare_alone(engine)
    try:
        check_migrated(engine)
    except DayzeroError:
        engine.dispose()
        raise
    return SqlBooks(engine, one_by_one=one_by_one)


def _check_there(engine: Engine) -> None:
    """Look whether a file of SQLite is there: who opens one that is not makes an empty one."""
    file = Path(engine.url.database or "")
    if file.parent.is_dir() and not file.exists():
        raise no_market()


def open_register(database: str | Path, *, pool_size: int = 5) -> SqlRegister:
    """Open, beside the books, where it is kept who may sign in.

    Args:
        database: As for :func:`open_books`, which looks whether the schema is there.
        pool_size: Most connections to PostgreSQL.
    """
    engine = open_engine(database, pool_size=pool_size)
    if engine.dialect.name == "sqlite":
        guard_sign_ins(engine)
    return SqlRegister(engine)


def make_books(database: str | Path, application: str = "") -> str:
    """Bring a database to the schema of this release, as its owner.

    Args:
        database: A file of SQLite or a URL, on PostgreSQL with the owner's role.
        application: The application's role on PostgreSQL, made where it is missing.

    Returns:
        The revision that it has now.
    """
    engine = open_engine(database)
    try:
        return migrate(engine, application)
    finally:
        engine.dispose()
