"""A market with a catalog beside it: one package of the licensed tier with a signed kit, and prices for it."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

from bench.generated_packages import write_evidence, write_log
from tests.browser.shop import WITH_KIT, Shop, with_kit
from tests.market import books

from dayzero.adapters.market_store.opening import open_register
from dayzero.core.pins import Sha256
from dayzero.evidence.model import Record
from dayzero.identity.ports import Identity
from dayzero.market.account import found_house
from dayzero.market.ports import Market, PaymentProvider
from dayzero.market.publish import (
    Tier,
    Version,
    open_provider,
    publish_terms,
    publish_tier,
    publish_version,
    set_threshold,
)
from dayzero.wiring.catalog_live import LiveCatalog
from dayzero.wiring.storefront import Limits, Storefront

PACKAGE, VERSION = WITH_KIT, "1.0.0"
ORIGIN = "https://shop.test"
PASSWORD = "seven grey herons argue"  # noqa: S105  (a test's)


@dataclass(frozen=True, slots=True)
class Prices:
    """What the package is sold at, and the terms of the dearest."""

    enterprise: str
    community: str
    maintenance: str
    terms: str


def open_stall(folder: Path) -> Shop:
    """Write the package, its release, its evidence and its kit."""
    shop = Shop(folder / "packages", folder / "evidence", folder / "kits")
    filed: list[Record] = []
    raws: list[bytes] = []
    log = [with_kit(shop, filed, raws, tier="licensed")]
    write_evidence(shop.evidence, filed, raws)
    write_log(shop.packages, log)
    return shop


def kit_of(shop: Shop) -> Path:
    """Find the kit."""
    return shop.kits / f"{PACKAGE}-{VERSION}.kit.zip"


def stock(owner: Market, shop: Shop, *, providers: tuple[str, ...] = ("fake",)) -> Prices:
    """Put the package on offer, as the operator."""
    found_house(owner)
    set_threshold(owner, "EUR", books.THRESHOLD)
    terms = publish_terms(owner, books.TERMS)
    definition = Sha256.of((shop.packages / PACKAGE / "package.toml").read_bytes())
    kit = Sha256.of(kit_of(shop).read_bytes())
    publish_version(
        owner, Version(product=PACKAGE, title="Kimi K3, tiny", version=VERSION, definition=definition, kit=kit)
    )
    for provider in providers:
        open_provider(owner, provider, "EUR")
    tier = {"product": PACKAGE, "currency": "EUR"}
    return Prices(
        enterprise=publish_tier(
            owner, Tier(name="enterprise", version=VERSION, amount_minor=books.ENTERPRISE, terms_id=terms, **tier)
        ),
        community=publish_tier(owner, Tier(name="community", version=VERSION, amount_minor=books.COMMUNITY, **tier)),
        maintenance=publish_tier(
            owner, Tier(name="maintenance", maintenance_days=365, amount_minor=books.MAINTENANCE, **tier)
        ),
        terms=terms,
    )


def seconds(clock: books.Clock) -> Callable[[], int]:
    """Read the market's clock as seconds."""
    return lambda: int(clock.at.replace(tzinfo=UTC).timestamp())


@contextmanager
def identity_at(database: str, clock: books.Clock) -> Iterator[Identity]:
    """Open where it is kept who may sign in."""
    register = open_register(database)
    try:
        yield Identity(register=register, now_s=seconds(clock), secret=lambda: secrets.token_urlsafe(32))
    finally:
        register.close()


@contextmanager
def front_at(
    place: books.Place,
    clock: books.Clock,
    live: LiveCatalog,
    *,
    providers: Mapping[str, PaymentProvider] | None = None,
    limits: Limits | None = None,
) -> Iterator[Storefront]:
    """Open the market to buyers, as the application."""
    with books.market_at(place.database, clock, pool_size=10) as market, identity_at(place.database, clock) as identity:
        yield Storefront(
            market=market,
            identity=identity,
            live=live,
            providers=providers or {},
            origin=ORIGIN,
            limits=limits or Limits(),
        )
