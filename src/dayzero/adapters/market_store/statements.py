"""The few shapes of SQL that the books need, written once for each table and kept: names come from the tables, values are bound."""

from functools import cache

from dayzero.adapters.market_store.tables import TABLES


@cache
def columns(table: str) -> tuple[str, ...]:
    """Give the names of a table's columns that the application writes."""
    return tuple(column.name for column in TABLES[table].columns if column.server_default is None)


@cache
def select(table: str, equal: tuple[str, ...], empty: tuple[str, ...], mark: str) -> str:
    """Read rows that have these values, by their keys.

    Args:
        table: Where.
        equal: Columns that are compared with a bound value.
        empty: Columns that have to be empty.
        mark: How the driver marks a bound value.
    """
    found = TABLES[table]
    tests = [f"{found.columns[name].name} = {mark}" for name in equal]
    tests += [f"{found.columns[name].name} IS NULL" for name in empty]
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    keys = ", ".join(column.name for column in found.primary_key.columns)
    return f"SELECT {', '.join(columns(table))} FROM {table}{where} ORDER BY {keys}"  # noqa: S608  (only names of columns)


@cache
def insert(table: str, mark: str) -> str:
    """Append one row."""
    names = columns(table)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join([mark] * len(names))})"  # noqa: S608  (only names)


@cache
def insert_together(tables: tuple[str, ...]) -> str:
    """Append rows to several tables in one statement of PostgreSQL, each table's as JSON; foreign keys are held at its end."""
    *first, last = (_insert_json(table) for table in tables)
    parts = ", ".join(f"p{number} AS ({part})" for number, part in enumerate(first))
    return f"WITH {parts} {last}" if parts else last


@cache
def select_together(asked: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]) -> str:
    """Read from several tables in one statement of PostgreSQL: question by question, each row as JSON; the chain's head last."""
    parts = [select(*question, "%s") for question in asked]
    parts.append("SELECT seq, hash FROM journal WHERE account_id = %s ORDER BY seq DESC LIMIT 1")
    return " UNION ALL ".join(f"SELECT {number}, to_json(t) FROM ({part}) t" for number, part in enumerate(parts))  # noqa: S608


def _insert_json(table: str) -> str:
    names = ", ".join(columns(table))
    return f"INSERT INTO {table} ({names}) SELECT {names} FROM json_populate_recordset(NULL::{table}, %s::json)"  # noqa: S608
