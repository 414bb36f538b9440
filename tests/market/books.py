"""A market on a fresh database, SQLite or PostgreSQL, with something on offer."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from tests.postgres_fixtures import PostgresCluster

from dayzero.adapters.market_store.books import SqlBooks
from dayzero.adapters.market_store.opening import make_books, open_books
from dayzero.core.pins import Sha256
from dayzero.market.account import found_house, open_account
from dayzero.market.chain import digest
from dayzero.market.ledger import Grant, grant
from dayzero.market.model import AFFIRMATION_KINDS, Order, Purchase, Signing
from dayzero.market.order import buy
from dayzero.market.ports import Market
from dayzero.market.publish import (
    Affirmation,
    Terms,
    Tier,
    Version,
    open_provider,
    publish_terms,
    publish_tier,
    publish_version,
    set_threshold,
)
from dayzero.wiring.market import new_id

APPLICATION = "market_app"
TERMS = Terms(
    title="Enterprise licence",
    body="The recipe is configuration and documentation.\nThe licensee keeps it to itself.\n",
    affirmations=tuple(Affirmation(kind, f"I affirm what the terms say on {kind}.") for kind in AFFIRMATION_KINDS),
)
ENTERPRISE, COMMUNITY, MAINTENANCE = 900_000, 4_900, 120_000
THRESHOLD = 500_000
_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


@dataclass
class Clock:
    """A clock that stands until it is turned."""

    at: datetime = field(default_factory=lambda: datetime(2026, 8, 1, 12))  # noqa: DTZ001  (the format says UTC)

    def __call__(self) -> str:
        return self.at.strftime(_FORMAT)

    def turn(self, *, days: int = 0, seconds: int = 0) -> None:
        """Let time pass."""
        self.at += timedelta(days=days, seconds=seconds)


@dataclass
class Place:
    """Where a market's books are.

    Attributes:
        database: As the application opens them.
        owner: As the owner opens them.
        cluster: The server, where it is PostgreSQL.
        name: The database's name there.
    """

    database: str
    owner: str
    cluster: PostgresCluster | None = None
    name: str = ""

    @property
    def engine(self) -> str:
        """Which engine it is."""
        return "postgresql" if self.cluster else "sqlite"


def sqlite_place(folder: Path) -> Place:
    """Make the schema in a new file."""
    file = str(folder / "market.db")
    make_books(file)
    return Place(file, file)


def postgres_place(cluster: PostgresCluster, database: str) -> Place:
    """Make the schema in a new database of a server, and the application's role."""
    owner = cluster.url(database)
    make_books(owner, APPLICATION)
    return Place(cluster.url(database, APPLICATION), owner, cluster, database)


@contextmanager
def market_at(database: str, clock: Clock, *, pool_size: int = 5, one_by_one: bool = False) -> Iterator[Market]:
    """Open a market on a database that has the schema."""
    books = open_books(database, pool_size=pool_size, one_by_one=one_by_one)
    try:
        yield Market(books=books, now=clock, new_id=new_id)
    finally:
        books.close()


@dataclass(frozen=True)
class Shop:
    """What is on offer in a market, and one buyer.

    Attributes:
        buyer: An account without credit.
        terms: Id of the terms.
        v1: Id of version 1.
        enterprise, community, maintenance: Ids of the prices: signed, unsigned, and a year of maintenance.
    """

    buyer: str
    terms: str
    v1: str
    enterprise: str
    community: str
    maintenance: str


def sha(text: str) -> Sha256:
    """Make up a digest."""
    return Sha256(digest(text))


def version(number: str) -> Version:
    """Describe a version of the package."""
    return Version(product="kimi-k3", title="K3", version=number, definition=sha(f"d{number}"), kit=sha(f"k{number}"))


def stock(owner: Market) -> Shop:
    """Put the package on offer, as the operator."""
    found_house(owner)
    set_threshold(owner, "EUR", THRESHOLD)
    terms, v1 = publish_terms(owner, TERMS), publish_version(owner, version("1.0.0"))
    tier = {"product": "kimi-k3", "currency": "EUR"}
    open_provider(owner, "stripe", "EUR")
    return Shop(
        buyer=open_account(owner, "acme"),
        terms=terms,
        v1=v1,
        enterprise=publish_tier(
            owner, Tier(name="enterprise", version="1.0.0", amount_minor=ENTERPRISE, terms_id=terms, **tier)
        ),
        community=publish_tier(owner, Tier(name="community", version="1.0.0", amount_minor=COMMUNITY, **tier)),
        maintenance=publish_tier(
            owner, Tier(name="maintenance", maintenance_days=365, amount_minor=MAINTENANCE, **tier)
        ),
    )


def signing(made: int = len(AFFIRMATION_KINDS), **changed: str) -> Signing:
    """Sign the terms as a buyer does, with so many of the affirmations."""
    said = {"entity": "Acme GmbH", "signer": "Ada Byron", "authority": "managing director", **changed}
    return Signing(
        terms_sha256=digest(TERMS.body), affirmations=tuple(digest(a.body) for a in TERMS.affirmations[:made]), **said
    )


def fund(owner: Market, account: str, amount: int, key: str = "fund") -> None:
    """Give an account credit, as the operator."""
    grant(owner, Grant(account_id=account, amount_minor=amount, currency="EUR", key=key, reason="test"))


def purchase(shop: Shop, key: str = "order-1", **changed: object) -> Purchase:
    """Ask for the enterprise licence."""
    asked = {"account_id": shop.buyer, "key": key, "tier_id": shop.enterprise, "signing": signing(), **changed}
    return Purchase(**asked)  # type: ignore[arg-type]


def buy_signed(market: Market, shop: Shop, key: str = "order-1", **changed: object) -> Order:
    """Buy the enterprise licence."""
    return buy(market, purchase(shop, key, **changed))


def raw(books: SqlBooks, statement: str, values: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Ask the database behind books, past the market."""
    with books._engine.connect() as connection:  # noqa: SLF001  (the tests look behind the market)
        return [tuple(row) for row in connection.exec_driver_sql(statement, values)]
