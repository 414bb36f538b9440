"""A market on each of the two databases, fresh for every test."""

import uuid
from collections.abc import Iterator

import pytest
from tests.market import books
from tests.postgres_fixtures import PostgresCluster


@pytest.fixture(scope="session")
def market_template(postgres_cluster: PostgresCluster) -> str:
    """Make the schema once; each test's database is a copy."""
    name = f"m{uuid.uuid4().hex[:12]}"
    postgres_cluster.sql(f"CREATE DATABASE {name}")
    books.postgres_place(postgres_cluster, name)
    return name


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path) -> Iterator[books.Place]:
    """Give a database with the market's schema and nothing in it."""
    if request.param == "sqlite":
        yield books.sqlite_place(tmp_path)
        return
    cluster, template = request.getfixturevalue("postgres_cluster"), request.getfixturevalue("market_template")
    name = f"m{uuid.uuid4().hex[:12]}"
    cluster.sql(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield books.Place(cluster.url(name, books.APPLICATION), cluster.url(name), cluster, name)
    cluster.sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def clock() -> books.Clock:
    """Give a clock that stands until it is turned."""
    return books.Clock()


@pytest.fixture
def owner(place, clock):
    """Open the market as the operator."""
    with books.market_at(place.owner, clock) as market:
        yield market


@pytest.fixture
def shop(owner):
    """Put the package on offer."""
    return books.stock(owner)


@pytest.fixture
def market(place, clock, shop):
    """Open the market as the application."""
    with books.market_at(place.database, clock) as found:
        yield found
