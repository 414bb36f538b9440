import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.engine import Engine
from tests.adapters.search.samples import ALL
from tests.postgres_fixtures import PostgresCluster

from dayzero.adapters.search.index import SqlSearchIndex
from dayzero.adapters.store.engine import open_engine

DATABASES = ("sqlite", "postgresql")


@pytest.fixture
def sqlite_engine(tmp_path: Path) -> Iterator[Engine]:
    engine = open_engine(tmp_path / "search.db")
    yield engine
    engine.dispose()


@pytest.fixture
def postgres_engine(postgres_cluster: PostgresCluster, postgres_database: str) -> Iterator[Engine]:
    engine = open_engine(postgres_cluster.url(postgres_database))
    yield engine
    engine.dispose()


@pytest.fixture(params=DATABASES)
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.getfixturevalue("sqlite_engine" if request.param == "sqlite" else "postgres_engine")
    return found


@pytest.fixture
def both(sqlite_engine: Engine, postgres_engine: Engine) -> tuple[Engine, Engine]:
    return sqlite_engine, postgres_engine


@pytest.fixture(scope="module", params=DATABASES)
def standing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlSearchIndex]:
    """An index that is filled once and only asked."""
    database: str | Path = tmp_path_factory.mktemp("search") / "search.db"
    if request.param == "postgresql":
        cluster: PostgresCluster = request.getfixturevalue("postgres_cluster")
        name = f"t{uuid.uuid4().hex[:12]}"
        cluster.sql(f"CREATE DATABASE {name}")
        database = cluster.url(name)
    engine = open_engine(database)
    index = SqlSearchIndex(engine)
    index.replace(ALL, "one")
    yield index
    engine.dispose()
