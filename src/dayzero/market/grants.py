"""What an order that is paid gives, and where an order stands."""

from dayzero.market.model import Order, OrderState, Row, Values
from dayzero.market.ports import Desk, Market
from dayzero.market.rows import known, number, text
from dayzero.market.subscription import period


def grant_rows(desk: Desk, market: Market, order: Values, sale_id: str, at: str) -> tuple[Row, ...]:
    """Write the right to use that a paid order gives: the entitlement to its version, or the maintenance of its product."""
    shared = {
        "id": market.new_id(),
        "order_id": order["id"],
        "account_id": order["account_id"],
        "product_id": order["product_id"],
        "requires_signature": order["requires_signature"],
        "signature_id": order["signature_id"],
        "terms_id": order["terms_id"],
        "transfer_id": sale_id,
    }
    if order["kind"] == "package":
        return (Row("entitlement", {**shared, "version_id": order["version_id"], "granted_at": at}),)
    tier = known(desk, "price_tier", "price", id=order["tier_id"])
    starts, ends = period(
        desk, text(order, "account_id"), text(order, "product_id"), number(tier, "maintenance_days"), at
    )
    return (Row("subscription", {**shared, "kind": "maintenance", "starts_at": starts, "ends_at": ends}),)


def standing(desk: Desk, order: Values, *, replayed: bool) -> Order:
    """Say where an order stands, by what was recorded since."""
    entitlement = desk.one("entitlement", order_id=order["id"])
    subscription = desk.one("subscription", order_id=order["id"])
    return Order(
        id=text(order, "id"),
        account_id=text(order, "account_id"),
        tier_id=text(order, "tier_id"),
        amount_minor=number(order, "amount_minor"),
        currency=text(order, "currency"),
        provider=text(order, "provider"),
        state=_state(desk, order),
        entitlement_id=text(entitlement, "id") if entitlement else "",
        subscription_id=text(subscription, "id") if subscription else "",
        replayed=replayed,
    )


def refunded_so_far(desk: Desk, sale_id: str) -> int:
    """Add up what of a sale went back, in minor units."""
    return sum(number(row, "amount_minor") for row in desk.every("transfer", reverses_id=sale_id))


def _state(desk: Desk, order: Values) -> OrderState:
    sale = desk.one("transfer", order_id=order["id"])
    if sale is None:
        return "void" if desk.one("settlement", order_id=order["id"], outcome="void") else "pending"
    return "refunded" if refunded_so_far(desk, text(sale, "id")) == order["amount_minor"] else "paid"
