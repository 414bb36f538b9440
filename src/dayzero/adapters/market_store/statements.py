"""The few shapes of SQL that the books need, written once for each table and kept: names come from the tables, values are bound."""

import itertools
from functools import cache

from dayzero.adapters.market_store.tables import TABLES
from dayzero.market.model import Row, Value, Values


@cache
def columns(table: str) -> tuple[str, ...]:
    """Give the names of a table's columns that the application writes."""
    return tuple(column.name for column in TABLES[table].columns if column.server_default is None)


def sorted_out(equal: Values) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Tell the columns that are compared with a value from those that have to be empty."""
    filled = tuple(name for name, value in equal.items() if value is not None)
    return filled, tuple(name for name, value in equal.items() if value is None)


def bound(row: Row) -> tuple[Value, ...]:
    """Give the values of a row as its columns stand."""
    return tuple(row.values[name] for name in columns(row.table))


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
def select_from(table: str, equal: tuple[str, ...], mark: str) -> str:
    """Read a chain in turn from a number on: rows that have these values, and a ``seq`` of at least the last one bound."""
    found = TABLES[table]
    tests = [f"{found.columns[name].name} = {mark}" for name in equal] + [f"seq >= {mark}"]
    return f"SELECT {', '.join(columns(table))} FROM {table} WHERE {' AND '.join(tests)} ORDER BY seq"  # noqa: S608  (only names)


@cache
def insert(table: str, mark: str) -> str:
    """Append one row."""
    names = columns(table)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join([mark] * len(names))})"  # noqa: S608  (only names)


@cache
def insert_together(shape: tuple[tuple[str, int], ...]) -> str:
    """Append rows to several tables in one statement of PostgreSQL; foreign keys are held at its end.

    Args:
        shape: Each table, and how many rows it gets. Values are bound as ``$1`` and on, table by table and row by row.
    """
    numbers = itertools.count(1)
    *first, last = (_insert_rows(table, rows, numbers) for table, rows in shape)
    parts = ", ".join(f"p{number} AS ({part})" for number, part in enumerate(first))
    return f"WITH {parts} {last}" if parts else last


@cache
def select_together(asked: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]) -> str:
    """Read from several tables in one statement of PostgreSQL: question by question, each row as JSON; the chain's head last.

    Values are bound as ``$1`` and on, the account of the chain last.
    """
    parts = [select(*question, "{}") for question in asked]
    parts.append("SELECT seq, hash FROM journal WHERE account_id = {} ORDER BY seq DESC LIMIT 1")
    whole = " UNION ALL ".join(f"SELECT {number}, to_json(t) FROM ({part}) t" for number, part in enumerate(parts))  # noqa: S608
    return whole.format(*(f"${number + 1}" for number in range(whole.count("{}"))))


def _insert_rows(table: str, rows: int, numbers: "itertools.count[int]") -> str:
    names = columns(table)
    bound = (f"({', '.join(f'${next(numbers)}' for _ in names)})" for _ in range(rows))
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES {', '.join(bound)}"  # noqa: S608  (only names)
