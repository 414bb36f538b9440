"""Money that arrives later: what a provider said of an order, in whatever order and however often, decides what the order is.

Each delivery is kept once. What follows from it is worked out of everything that was said of the order so far, so that a refund
that arrives before its payment, or a payment that arrives twice, ends where it would have ended in its turn.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dayzero.market.errors import RefusedError
from dayzero.market.grants import grant_rows, refunded_so_far, standing
from dayzero.market.ledger import clearing, ledger_account, transfer
from dayzero.market.model import HOUSE, Deed, Event, Order, Row, Session, Values
from dayzero.market.order import sale_row
from dayzero.market.ports import Desk, Market, PaymentProvider
from dayzero.market.refund import payment_of, reversal
from dayzero.market.rows import number, text

Effect: TypeAlias = Literal["recorded", "duplicate", "unmatched", "unapplied"]

_BACK = frozenset({"refunded", "disputed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What a delivery did.

    Attributes:
        event: What was said.
        effect: ``duplicate`` where it was known; ``unmatched`` where no order here is meant, ``unapplied`` where what it says
            cannot be entered: both are kept, and the audit names them.
        order: The order as it stands, where there is one.
    """

    event: Event
    effect: Effect
    order: Order | None


def begin_payment(market: Market, provider: PaymentProvider, order: Order, title: str) -> Session:
    """Open the page on which an order is paid.

    Args:
        market: The market.
        provider: Through which provider.
        order: The order.
        title: What the page calls it.

    Raises:
        RefusedError: The order is not pending, or is to be paid through another provider (``not-on-offer``).
        RemoteError: The provider cannot be reached; asking again opens the same page.
    """
    if order.state != "pending" or order.provider != provider.name:
        raise RefusedError(
            "not-on-offer", f"the order is {order.state}, through {order.provider}", hint="Place an order of its own."
        )
    session = provider.begin(order, title)
    at = market.now()
    values = {"order_id": order.id, "reference": session.reference, "url": session.url, "at": at}

    def work(desk: Desk) -> None:
        if desk.one("payment_session", order_id=order.id) is None:
            deed = Deed(account=order.account_id, kind="session", at=at, rows=(Row("payment_session", values),))
            desk.record(deed)

    market.books.write(order.account_id, work)
    return session


def receive(market: Market, provider: PaymentProvider, body: bytes, headers: Mapping[str, str]) -> Received:
    """Take a delivery in: check its signature, keep it, and do what follows, all in one transaction.

    Answer the provider with success for every one that returns, also for a duplicate; it would come again else.

    Raises:
        IntegrityError: It is forged, changed, or too old; nothing was recorded.
    """
    return enter(market, provider.read_event(body, headers))


def enter(market: Market, event: Event) -> Received:
    """Keep what a provider said, once, and do what follows, all in one transaction."""
    order = market.books.read(lambda desk: _order_meant(desk, event))
    account = text(order, "account_id") if order else HOUSE
    return market.books.write(account, lambda desk: _receive(desk, market, event, order))


def _order_meant(desk: Desk, event: Event) -> Values | None:
    """Find the order that is meant: the one that is named, or the one that the same payment paid."""
    if event.order_id:
        return desk.one("orders", id=event.order_id, provider=event.provider)
    payment = event.regained or event.payment
    if not payment:
        return None
    paid = desk.one("provider_event", provider=event.provider, payment_ref=payment, kind="paid")
    return desk.one("orders", id=paid["order_id"], provider=event.provider) if paid else None


def _receive(desk: Desk, market: Market, event: Event, order: Values | None) -> Received:
    if desk.one("provider_event", provider=event.provider, event_id=event.id) is not None:
        return Received(event=event, effect="duplicate", order=standing(desk, order, replayed=True) if order else None)
    at = market.now()
    kept = Row(
        "provider_event",
        {
            "provider": event.provider,
            "event_id": event.id,
            "kind": event.kind,
            "order_id": order["id"] if order else event.order_id,
            "payment_ref": event.payment,
            "amount_minor": event.amount_minor,
            "currency": event.currency,
            "body": event.body,
            "received_at": at,
        },
    )
    if order is None:
        desk.record(Deed(account=HOUSE, kind="event", at=at, rows=(kept,)))
        return Received(event=event, effect="unmatched", order=None)
    rows = _consequences(desk, market, event, order, at)
    deed = Deed(account=text(order, "account_id"), kind="event", at=at, rows=(kept, *(rows or ())))
    desk.record(deed)
    effect: Effect = "unapplied" if rows is None else "recorded"
    return Received(event=event, effect=effect, order=standing(desk, order, replayed=False))


def _consequences(desk: Desk, market: Market, event: Event, order: Values, at: str) -> tuple[Row, ...] | None:
    """Work out what a new event changes; ``None`` where it says something that the books cannot enter."""
    said = desk.every("provider_event", provider=event.provider, order_id=order["id"])
    sale = desk.one("transfer", order_id=order["id"])
    if event.kind == "paid":
        return _paid(desk, market, event, order, sale, said, at)
    if event.kind == "cancelled":
        void = desk.one("settlement", order_id=order["id"], outcome="void")
        return (_settled(event, order, "void", None, at),) if sale is None and void is None else ()
    if event.kind not in _BACK or sale is None:
        return ()  # where the payment is still on its way, what was said here is read again when it comes
    if (event.payment, event.currency) != (payment_of(desk, text(order, "id")), sale["currency"]):
        return None
    return _back(desk, market, event, sale, _gone(event, sale, said), at, ())


def _paid(  # noqa: PLR0913, PLR0917  (one decision's whole input)
    desk: Desk,
    market: Market,
    event: Event,
    order: Values,
    sale: Values | None,
    said: tuple[Values, ...],
    at: str,
) -> tuple[Row, ...] | None:
    if any(row["kind"] == "paid" and row["payment_ref"] == event.payment for row in said):
        return ()  # another delivery about the same payment
    if event.regained:
        pays = sale is not None and event.regained == payment_of(desk, text(order, "id"))
        return _deposit(desk, market, event, order, at) if pays else None
    if sale is None and (event.amount_minor, event.currency) == (order["amount_minor"], order["currency"]):
        return _post(desk, market, event, order, said, at)
    return _deposit(desk, market, event, order, at)


def _post(  # noqa: PLR0913, PLR0917  (one decision's whole input)
    desk: Desk, market: Market, event: Event, order: Values, said: tuple[Values, ...], at: str
) -> tuple[Row, ...]:
    debit = clearing(desk, event.provider, text(order, "currency"))
    sale = sale_row(desk, market, order, debit, at)
    sale_id = text(sale.values, "id")
    granted = grant_rows(desk, market, order, sale_id, at)
    rows = (sale, _settled(event, order, "post", sale_id, at), *granted)
    return (*rows, *_back(desk, market, event, sale.values, _gone(event, sale.values, said), at, granted))


def _gone(event: Event, sale: Values, said: tuple[Values, ...]) -> int:
    """Add up what went back of a payment: each refund states the total of refunds so far, and a dispute takes from the rest."""
    most = dict.fromkeys(_BACK, 0)
    told = ((row["kind"], row["payment_ref"], row["currency"], number(row, "amount_minor")) for row in said)
    for kind, payment, currency, amount in (*told, (event.kind, event.payment, event.currency, event.amount_minor)):
        if kind in most and (payment, currency) == (event.payment, sale["currency"]):
            most[str(kind)] = max(most[str(kind)], amount)
    return sum(most.values())


def _deposit(desk: Desk, market: Market, event: Event, order: Values, at: str) -> tuple[Row, ...] | None:
    """Keep money that pays no order as the buyer's credit: a second payment, or another amount than the price."""
    account, currency = text(order, "account_id"), event.currency
    if event.amount_minor <= 0:
        return None
    try:
        debit = clearing(desk, event.provider, currency)
    except RefusedError:
        return None
    wallet, opened = ledger_account(desk, market, account, "wallet", currency, at=at)
    moved = transfer(
        market.new_id(),
        "deposit",
        account_id=account,
        debit=debit,
        credit=wallet,
        amount_minor=event.amount_minor,
        idem_key=f"deposit:{event.provider}:{event.id}",
        reason=f"paid beside order {order['id']}",
        at=at,
    )
    return (*opened, moved)


def _back(  # noqa: PLR0913, PLR0917  (one decision's whole input)
    desk: Desk, market: Market, event: Event, sale: Values, total: int, at: str, new: tuple[Row, ...]
) -> tuple[Row, ...]:
    """Enter what went back beyond what is entered already; ``total`` is all that went back so far."""
    missing = min(total, number(sale, "amount_minor")) - refunded_so_far(desk, text(sale, "id"))
    if missing <= 0:
        return ()
    key = f"refund:{event.provider}:{sale['order_id']}:{total}"
    reason = f"{event.provider} says that {total} {sale['currency']} went back"
    return reversal(desk, market, sale, missing, key=key, reason=reason, at=at, new=new)


def _settled(event: Event, order: Values, outcome: str, transfer_id: str | None, at: str) -> Row:
    values = {
        "order_id": order["id"],
        "outcome": outcome,
        "provider": event.provider,
        "event_id": event.id,
        "transfer_id": transfer_id,
        "at": at,
    }
    return Row("settlement", values)
