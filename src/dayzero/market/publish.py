"""Put something on offer: terms, versions, prices; and take an offer back, which changes nothing for who has bought."""

import re
from dataclasses import dataclass
from typing import Final

from dayzero.core.pins import Sha256
from dayzero.market.affirmation import listed
from dayzero.market.chain import digest
from dayzero.market.errors import RefusedError
from dayzero.market.ledger import ledger_account
from dayzero.market.model import HOUSE, Deed, Row, Values
from dayzero.market.money import check_amount, check_currency
from dayzero.market.ports import Desk, Market
from dayzero.market.rows import known, number, text

_NAME: Final = re.compile("[A-Za-z0-9][A-Za-z0-9._+-]{0,199}")
_CENTURY_DAYS: Final = 36_525


@dataclass(frozen=True, slots=True)
class Affirmation:
    """One thing that a buyer affirms: its kind in a word, and its own text."""

    kind: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Terms of a licence: a title, the exact text, and what is affirmed, each by itself and in this order."""

    title: str
    body: str
    affirmations: tuple[Affirmation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version of a package.

    Attributes:
        product: Name of the package.
        title: One line about the package; it counts with the first version.
        version: The version.
        definition, kit: Digest of the definition and of the kit.
    """

    product: str
    title: str
    version: str
    definition: Sha256
    kit: Sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A price.

    Attributes:
        name: What it is called.
        product: Name of the package.
        version: Which version, ``""`` where maintenance is sold.
        maintenance_days: For how long, 0 where a version is sold.
        amount_minor, currency: The price.
        terms_id: The terms that are signed first, ``""`` for none; above the threshold there have to be some.
    """

    name: str
    product: str
    version: str = ""
    maintenance_days: int = 0
    amount_minor: int
    currency: str
    terms_id: str = ""


def publish_terms(market: Market, terms: Terms) -> str:
    """Publish terms; the same text and affirmations are not published twice.

    Returns:
        Their id.
    """
    if not terms.affirmations or not all(entry.body.strip() and entry.kind.strip() for entry in terms.affirmations):
        raise RefusedError(
            "refused-by-schema", "terms have affirmations, each with a kind and a text", hint="Write at least one."
        )
    return market.books.write(HOUSE, lambda desk: _terms(desk, market, terms))


def set_threshold(market: Market, currency: str, threshold_minor: int) -> str:
    """Say above which price a licence has to be signed, for prices that are published from now on.

    Returns:
        The id of the policy.

    Raises:
        RefusedError: It is no amount of a currency.
    """
    check_amount(threshold_minor, least=0)
    check_currency(currency)
    at, policy = market.now(), market.new_id()
    values: Values = {"id": policy, "currency": currency, "threshold_minor": threshold_minor, "at": at}
    return market.books.write(HOUSE, lambda desk: _one(desk, "policy", at, Row("signature_policy", values)))


def publish_version(market: Market, version: Version) -> str:
    """Publish a version, the first one with its product. Whoever holds live maintenance now has it.

    Returns:
        Its id.

    Raises:
        RefusedError: The version is there already; its bytes never change (``taken``). No page could show such a name.
    """
    for name in (version.product, version.version):
        if not _NAME.fullmatch(name):
            raise RefusedError(
                "refused-by-schema",
                f"{name!r} names no package or version",
                hint="Use letters and digits, and between them . _ + and -.",
            )
    return market.books.write(HOUSE, lambda desk: _version(desk, market, version))


def publish_tier(market: Market, tier: Tier) -> str:
    """Publish a price.

    Returns:
        Its id.

    Raises:
        RefusedError: No such product, version or terms; no threshold is set; the price is above it and no terms are named; it is
            no amount of a currency; maintenance is for less than a day or for more than a century.
    """
    check_amount(tier.amount_minor)
    check_currency(tier.currency)
    if not 0 <= tier.maintenance_days <= _CENTURY_DAYS:
        raise RefusedError(
            "refused-by-schema", f"maintenance runs for 1 to {_CENTURY_DAYS} days", hint="Give days, such as 365."
        )
    return market.books.write(HOUSE, lambda desk: _tier(desk, market, tier))


def open_provider(market: Market, provider: str, currency: str) -> str:
    """Open the clearing account of a payment provider, before which it cannot be paid with.

    Returns:
        Its id.

    Raises:
        RefusedError: It is no currency.
    """
    check_currency(currency)
    return market.books.write(HOUSE, lambda desk: _clearing(desk, market, provider, currency))


def withdraw_tier(market: Market, tier_id: str, reason: str) -> None:
    """Sell at this price no more; what was bought stays.

    Raises:
        RefusedError: There is no such price (``unknown``), or it was withdrawn before (``taken``).
    """
    at = market.now()
    row = Row("tier_withdrawal", {"tier_id": tier_id, "reason": reason, "at": at})

    def work(desk: Desk) -> None:
        known(desk, "price_tier", f"price {tier_id}", id=tier_id)
        if desk.one("tier_withdrawal", tier_id=tier_id) is not None:
            raise RefusedError("taken", "this price was withdrawn before", hint="There is nothing to take back.")
        _one(desk, "tier-withdrawal", at, row)

    market.books.write(HOUSE, work)


def notice(market: Market, version_id: str, kind: str, body: str) -> None:
    """Say something about a version: ``yanked`` (sold no more) or ``claim-retracted`` (a number was taken back).

    Neither touches an entitlement: what was bought can still be downloaded, with the notice beside it.
    """
    at = market.now()
    values = {"id": market.new_id(), "version_id": version_id, "kind": kind, "body": body, "at": at}
    market.books.write(HOUSE, lambda desk: _one(desk, kind, at, Row("version_notice", values)))


def version_of(desk: Desk, product: str, version: str) -> Values:
    """Read a version by the names that people use.

    Raises:
        RefusedError: There is none (``unknown``).
    """
    owner = known(desk, "product", f"product {product!r}", name=product)
    return known(desk, "package_version", f"version {product} {version}", product_id=owner["id"], version=version)


def _one(desk: Desk, kind: str, at: str, row: Row) -> str:
    desk.record(Deed(account=HOUSE, kind=kind, at=at, rows=(row,)))
    return text(row.values, next(iter(row.values)))


def _terms(desk: Desk, market: Market, terms: Terms) -> str:
    sha256, count = digest(terms.body), len(terms.affirmations)
    wanted = [(entry.kind, entry.body) for entry in terms.affirmations]
    for known_terms in desk.every("terms", sha256=sha256):
        asked = desk.every("terms_affirmation", terms_id=known_terms["id"])
        if [(row["kind"], row["body"]) for row in asked] == wanted:
            return text(known_terms, "id")
    at, terms_id = market.now(), market.new_id()
    head: Values = {
        "id": terms_id,
        "title": terms.title,
        "body": terms.body,
        "sha256": sha256,
        "n_affirmations": count,
        "published_at": at,
        "affirmations": listed(digest(entry.body) for entry in terms.affirmations),
    }
    rows = [Row("terms", head)]
    of: Values = {"terms_id": terms_id, "n_affirmations": count}
    for ord_, entry in enumerate(terms.affirmations, start=1):
        said = {"kind": entry.kind, "body": entry.body, "sha256": digest(entry.body)}
        rows.append(Row("terms_affirmation", {**of, "ord": ord_, **said, "affirmations": head["affirmations"]}))
    desk.record(Deed(account=HOUSE, kind="terms", at=at, rows=tuple(rows)))
    return terms_id


def _version(desk: Desk, market: Market, version: Version) -> str:
    at, rows = market.now(), []
    product = desk.one("product", name=version.product)
    if product is None:
        product = {"id": market.new_id(), "name": version.product, "title": version.title, "created_at": at}
        rows.append(Row("product", product))
    elif desk.one("package_version", product_id=product["id"], version=version.version) is not None:
        raise RefusedError(
            "taken",
            f"{version.product} {version.version} is published, and its bytes never change",
            hint="Publish another version.",
        )
    values = {
        "id": market.new_id(),
        "product_id": product["id"],
        "version": version.version,
        "definition_sha256": version.definition.hex,
        "kit_sha256": version.kit.hex,
        "published_at": at,
    }
    rows.append(Row("package_version", values))
    desk.record(Deed(account=HOUSE, kind="version", at=at, rows=tuple(rows)))
    return text(values, "id")


def _tier(desk: Desk, market: Market, tier: Tier) -> str:
    product, policy = known(desk, "product", f"product {tier.product!r}", name=tier.product), _policy(desk, tier)
    version = version_of(desk, tier.product, tier.version)["id"] if tier.version else None
    at = market.now()
    _, opened = ledger_account(desk, market, HOUSE, "revenue", tier.currency, at=at)
    values = {
        "id": market.new_id(),
        "product_id": product["id"],
        "kind": "package" if tier.version else "maintenance",
        "version_id": version,
        "maintenance_days": tier.maintenance_days or None,
        "name": tier.name,
        "amount_minor": tier.amount_minor,
        "currency": tier.currency,
        "policy_id": policy["id"],
        "threshold_minor": policy["threshold_minor"],
        "requires_signature": int(bool(tier.terms_id)),
        "terms_id": tier.terms_id or None,
        "published_at": at,
    }
    desk.record(Deed(account=HOUSE, kind="tier", at=at, rows=(*opened, Row("price_tier", values))))
    return text(values, "id")


def _policy(desk: Desk, tier: Tier) -> Values:
    """Read the threshold that holds now, and hold the price to it."""
    if bool(tier.version) == bool(tier.maintenance_days):
        raise RefusedError(
            "refused-by-schema", "a price is for a version or for maintenance", hint="Name one of the two."
        )
    policies = desk.every("signature_policy", currency=tier.currency)
    if not policies:
        raise RefusedError(
            "unknown",
            f"no threshold is set for {tier.currency}",
            hint="Say above which price a licence is signed: dayzero market threshold.",
        )
    policy = max(policies, key=lambda row: (text(row, "at"), text(row, "id")))
    if tier.amount_minor > number(policy, "threshold_minor") and not tier.terms_id:
        raise RefusedError(
            "signature-required",
            f"a price above {policy['threshold_minor']} {tier.currency} needs a signed licence",
            hint="Name the terms that are signed.",
        )
    if tier.terms_id:
        known(desk, "terms", f"text of terms {tier.terms_id}", id=tier.terms_id)
    return policy


def _clearing(desk: Desk, market: Market, provider: str, currency: str) -> str:
    at = market.now()
    account, opened = ledger_account(desk, market, HOUSE, "clearing", currency, provider=provider, at=at)
    if opened:
        desk.record(Deed(account=HOUSE, kind="provider", at=at, rows=opened))
    return text(account, "id")
