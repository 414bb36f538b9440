"""What an account has: its orders, its rights, its downloads and its credit, as its owner looks at them."""

from collections.abc import Iterator
from dataclasses import dataclass

from dayzero.market.entitlement import access_at
from dayzero.market.grants import standing
from dayzero.market.licence import read_terms
from dayzero.market.model import Allowed, Order, Values
from dayzero.market.offers import credits_of
from dayzero.market.ports import Desk, Market
from dayzero.market.rows import known, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """An order, with what it was for.

    Attributes:
        order: The order as it stands.
        package: Name of the package.
        version: Which version, ``""`` for maintenance.
        price: What the price is called.
        at: When it was placed.
    """

    order: Order
    package: str
    version: str
    price: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Affirmed:
    """One affirmation that was made: its kind, its text, and the digest that the signature refers to."""

    kind: str
    body: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A licence that was signed.

    Attributes:
        signature: The row of the signature.
        title: What the terms are called.
        body: Their exact text.
        affirmations: What was affirmed.
    """

    signature: Values
    title: str
    body: str
    affirmations: tuple[Affirmed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """All that the books have about one order.

    Attributes:
        placed: The order.
        signed: The licence that was signed with it.
        transfers: What money moved, in turn.
        revoked: Why the right ended, ``""`` where it did not.
        maintenance: From when until when, where maintenance was bought.
        session_url: The provider's page on which it is paid, ``""`` where none was opened.
    """

    placed: Placed
    signed: Signed | None
    transfers: tuple[Values, ...]
    revoked: str
    maintenance: tuple[str, str]
    session_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """A version that may be downloaded now.

    Attributes:
        package, version: Which.
        allowed: What that rests on.
        notices: What was said about the version since: each a kind and a text.
    """

    package: str
    version: str
    allowed: Allowed
    notices: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloaded:
    """A download that was recorded."""

    id: str
    package: str
    version: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """What an account has.

    Attributes:
        name: The account's name.
        credit: What it has to spend, in minor units by currency.
        orders: Its orders, newest first.
        rights: What it may download, by package, newest version first.
        downloads: What it downloaded, newest first.
    """

    name: str
    credit: tuple[tuple[str, int], ...]
    orders: tuple[Placed, ...]
    rights: tuple[Right, ...]
    downloads: tuple[Downloaded, ...]


def holdings(market: Market, account_id: str) -> Holdings:
    """Read what an account has.

    Raises:
        RefusedError: There is no such account (``unknown``).
    """
    return market.books.read(lambda desk: _holdings(desk, account_id))


def receipt(market: Market, account_id: str, order_id: str) -> Receipt:
    """Read all that the books have about one order of an account.

    Raises:
        RefusedError: The account has no such order (``unknown``).
    """
    return market.books.read(lambda desk: _receipt(desk, account_id, order_id))


def _holdings(desk: Desk, account_id: str) -> Holdings:
    account = known(desk, "account", "such account", id=account_id)
    placed = [_placed(desk, row) for row in desk.every("orders", account_id=account_id)]
    downloads = [_downloaded(desk, row) for row in desk.every("download", account_id=account_id)]
    held = {text(row, "product_id") for row in desk.every("entitlement", account_id=account_id)}
    rights = [right for product in held for right in _rights(desk, account_id, product)]
    return Holdings(
        name=text(account, "name"),
        credit=credits_of(desk, account_id),
        orders=tuple(sorted(placed, key=lambda one: (one.at, one.order.id), reverse=True)),
        rights=tuple(sorted(rights, key=lambda one: one.package)),
        downloads=tuple(sorted(downloads, key=lambda one: (one.at, one.id), reverse=True)),
    )


def _rights(desk: Desk, account_id: str, product_id: str) -> Iterator[Right]:
    """Give what may be downloaded of one product, the newest version first."""
    product = known(desk, "product", "such package", id=product_id)
    versions = desk.every("package_version", product_id=product_id)
    for version in sorted(versions, key=lambda row: text(row, "published_at"), reverse=True):
        found = access_at(desk, account_id, version)
        if isinstance(found, Allowed):
            said = desk.every("version_notice", version_id=version["id"])
            yield Right(
                package=text(product, "name"),
                version=text(version, "version"),
                allowed=found,
                notices=tuple((text(row, "kind"), text(row, "body")) for row in said),
            )


def _placed(desk: Desk, row: Values) -> Placed:
    product = known(desk, "product", "such package", id=row["product_id"])
    tier = known(desk, "price_tier", "such price", id=row["tier_id"])
    version = desk.one("package_version", id=row["version_id"]) if row["version_id"] else None
    return Placed(
        order=standing(desk, row, replayed=False),
        package=text(product, "name"),
        version=text(version, "version") if version is not None else "",
        price=text(tier, "name"),
        at=text(row, "placed_at"),
    )


def _downloaded(desk: Desk, row: Values) -> Downloaded:
    product = known(desk, "product", "such package", id=row["product_id"])
    version = known(desk, "package_version", "such version", id=row["version_id"])
    return Downloaded(
        id=text(row, "id"), package=text(product, "name"), version=text(version, "version"), at=text(row, "at")
    )


def _receipt(desk: Desk, account_id: str, order_id: str) -> Receipt:
    row = known(desk, "orders", "such order of this account", id=order_id, account_id=account_id)
    sale = desk.one("transfer", order_id=order_id)
    back = desk.every("transfer", reverses_id=sale["id"]) if sale is not None else ()
    session = desk.one("payment_session", order_id=order_id)
    subscription = desk.one("subscription", order_id=order_id)
    return Receipt(
        placed=_placed(desk, row),
        signed=_signed(desk, row) if row["signature_id"] else None,
        transfers=(*((sale,) if sale is not None else ()), *back),
        revoked=_revoked(desk, order_id),
        maintenance=(text(subscription, "starts_at"), text(subscription, "ends_at")) if subscription else ("", ""),
        session_url=text(session, "url") if session is not None else "",
    )


def _signed(desk: Desk, order: Values) -> Signed:
    signature = known(desk, "signature", "such signature", id=order["signature_id"])
    offer = read_terms(desk, text(signature, "terms_id"))
    made = (
        Affirmed(kind=text(row, "kind"), body=text(row, "body"), sha256=text(row, "sha256"))
        for row in offer.affirmations
    )
    return Signed(
        signature=signature, title=text(offer.terms, "title"), body=text(offer.terms, "body"), affirmations=tuple(made)
    )


def _revoked(desk: Desk, order_id: str) -> str:
    for table, column in (("entitlement", "entitlement_id"), ("subscription", "subscription_id")):
        right = desk.one(table, order_id=order_id)
        revocation = desk.one("revocation", **{column: right["id"]}) if right is not None else None
        if revocation is not None:
            return text(revocation, "reason")
    return ""
