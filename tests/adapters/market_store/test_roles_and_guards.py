"""What holds when somebody comes past the application: another program on the file, the application's role, an old pragma."""

import sqlite3

import pytest
import sqlalchemy
from tests.market import books

from dayzero.adapters.market_store.guard import guard
from dayzero.adapters.market_store.statements import columns
from dayzero.adapters.market_store.tables import APPEND_ONLY, TABLES
from dayzero.adapters.store.engine import open_engine
from dayzero.core.errors import InputError, RemoteError


@pytest.fixture
def sold(place, owner, shop, market):
    """Have one licence sold."""
    books.fund(owner, shop.buyer, 2_000_000)
    books.buy_signed(market, shop)
    return place


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_sqlite_replaces_no_row_even_with_the_defaults_that_let_it(sold):
    plain = sqlite3.connect(sold.database, isolation_level=None)
    assert plain.execute("PRAGMA recursive_triggers").fetchone() == (0,)
    assert plain.execute("PRAGMA foreign_keys").fetchone() == (0,)
    tried = 0
    for table in APPEND_ONLY:
        names = ", ".join(column.name for column in TABLES[table].columns if column.computed is None)
        found = plain.execute(f"SELECT {names} FROM {table} LIMIT 1").fetchone()
        if found is None:
            continue
        tried += 1
        with pytest.raises(sqlite3.IntegrityError, match=r"append-only|the database says when"):  # of another second
            plain.execute(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({', '.join('?' * len(found))})", found)
    kept = plain.execute("SELECT * FROM balance").fetchone()
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        plain.execute("INSERT OR REPLACE INTO balance VALUES (?, ?)", (kept[0], kept[1] + 1))
    plain.close()
    assert tried >= 12


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE balance SET amount_minor = 10000000",
        "INSERT INTO balance VALUES ('x', 5)",
        "DELETE FROM journal",
        "DROP TABLE journal",
        "DROP TRIGGER journal_not_deleted",
        "CREATE TABLE mine (id)",
        "ALTER TABLE journal RENAME TO gone",
        "PRAGMA foreign_keys = OFF",
        "PRAGMA recursive_triggers = OFF",
        "PRAGMA writable_schema = ON",
        "ATTACH DATABASE ':memory:' AS other",
        "UPDATE sqlite_master SET sql = ''",
        "CREATE TEMP TRIGGER t BEFORE INSERT ON transfer BEGIN SELECT 1; END",
    ],
)
def test_the_applications_connection_to_sqlite_can_only_read_and_append(tmp_path, statement):
    engine = open_engine(books.sqlite_place(tmp_path).database)
    guard(engine)
    with (
        pytest.raises(sqlalchemy.exc.DatabaseError, match=r"not authorized|prohibited|may not be modified"),
        engine.begin() as connection,
    ):
        connection.exec_driver_sql(statement)
    engine.dispose()


def another(table: str, **changed: str) -> str:
    """Add a row like one that is there, which nothing but the missing right refuses."""
    given, names = {"id": "mine", **changed}, columns(table)
    values = (f"'{given[name]}'" if name in given else name for name in names)
    return f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)} FROM {table} LIMIT 1"


APPLICATION_MUST_NOT = (
    "UPDATE balance SET amount_minor = 10000000",
    "INSERT INTO balance VALUES ('x', 5)",
    "TRUNCATE journal",
    "ALTER TABLE journal DISABLE TRIGGER ALL",
    "DROP TRIGGER journal_append_only ON journal",
    "SET session_replication_role = replica",
    "SET ROLE postgres",
    "CREATE TABLE mine (id text)",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "ALTER FUNCTION market_append_only() RENAME TO gone",
    "INSERT INTO journal (account_id, seq, kind, body, prev_hash, hash, recorded_at) VALUES ('a', 1, 'k', '{}', '', repeat('0', 64), 'then')",
    another("price_tier"),
    another("terms"),
    another("package_version", version="mine"),
    "INSERT INTO block VALUES (1, NULL, '{}', '', repeat('0', 64))",
    "INSERT INTO ledger_account SELECT 'x', 'house', 'clearing', 'mine', 'EUR', ''",
    "INSERT INTO transfer SELECT 'mint', kind, account_id, order_id, reverses_id, debit_id, debit_kind, debit_owner, credit_id, credit_kind, credit_owner, amount_minor, currency, 'mint', reason, at FROM transfer WHERE kind = 'grant'",
)


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_the_applications_role_of_postgres_cannot_mint_change_or_forget(sold):
    engine, accepted = open_engine(sold.database), []
    for statement in APPLICATION_MUST_NOT:
        try:
            with engine.begin() as connection:
                connection.exec_driver_sql(statement)
            accepted.append(statement)
        except sqlalchemy.exc.DBAPIError as error:
            said = str(error.orig)
            assert any(word in said for word in ("permission denied", "must be owner", "row-level security")), said
    engine.dispose()
    assert accepted == []


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_function_that_runs_as_the_owner_looks_nowhere_else_for_its_tables(sold):
    engine = open_engine(sold.owner)
    with engine.connect() as connection:
        found = connection.exec_driver_sql(
            "SELECT proname, array_to_string(proconfig, ',') FROM pg_proc WHERE prosecdef AND starts_with(proname, 'market')"
        )
        settings = dict(tuple(row) for row in found)
    engine.dispose()
    assert set(settings) == {"market_money_came", "market_move_balance", "market_open_balance", "market_refund_fits"}
    assert set(settings.values()) == {"search_path=pg_catalog, public, pg_temp"}


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
@pytest.mark.parametrize("role", ["Robert'); DROP TABLE account;--", "postgres"])
def test_an_unfit_role_is_not_made_the_applications(place, role):
    with pytest.raises(InputError, match=r"cannot name a role|is the role of this connection"):
        books.make_books(place.owner, role)


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_what_is_the_owners_is_said_to_be_the_owners(place, shop, clock):
    place.cluster.sql("DO $$ BEGIN CREATE ROLE chief SUPERUSER; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    with pytest.raises(InputError, match="may change history"):
        books.make_books(place.owner, "chief")
    with books.market_at(place.database, clock) as application:
        for do in (lambda: books.fund(application, shop.buyer, 5), lambda: books.set_threshold(application, "EUR", 5)):
            with pytest.raises(RemoteError, match="this role may not do it") as refused:
                do()
            assert "Use the owner's role" in refused.value.hint


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_sqlite_is_given_no_roles(place):
    with pytest.raises(InputError, match="SQLite has no roles"):
        books.make_books(place.owner, "market_app")


def test_every_table_is_read_by_name_and_kept_by_a_trigger(place):
    engine = open_engine(place.owner)
    query = (
        "SELECT tgrelid::regclass::text, count(*) FROM pg_trigger WHERE NOT tgisinternal GROUP BY 1"
        if place.cluster
        else "SELECT tbl_name, count(*) FROM sqlite_master WHERE type = 'trigger' GROUP BY 1"
    )
    with engine.connect() as connection:
        kept = dict(tuple(row) for row in connection.exec_driver_sql(query))
    engine.dispose()
    assert set(kept) == set(TABLES)
