"""Give money back by a transfer the other way, and revoke the right that it bought; or revoke without money."""

from dataclasses import dataclass

from dayzero.market.errors import RefusedError
from dayzero.market.grants import refunded_so_far, standing
from dayzero.market.ledger import key_reused, transfer
from dayzero.market.model import CREDIT, Deed, Order, Row, Values
from dayzero.market.ports import Desk, Market, PaymentProvider
from dayzero.market.rows import known, number, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Refund:
    """A refund that the operator asks for.

    Attributes:
        order_id: Of which order.
        key: Idempotency key.
        reason: Why; it stands in the books.
        amount_minor: How much; 0 for all that has not gone back yet. Only when all of it is back the right to use ends.
    """

    order_id: str
    key: str
    reason: str
    amount_minor: int = 0


def refund(market: Market, wanted: Refund, provider: PaymentProvider | None = None) -> Order:
    """Refund an order, into the wallet or the way that it came.

    The books come first. Where the provider then cannot be reached, asking again with the same key sends the money, and records
    nothing twice.

    Args:
        market: The market.
        wanted: What to refund.
        provider: The provider that the order was paid through; none for credit.

    Returns:
        The order as it stands.

    Raises:
        RefusedError: No such order; it is not paid; more than what is left of it; another provider is needed; the key was used
            for another refund.
        RemoteError: The provider did not take it; ask again with the same key.
    """
    order = market.books.read(lambda desk: known(desk, "orders", f"order {wanted.order_id}", id=wanted.order_id))
    if order["provider"] not in {CREDIT, provider.name if provider else CREDIT}:
        raise RefusedError(
            "not-refundable", f"the order was paid through {order['provider']}", hint="Refund it through that provider."
        )
    done = market.books.write(text(order, "account_id"), lambda desk: _refund(desk, market, order, wanted))
    if provider is not None and order["provider"] != CREDIT:
        payment = market.books.read(lambda desk: payment_of(desk, wanted.order_id))
        provider.refund(done.order, payment, done.amount_minor, wanted.key)
    return done.order


def provider_of(market: Market, order_id: str) -> str:
    """Say through which provider an order was to be paid.

    Raises:
        RefusedError: There is no such order (``unknown``).
    """
    return text(market.books.read(lambda desk: known(desk, "orders", f"order {order_id}", id=order_id)), "provider")


def revoke(market: Market, entitlement_id: str, reason: str, note: str) -> None:
    """Take back the right to a version without giving money back.

    Args:
        market: The market.
        entitlement_id: Which right.
        reason: ``breach``, ``chargeback`` or ``mistake``.
        note: What happened; it stands in the books.

    Raises:
        RefusedError: There is no such right (``unknown``), or it was revoked before (``taken``).
    """
    held = market.books.read(
        lambda desk: known(desk, "entitlement", f"entitlement {entitlement_id}", id=entitlement_id)
    )
    market.books.write(text(held, "account_id"), lambda desk: _revoke(desk, market, held, reason, note))


@dataclass(frozen=True, slots=True)
class _Done:
    order: Order
    amount_minor: int


def _refund(desk: Desk, market: Market, order: Values, wanted: Refund) -> _Done:
    key = f"refund:{wanted.key}"
    before = desk.one("transfer", idem_key=key)
    sale = desk.one("transfer", order_id=order["id"])
    if before is not None:
        if (
            sale is None
            or before["reverses_id"] != sale["id"]
            or wanted.amount_minor not in {0, before["amount_minor"]}
        ):
            raise key_reused(wanted.key)
        return _Done(standing(desk, order, replayed=True), number(before, "amount_minor"))
    if sale is None:
        raise RefusedError("not-refundable", "the order is not paid", hint="There is nothing to give back.")
    left = number(sale, "amount_minor") - refunded_so_far(desk, text(sale, "id"))
    amount = wanted.amount_minor or left
    if not 0 < amount <= left:
        raise RefusedError(
            "not-refundable",
            f"{left} {sale['currency']} of the order are left to refund",
            hint="Refund no more than that.",
        )
    at = market.now()
    rows = reversal(desk, market, sale, amount, key=key, reason=wanted.reason, at=at)
    desk.record(Deed(account=text(order, "account_id"), kind="refund", at=at, rows=rows))
    return _Done(standing(desk, order, replayed=False), amount)


def reversal(  # noqa: PLR0913  (each column that it fills)
    desk: Desk, market: Market, sale: Values, amount: int, *, key: str, reason: str, at: str, new: tuple[Row, ...] = ()
) -> tuple[Row, ...]:
    """Write a transfer back, and the revocation where with it all of the sale is back.

    Args:
        desk: The transaction.
        market: The market.
        sale: The row of the sale.
        amount: How much goes back.
        key: Idempotency key of the transfer.
        reason: Why.
        at: When.
        new: Rows that the same deed appends before these.
    """
    back = transfer(
        market.new_id(),
        "refund",
        account_id=text(sale, "account_id"),
        debit=_side(sale, "credit"),
        credit=_side(sale, "debit"),
        amount_minor=amount,
        reverses_id=text(sale, "id"),
        idem_key=key,
        reason=reason,
        at=at,
    )
    if refunded_so_far(desk, text(sale, "id")) + amount < number(sale, "amount_minor"):
        return (back,)
    return (back, *_revocations(desk, market, sale, text(back.values, "id"), reason, at, new))


def payment_of(desk: Desk, order_id: str) -> str:
    """Give the provider's name for the payment that paid an order."""
    posted = desk.one("settlement", order_id=order_id, outcome="post")
    if posted is None:
        return ""
    event = known(desk, "provider_event", "event", provider=posted["provider"], event_id=posted["event_id"])
    return text(event, "payment_ref")


def revocation(  # noqa: PLR0913  (each column that it fills)
    market: Market, held: Values, table: str, *, reason: str, note: str, at: str, refund_id: str | None = None
) -> Row:
    """Write that a right ends."""
    return Row(
        "revocation",
        {
            "id": market.new_id(),
            "account_id": held["account_id"],
            "entitlement_id": held["id"] if table == "entitlement" else None,
            "subscription_id": held["id"] if table == "subscription" else None,
            "reason": reason,
            "note": note,
            "sale_id": held["transfer_id"],
            "refund_id": refund_id,
            "at": at,
        },
    )


def _revocations(  # noqa: PLR0913, PLR0917  (each column that it fills)
    desk: Desk, market: Market, sale: Values, refund_id: str, reason: str, at: str, new: tuple[Row, ...]
) -> tuple[Row, ...]:
    held = [(row.table, row.values) for row in new if row.table in {"entitlement", "subscription"}]
    for table in ("entitlement", "subscription"):
        held += [(table, row) for row in desk.every(table, order_id=sale["order_id"])]
    return tuple(
        revocation(market, row, table, reason="refund", note=reason, at=at, refund_id=refund_id)
        for table, row in held
        if desk.one("revocation", **{f"{table}_id": row["id"]}) is None
    )


def _revoke(desk: Desk, market: Market, held: Values, reason: str, note: str) -> None:
    if desk.one("revocation", entitlement_id=held["id"]) is not None:
        raise RefusedError("taken", "this right was revoked before", hint="There is nothing to take back.")
    at = market.now()
    row = revocation(market, held, "entitlement", reason=reason, note=note, at=at)
    desk.record(Deed(account=text(held, "account_id"), kind="revocation", at=at, rows=(row,)))


def _side(sale: Values, side: str) -> Values:
    return {
        "id": sale[f"{side}_id"],
        "kind": sale[f"{side}_kind"],
        "owner_id": sale[f"{side}_owner"],
        "currency": sale["currency"],
    }
