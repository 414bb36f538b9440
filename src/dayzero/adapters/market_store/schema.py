"""The schema as it stands today, as statements of one database; a migration holds what this gave on the day it was written."""

from collections.abc import Iterator

import sqlalchemy
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from dayzero.adapters.market_store.tables import METADATA
from dayzero.adapters.market_store.triggers import postgres_triggers, sqlite_triggers

_DIALECTS: dict[str, sqlalchemy.Dialect] = {
    "postgresql": postgresql.dialect(),  # type: ignore[no-untyped-call]
    "sqlite": sqlite.dialect(),
}


def statements(backend: str) -> Iterator[str]:
    """Give every statement that makes the schema, in order.

    Args:
        backend: ``sqlite`` or ``postgresql``.
    """
    dialect = _DIALECTS[backend]
    for table in METADATA.sorted_tables:
        yield _tidy(str(CreateTable(table).compile(dialect=dialect)))
        for index in sorted(table.indexes, key=lambda each: str(each.name)):
            yield _tidy(str(CreateIndex(index).compile(dialect=dialect)))
    yield from postgres_triggers() if backend == "postgresql" else sqlite_triggers()


def _tidy(statement: str) -> str:
    return "\n".join(line.rstrip() for line in statement.strip().replace("\t", "    ").splitlines())
