"""The text of the index in the words of each database: how it is written, and how it is asked. Both are asked terms only."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, TextClause, text

from dayzero.adapters.search.tables import WORDS
from dayzero.adapters.search.terms import terms

_INSERT = {
    "sqlite": f"INSERT INTO {WORDS} (rowid, name, title, body) VALUES (:id, :name, :title, :body)",  # noqa: S608
    "postgresql": f"INSERT INTO {WORDS} (rowid, words) VALUES (:id, CAST(:words AS tsvector))",  # noqa: S608
}
_WEIGHTS = {"name": "A", "title": "B", "body": "C"}


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


def found(dialect: str, asked: Sequence[str], fields: Sequence[str]) -> TextClause:
    """Write a question for the rows that hold every term, each as a word's beginning, in any of some fields.

    Args:
        dialect: Which database.
        asked: Terms, at least one.
        fields: Of ``name``, ``title``, ``body``.
    """
    if dialect == "sqlite":
        every = " AND ".join(f'"{term}" *' for term in asked)
        query = f"{{{' '.join(fields)}}} : ({every})"
        return text(f"SELECT rowid FROM {WORDS} WHERE {WORDS} MATCH :query").bindparams(query=query)  # noqa: S608
    weights = "".join(_WEIGHTS[field] for field in fields)
    query = " & ".join(f"'{term}':*{weights}" for term in asked)
    return text(f"SELECT rowid FROM {WORDS} WHERE words @@ CAST(:query AS tsquery)").bindparams(query=query)  # noqa: S608


def _of_sqlite(row: Worded) -> dict[str, object]:
    return {"id": row.id, **{field: " ".join(terms(getattr(row, field))) for field in _WEIGHTS}}


def _of_postgres(row: Worded) -> dict[str, object]:
    weights: dict[str, str] = {}
    for place, (field, weight) in enumerate(_WEIGHTS.items(), start=1):
        for term in terms(getattr(row, field)):
            weights[term] = f"{weights[term]},{place}{weight}" if term in weights else f"{place}{weight}"
    return {"id": row.id, "words": " ".join(f"'{term}':{places}" for term, places in weights.items())}
