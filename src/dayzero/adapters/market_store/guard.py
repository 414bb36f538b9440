"""What the application's own connection to SQLite may do at all: read, and append. This stands in for roles."""

import sqlite3

from sqlalchemy.engine import Engine
from sqlalchemy.event import listen

from dayzero.adapters.market_store.tables import KEPT, SIGN_IN, TABLES
from dayzero.adapters.market_store.triggers import SQLITE_KEEPERS

_READS = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_TRANSACTION,
        sqlite3.SQLITE_SAVEPOINT,
    }
)
_ASKING = frozenset({"foreign_key_check", "integrity_check", "table_info", "table_xinfo", "data_version"})


def guard(engine: Engine) -> None:
    """Have every connection of an engine to SQLite refuse what is neither reading nor appending; call it before the first one."""
    listen(engine, "connect", _set)


def guard_sign_ins(engine: Engine) -> None:
    """Have every connection of an engine to SQLite change nothing but who may sign in; call it before the first one."""
    listen(engine, "connect", _set_sign_ins)


def _set_sign_ins(connection: sqlite3.Connection, _: object) -> None:
    connection.set_authorizer(_answer_sign_ins)


def _answer_sign_ins(action: int, first: str | None, _2: str | None, _3: str | None, _4: str | None) -> int:
    writes = action in {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE} and first in SIGN_IN
    return sqlite3.SQLITE_OK if writes or action in _READS else sqlite3.SQLITE_DENY


def _set(connection: sqlite3.Connection, _: object) -> None:
    connection.set_authorizer(_answer)


def _answer(action: int, first: str | None, _second: str | None, _database: str | None, inside: str | None) -> int:
    allowed = action in _READS
    if action == sqlite3.SQLITE_INSERT:
        allowed = first in TABLES and (first != KEPT or inside in SQLITE_KEEPERS)
    elif action == sqlite3.SQLITE_UPDATE:
        allowed = first == KEPT and inside in SQLITE_KEEPERS
    elif action == sqlite3.SQLITE_PRAGMA:
        allowed = first in _ASKING
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
