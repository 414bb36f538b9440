"""Write what the market answers as the documents of its API."""

from dayzero.market.holdings import Holdings, Receipt
from dayzero.market.licence import Offer
from dayzero.market.offers import Offered, Price


def offered(found: Offered) -> dict[str, object]:
    """Write a package that is on offer."""
    return {"name": found.name, "title": found.title, "prices": [_price(price) for price in found.prices]}


def _price(price: Price) -> dict[str, object]:
    return {
        "id": price.id,
        "name": price.name,
        "version": price.version or None,
        "maintenance_days": price.maintenance_days or None,
        "amount_minor": price.amount_minor,
        "currency": price.currency,
        "signature_required": bool(price.terms_id),
        "terms": price.terms_id or None,
    }


def terms(offer: Offer) -> dict[str, object]:
    """Write terms with what is affirmed."""
    return {
        "schema": "dayzero/market-terms/v1",
        "id": offer.terms["id"],
        "title": offer.terms["title"],
        "text": offer.terms["body"],
        "sha256": offer.terms["sha256"],
        "affirmations": [
            {"kind": row["kind"], "text": row["body"], "sha256": row["sha256"]} for row in offer.affirmations
        ],
    }


def account(held: Holdings) -> dict[str, object]:
    """Write what an account has."""
    return {
        "schema": "dayzero/market-account/v1",
        "name": held.name,
        "credit": [{"currency": currency, "amount_minor": amount} for currency, amount in held.credit],
        "rights": [
            {
                "package": right.package,
                "version": right.version,
                "entitlement": right.allowed.entitlement["id"],
                "maintenance": right.allowed.subscription_id or None,
                "signature": right.allowed.entitlement["signature_id"],
                "notices": [{"kind": kind, "text": body} for kind, body in right.notices],
            }
            for right in held.rights
        ],
    }


def order(found: Receipt) -> dict[str, object]:
    """Write an order as it stands."""
    placed, of = found.placed, found.placed.order
    return {
        "schema": "dayzero/market-order/v1",
        "id": of.id,
        "price": of.tier_id,
        "package": placed.package,
        "version": placed.version or None,
        "amount_minor": of.amount_minor,
        "currency": of.currency,
        "provider": of.provider,
        "state": of.state,
        "placed_at": placed.at,
        "entitlement": of.entitlement_id or None,
        "maintenance": of.subscription_id or None,
        "signature": found.signed.signature["id"] if found.signed else None,
        "pay_at": found.session_url or None,
    }
