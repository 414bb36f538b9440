"""The text of the index in the words of each database: how it is written, and how it is asked. Both are asked terms only."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from dayzero.adapters.search.tables import WORDS
from dayzero.adapters.search.terms import terms

_INSERT = {
    "sqlite": f"INSERT INTO {WORDS} (rowid, name, title, body) VALUES (:id, :name, :title, :body)",  # noqa: S608
    "postgresql": (
        f"INSERT INTO {WORDS} (rowid, name, head, body) "  # noqa: S608
        "VALUES (:id, CAST(:name AS tsvector), CAST(:head AS tsvector), CAST(:body AS tsvector))"
    ),
}


_FIELDS = (("name",), ("name", "title"), ("body",))  # where every term is looked for, the best place first
_COLUMNS = ("name", "head", "body")  # the same on PostgreSQL


@dataclass(frozen=True, slots=True, kw_only=True)
class Worded:
    """The text of one version.

    Attributes:
        id: Number of its row.
        name, title, body: What is looked through; only ``body`` decides whether it is found, the others how early it comes.
    """

    id: int
    name: str
    title: str
    body: str


def insert(connection: Connection, rows: Sequence[Worded]) -> None:
    """Write the text of some versions that have none yet."""
    if rows:
        dialect = connection.dialect.name
        written = [_of_sqlite(row) if dialect == "sqlite" else _of_postgres(row) for row in rows]
        connection.execute(text(_INSERT[dialect]), written)


def delete(connection: Connection, ids: Sequence[int]) -> None:
    """Take away the text of some versions."""
    if ids:
        connection.execute(text(f"DELETE FROM {WORDS} WHERE rowid = :id"), [{"id": number} for number in ids])  # noqa: S608


def found(connection: Connection, asked: Sequence[str]) -> tuple[list[int], ...]:
    """Give the rows that hold every term as a word's beginning: all in the name, in name and title, in the body.

    Asked is once, and each list comes as one value: a word that most versions have does not cost thousands of rows. On PostgreSQL
    each place has a column of its own, because a question for weights would read every row that the index found.

    Args:
        connection: The database.
        asked: Terms, at least one.
    """
    if connection.dialect.name == "sqlite":
        every = " AND ".join(f'"{term}" *' for term in asked)
        queries = {f"q{place}": f"{{{' '.join(fields)}}} : ({every})" for place, fields in enumerate(_FIELDS)}
        parts = (f"(SELECT group_concat(rowid) FROM {WORDS} WHERE {WORDS} MATCH :{name})" for name in queries)  # noqa: S608
        said = connection.execute(text(f"SELECT {', '.join(parts)}"), queries).one()
        return tuple([] if numbers is None else list(map(int, numbers.split(","))) for numbers in said)
    query = " & ".join(f"'{term}':*" for term in asked)
    parts = (
        f"(SELECT array_agg(rowid) FROM {WORDS} WHERE {column} @@ CAST(:query AS tsquery))"  # noqa: S608
        for column in _COLUMNS
    )
    rows = connection.execute(text(f"SELECT {', '.join(parts)}"), {"query": query}).one()
    return tuple(numbers or [] for numbers in rows)


def _of_sqlite(row: Worded) -> dict[str, object]:
    return {"id": row.id, "name": _plain(row.name), "title": _plain(row.title), "body": _plain(row.body)}


def _plain(words: str) -> str:
    return " ".join(terms(words))


def _of_postgres(row: Worded) -> dict[str, object]:
    head = f"{row.name} {row.title}"
    return {"id": row.id, "name": _lexemes(row.name), "head": _lexemes(head), "body": _lexemes(row.body)}


def _lexemes(words: str) -> str:
    return " ".join(f"'{term}'" for term in terms(words))
