"""What is on offer, as a buyer looks at it: packages, their versions, their prices, and the terms that a price asks for."""

from dataclasses import dataclass

from dayzero.market.errors import RefusedError
from dayzero.market.licence import Offer, read_terms
from dayzero.market.model import HOUSE, Values
from dayzero.market.ports import Desk, Market
from dayzero.market.rows import known, number, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """A price that something is sold at now.

    Attributes:
        id: Its id.
        name: What it is called.
        version: Which version, ``""`` where maintenance is sold.
        maintenance_days: For how long, 0 where a version is sold.
        amount_minor, currency: How much.
        terms_id: The terms that are signed first, ``""`` for none.
    """

    id: str
    name: str
    version: str
    maintenance_days: int
    amount_minor: int
    currency: str
    terms_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A package that is on offer.

    Attributes:
        name: Its name.
        title: One line about it.
        prices: What it is sold at now: versions by when they were published, the newest first, then maintenance.
    """

    name: str
    title: str
    prices: tuple[Price, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deal:
    """One price with all that a buyer has to see before buying.

    Attributes:
        package: What it is a price of.
        price: The price.
        offer: The terms with what is affirmed, ``None`` where nothing is signed.
        providers: The payment providers that are open for the currency.
        credit_minor: What the buyer's account has to spend in the currency.
    """

    package: Offered
    price: Price
    offer: Offer | None
    providers: tuple[str, ...]
    credit_minor: int


def offers(market: Market) -> tuple[Offered, ...]:
    """List every package that something is sold of, by name."""
    return market.books.read(lambda desk: tuple(found for found in _every(desk) if found.prices))


def offers_of(market: Market, package: str) -> Offered:
    """Read what a package is sold at; it may be nothing any more.

    Raises:
        RefusedError: No such package was ever on offer (``unknown``).
    """

    def work(desk: Desk) -> Offered:
        return _offered(desk, known(desk, "product", f"package {package!r} on offer", name=package))

    return market.books.read(work)


def deal(market: Market, account_id: str, tier_id: str) -> Deal:
    """Read a price with all that a buyer has to see before buying.

    Raises:
        RefusedError: There is no such price (``unknown``), or it is not on offer any more (``not-on-offer``).
    """
    return market.books.read(lambda desk: _deal(desk, account_id, tier_id))


def terms_text(market: Market, terms_id: str) -> Offer:
    """Read terms with what is affirmed under them.

    Raises:
        RefusedError: There are none of this id (``unknown``).
    """
    return market.books.read(lambda desk: read_terms(desk, terms_id))


def credits_of(desk: Desk, account_id: str) -> tuple[tuple[str, int], ...]:
    """Read what an account has to spend, in minor units by currency."""
    wallets = desk.every("ledger_account", owner_id=account_id, kind="wallet")
    kept = ((text(row, "currency"), desk.one("balance", ledger_account_id=row["id"])) for row in wallets)
    return tuple(sorted((currency, number(row, "amount_minor")) for currency, row in kept if row is not None))


def _every(desk: Desk) -> list[Offered]:
    products = sorted(desk.every("product"), key=lambda row: text(row, "name"))
    return [_offered(desk, row) for row in products]


def _offered(desk: Desk, product: Values) -> Offered:
    versions = {text(row, "id"): row for row in desk.every("package_version", product_id=product["id"])}
    tiers = [row for row in desk.every("price_tier", product_id=product["id"]) if _sold(desk, row)]
    tiers.sort(key=lambda row: (_since(versions, row), -number(row, "amount_minor")), reverse=True)
    prices = tuple(_price(versions, row) for row in tiers)
    return Offered(name=text(product, "name"), title=text(product, "title"), prices=prices)


def _since(versions: dict[str, Values], tier: Values) -> str:
    version = versions.get(text(tier, "version_id"))
    return f"{version['published_at']} {version['version']}" if version is not None else ""


def _sold(desk: Desk, tier: Values) -> bool:
    if desk.one("tier_withdrawal", tier_id=tier["id"]) is not None:
        return False
    version = tier["version_id"]
    return version is None or desk.one("version_notice", version_id=version, kind="yanked") is None


def _price(versions: dict[str, Values], tier: Values) -> Price:
    version = versions.get(text(tier, "version_id"))
    return Price(
        id=text(tier, "id"),
        name=text(tier, "name"),
        version=text(version, "version") if version is not None else "",
        maintenance_days=number(tier, "maintenance_days"),
        amount_minor=number(tier, "amount_minor"),
        currency=text(tier, "currency"),
        terms_id=text(tier, "terms_id"),
    )


def _deal(desk: Desk, account_id: str, tier_id: str) -> Deal:
    tier = known(desk, "price_tier", "such price", id=tier_id)
    package = _offered(desk, known(desk, "product", "such package", id=tier["product_id"]))
    price = next((price for price in package.prices if price.id == tier_id), None)
    if price is None:
        raise RefusedError("not-on-offer", "this price is no longer on offer", hint="See what is on offer now.")
    open_for = desk.every("ledger_account", owner_id=HOUSE, kind="clearing", currency=price.currency)
    return Deal(
        package=package,
        price=price,
        offer=read_terms(desk, price.terms_id) if price.terms_id else None,
        providers=tuple(sorted(text(row, "provider") for row in open_for)),
        credit_minor=dict(credits_of(desk, account_id)).get(price.currency, 0),
    )
