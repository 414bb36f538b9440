"""Both databases open through one door, and SQLite has the settings that the refusals rest on."""

import sqlite3
import sys
from pathlib import Path

import pytest
from tests.postgres_fixtures import PostgresCluster

from dayzero.adapters.store.engine import open_engine
from dayzero.core.errors import InputError


def test_sqlite_enforces_foreign_keys_and_hears_of_replaced_rows(tmp_path: Path) -> None:
    engine = open_engine(tmp_path / "a.db")
    with engine.begin() as connection:
        for pragma in ("foreign_keys", "recursive_triggers"):
            assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() == 1
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    engine.dispose()


def test_a_transaction_of_sqlite_holds_the_write_lock_from_its_beginning(tmp_path: Path) -> None:
    first, second = open_engine(tmp_path / "a.db"), sqlite3.connect(tmp_path / "a.db", timeout=0, isolation_level=None)
    with first.begin(), pytest.raises(sqlite3.OperationalError, match="locked"):
        second.execute("BEGIN IMMEDIATE")
    with first.begin():
        pass
    second.execute("BEGIN IMMEDIATE")
    second.close()
    first.dispose()


def test_postgres_opens_through_psycopg(postgres_cluster: PostgresCluster, postgres_database: str) -> None:
    engine = open_engine(postgres_cluster.url(postgres_database))
    with engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT current_database()").scalar() == postgres_database
    engine.dispose()


@pytest.mark.parametrize("database", ["mysql://u@h/d", "postgresql://u:secret@h:port/d", "nonsense://"])
def test_another_kind_of_database_is_refused_without_printing_its_password(database: str) -> None:
    with pytest.raises(InputError, match="cannot use the database"):
        open_engine(database)


def test_postgresql_without_its_driver_is_said_with_what_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match="driver is not installed") as refused:
        open_engine("postgresql://owner@db.example/market")
    assert "dayzero[postgres]" in refused.value.hint
