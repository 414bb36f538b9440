"""The tables of the index. They hold nothing that cannot be read again, so another layout drops them and makes them anew."""

from collections.abc import Mapping

from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, UniqueConstraint, inspect, select, text

LAYOUT = "2"
"""Raised with every change of the tables or of what is written into them."""

_TABLES = MetaData()

STATE = Table(
    "catalog_search_state",
    _TABLES,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
VERSION = Table(
    "catalog_search_version",
    _TABLES,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("handle", Text, nullable=False),
    Column("place", Integer, nullable=False),
    Column("digest", Text, nullable=False),
    Column("facets", Text, nullable=False),
    UniqueConstraint("name", "handle", name="catalog_search_version_once"),
)

WORDS = "catalog_search_words"
"""The text: FTS5 on SQLite, a table of tsvectors on PostgreSQL. Its columns and questions are in ``words.py``."""

_FTS5 = """detail = column, prefix = '1 2 3 4', tokenize = "ascii tokenchars '_'" """
_WORDS_DDL: Mapping[str, tuple[str, ...]] = {
    "sqlite": (f"CREATE VIRTUAL TABLE {WORDS} USING fts5(name, title, body, {_FTS5})",),
    "postgresql": (
        f"CREATE TABLE {WORDS} (rowid integer PRIMARY KEY, name tsvector, head tsvector, body tsvector)",
        *(f"CREATE INDEX {WORDS}_{column} ON {WORDS} USING gin ({column})" for column in ("name", "head", "body")),
    ),
}


def prepare(connection: Connection) -> None:
    """Make the tables where they are not there, and make them anew where they have another layout."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('catalog_search'))"))
    there = set(inspect(connection).get_table_names())
    if {WORDS, *_TABLES.tables} <= there and state(connection, "layout") == (LAYOUT,):
        return
    connection.execute(text(f"DROP TABLE IF EXISTS {WORDS}"))
    _TABLES.drop_all(connection)
    _TABLES.create_all(connection)
    for statement in _WORDS_DDL[connection.dialect.name]:
        connection.execute(text(statement))
    put_state(connection, "layout", LAYOUT)


def state(connection: Connection, *keys: str) -> tuple[str, ...]:
    """Read what is noted under some keys, ``""`` for nothing."""
    rows = connection.execute(select(STATE.c.key, STATE.c.value).where(STATE.c.key.in_(keys)))
    noted = {row.key: row.value for row in rows}
    return tuple(noted.get(key, "") for key in keys)


def put_state(connection: Connection, key: str, value: str) -> None:
    """Note something under a key."""
    connection.execute(STATE.delete().where(STATE.c.key == key))
    connection.execute(STATE.insert().values(key=key, value=value))
