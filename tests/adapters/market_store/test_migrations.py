"""The migrations make what the tables say, once, on both databases, and a database without them is not used."""

from importlib.resources import files

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from tests.market import books

from dayzero.adapters.market_store.migrate import check_migrated, config_for, migrate
from dayzero.adapters.market_store.opening import make_books, open_books
from dayzero.adapters.market_store.schema import statements
from dayzero.adapters.market_store.tables import METADATA
from dayzero.adapters.store.engine import open_engine
from dayzero.core.errors import InputError, RemoteError

SQLITE = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'alembic%' AND name NOT LIKE 'sqlite_%'"
POSTGRES = (
    "SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
    "SELECT 'function', proname, pg_get_functiondef(oid) FROM pg_proc WHERE starts_with(proname, 'market')",
    "SELECT 'rule', conname, conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text <> 'alembic_version'",
    "SELECT 'column', table_name || '.' || column_name, data_type || is_nullable || coalesce(column_default, '') FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> 'alembic_version'",
    "SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'alembic_version'",
)


def schema_of(engine) -> set[tuple[str, ...]]:
    queries = (SQLITE,) if engine.dialect.name == "sqlite" else POSTGRES
    with engine.connect() as connection:
        found = {tuple(row) for query in queries for row in connection.exec_driver_sql(query)}
    return {(kind, name, " ".join(str(text).split())) for kind, name, text in found}


def test_the_migrations_make_what_the_tables_and_triggers_say(place, tmp_path, request):
    if place.cluster:
        other = open_engine(place.cluster.url(request.getfixturevalue("postgres_database")))
    else:
        other = open_engine(tmp_path / "made.db")
    with other.begin() as connection:
        for statement in statements(other.dialect.name):
            connection.exec_driver_sql(statement)
    migrated = open_engine(place.owner)
    assert schema_of(migrated) == schema_of(other)
    assert len(schema_of(other)) > 100
    with migrated.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    migrated.dispose()
    other.dispose()


def test_migrating_again_changes_nothing(place):
    engine = open_engine(place.owner)
    before = schema_of(engine)
    assert migrate(engine) == "0005"
    assert schema_of(engine) == before
    check_migrated(engine)
    engine.dispose()


def test_a_migration_that_fails_leaves_nothing_behind(tmp_path):
    engine = open_engine(tmp_path / "a.db")
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE transfer (id TEXT)")  # in the way of the migration
    with pytest.raises(RemoteError, match="does not do it: table transfer already exists"):
        migrate(engine)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars().all() == ["transfer"]
    engine.dispose()


def test_a_server_that_is_not_there_or_a_role_that_may_not_is_said_in_one_line(
    postgres_cluster, postgres_database, tmp_path
):
    with pytest.raises(RemoteError, match="cannot be opened: ") as gone:
        make_books(f"postgresql://nobody@/market?host={tmp_path}")
    assert "\n" not in gone.value.message
    postgres_cluster.sql("CREATE ROLE keeper LOGIN")
    postgres_cluster.sql(f"ALTER DATABASE {postgres_database} OWNER TO keeper")
    with pytest.raises(RemoteError, match="does not do it: permission denied to create role") as refused:
        make_books(postgres_cluster.url(postgres_database, "keeper"), "another_app")
    assert "Nothing was changed" in refused.value.hint
    with pytest.raises(InputError, match="no market is there"):
        open_books(postgres_cluster.url(postgres_database, "keeper"))
    assert make_books(postgres_cluster.url(postgres_database, "keeper")) == "0005"


def test_history_is_not_migrated_back(place):
    engine = open_engine(place.owner)
    with pytest.raises(NotImplementedError, match="only appended"), engine.begin() as connection:
        command.downgrade(config_for(connection), "base")
    engine.dispose()


def test_books_without_the_schema_are_not_opened(tmp_path):
    with pytest.raises(InputError, match="no market is there") as refused:
        open_books(tmp_path / "empty.db")
    assert "dayzero market init" in refused.value.hint


def test_the_files_of_the_migrations_travel_with_the_package():
    folder = files("dayzero.adapters.market_store.migrations")
    names = {entry.name for entry in folder.joinpath("versions").iterdir()}
    for name in ("v0001_market", "v0002_sign_in", "v0003_one_signature", "v0004_one_reference", "v0005_ways_past"):
        assert {f"{name}.py", f"{name}.sqlite.sql", f"{name}.postgresql.sql"} <= names
    assert folder.joinpath("env.py").is_file()
    assert make_books is books.make_books
