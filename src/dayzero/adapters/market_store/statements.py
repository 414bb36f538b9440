"""The few shapes of SQL that the books need, written once for each table and kept: names come from the tables, values are bound."""

import itertools
import operator
from collections.abc import Callable
from functools import cache

from dayzero.adapters.market_store.tables import TABLES
from dayzero.market.model import Row, Value, Values

_ENTRY = """WITH head AS (SELECT seq, hash FROM journal WHERE account_id = $1 ORDER BY seq DESC LIMIT 1),
entry AS (SELECT h.seq AS prev_seq, coalesce(h.hash, '') AS prev_hash, coalesce(h.seq, 0) + 1 AS seq,
    $3::text || (coalesce(h.seq, 0) + 1)::text || '}' AS body FROM (SELECT 1) one LEFT JOIN head h ON true WHERE NOTHING)"""
_CHAINED = """ INSERT INTO journal (account_id, seq, prev_seq, kind, body, prev_hash, hash)
SELECT $1, seq, prev_seq, $2, body, prev_hash, encode(sha256(convert_to(prev_hash || E'\\n' || body, 'UTF8')), 'hex') FROM entry"""


@cache
def columns(table: str) -> tuple[str, ...]:
    """Give the names of a table's columns that the application writes."""
    return tuple(column.name for column in TABLES[table].columns if column.server_default is None)


@cache
def keys(table: str) -> tuple[str, ...]:
    """Give the names of the columns that name a row."""
    return tuple(column.name for column in TABLES[table].primary_key.columns)


def sorted_out(equal: Values) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Tell the columns that are compared with a value from those that have to be empty."""
    empty = tuple([name for name, value in equal.items() if value is None])
    return (tuple([name for name in equal if name not in empty]), empty) if empty else (tuple(equal), empty)


def bound(row: Row) -> tuple[Value, ...]:
    """Give the values of a row as its columns stand."""
    return _getter(row.table)(row.values)


@cache
def _getter(table: str) -> Callable[[Values], tuple[Value, ...]]:
    return operator.itemgetter(*columns(table))


@cache
def select(table: str, equal: tuple[str, ...], empty: tuple[str, ...], mark: str) -> str:
    """Read rows that have these values, by their keys.

    Args:
        table: Where.
        equal: Columns that are compared with a bound value.
        empty: Columns that have to be empty.
        mark: How the driver marks a bound value.
    """
    return f"{_select(table, equal, empty, mark)} ORDER BY {', '.join(keys(table))}"


@cache
def select_from(table: str, equal: tuple[str, ...], mark: str) -> str:
    """Read a chain in turn from a number on: rows that have these values, and a ``seq`` of at least the last one bound."""
    found = TABLES[table]
    tests = [f"{found.columns[name].name} = {mark}" for name in equal] + [f"seq >= {mark}"]
    return f"SELECT {', '.join(columns(table))} FROM {table} WHERE {' AND '.join(tests)} ORDER BY seq"  # noqa: S608  (only names)


@cache
def select_by(table: str, by: tuple[str, ...]) -> str:
    """Read all rows in which these columns are filled, in their order."""
    found = TABLES[table]
    order = [found.columns[name].name for name in by]
    tests = [f"{name} IS NOT NULL" for name in order if found.columns[name].nullable]
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    ordered = f" ORDER BY {', '.join(order)}" if order else ""
    return f"SELECT {', '.join(columns(table))} FROM {table}{where}{ordered}"  # noqa: S608  (only names)


@cache
def select_among(table: str, column: str, values: int, mark: str) -> str:
    """Read rows whose column has one of so many values."""
    name = TABLES[table].columns[column].name
    return f"SELECT {', '.join(columns(table))} FROM {table} WHERE {name} IN ({', '.join([mark] * values)})"  # noqa: S608  (only names)


@cache
def select_hashes(entries: int, mark: str) -> str:
    """Read the hashes of so many entries of the journal: account, number and hash."""
    pairs = ", ".join([f"({mark}, {mark})"] * entries)
    found = (
        "SELECT j.account_id, j.seq, j.hash FROM asked a, journal j WHERE j.account_id = a.account_id AND j.seq = a.seq"
    )
    return f"WITH asked (account_id, seq) AS (VALUES {pairs}) {found}"


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
def append_presuming(asked: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...], tables: tuple[str, ...]) -> str:
    """Append a row to each table and an entry to a chain in one statement of PostgreSQL, or nothing where a question has an answer.

    Args:
        asked: The questions, as for :func:`select_together`.
        tables: One row each. Bound are the account, the kind and the stem of the entry, the questions' values, then row by row.
    """
    numbers = itertools.count(4)
    nothing = " AND ".join(
        f"NOT EXISTS ({_select(table, equal, empty, '{}').format(*(f'${next(numbers)}' for _ in equal))})"
        for table, equal, empty in asked
    )
    parts = "".join(
        f", p{number} AS (INSERT INTO {table} ({', '.join(columns(table))})"  # noqa: S608  (only names of columns)
        f" SELECT {', '.join(f'${next(numbers)}' for _ in columns(table))} FROM entry)"
        for number, table in enumerate(tables)
    )
    return _ENTRY.replace("NOTHING", nothing) + parts + _CHAINED


@cache
def select_together(asked: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...], *, head: bool) -> str:
    """Read from several tables in one statement of PostgreSQL: the question's number, and each row as JSON, in no order.

    Args:
        asked: Each a table, the columns that are compared, and those that have to be empty. Values are bound as ``$1`` and on.
        head: Read the head of a chain with them, as the last question; its account is bound last.
    """
    parts = [_select(*question, "{}") for question in asked]
    if head:
        parts.append("SELECT seq, hash FROM journal WHERE account_id = {} ORDER BY seq DESC LIMIT 1")
    whole = " UNION ALL ".join(f"SELECT {number}, to_json(t) FROM ({part}) t" for number, part in enumerate(parts))  # noqa: S608
    return whole.format(*(f"${number + 1}" for number in range(whole.count("{}"))))


def _select(table: str, equal: tuple[str, ...], empty: tuple[str, ...], mark: str) -> str:
    found = TABLES[table]
    tests = [f"{found.columns[name].name} = {mark}" for name in equal]
    tests += [f"{found.columns[name].name} IS NULL" for name in empty]
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    return f"SELECT {', '.join(columns(table))} FROM {table}{where}"  # noqa: S608  (only names of columns)


def _insert_rows(table: str, rows: int, numbers: "itertools.count[int]") -> str:
    names = columns(table)
    bound = (f"({', '.join(f'${next(numbers)}' for _ in names)})" for _ in range(rows))
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES {', '.join(bound)}"  # noqa: S608  (only names)
