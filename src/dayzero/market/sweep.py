"""End the payments that were begun and never finished: the provider is asked, and what it answers is entered like a delivery."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from dayzero.core.errors import RemoteError
from dayzero.market.grants import standing
from dayzero.market.model import Order
from dayzero.market.ports import Desk, Market, PaymentProvider
from dayzero.market.rows import known, text
from dayzero.market.settlement import enter

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"

Outcome: TypeAlias = Literal["void", "paid", "waiting", "unanswered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What became of a payment that was begun long ago.

    Attributes:
        order_id: Of which order.
        outcome: ``void`` where nobody paid, ``paid`` where the delivery about it was lost, ``waiting`` where the money is on its
            way or is not the price, ``unanswered`` where the provider did not say.
        why: What the provider said instead, where it did not answer.
    """

    order_id: str
    outcome: Outcome
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Begun:
    order: Order
    reference: str


def sweep(market: Market, provider: PaymentProvider, hours: int) -> tuple[Swept, ...]:
    """Ask about every payment that was begun that long ago and is neither paid nor void. Sweeping again finds only what is left.

    Args:
        market: The market.
        provider: Whose payments.
        hours: How long a buyer has, from when the page was opened.
    """
    before = (datetime.strptime(market.now(), _FORMAT) - timedelta(hours=hours)).strftime(_FORMAT)  # noqa: DTZ007  (naive on both sides: the text says UTC)
    begun = market.books.read(lambda desk: _begun(desk, provider.name, before))
    return tuple(_ask(market, provider, each) for each in begun)


def _begun(desk: Desk, provider: str, before: str) -> tuple[_Begun, ...]:
    settled = {row["order_id"] for row in desk.every("settlement", provider=provider)}
    waiting = [row["order_id"] for row in desk.every("payment", provider=provider) if row["order_id"] not in settled]
    found = []
    for order_id in waiting:
        session = desk.one("payment_session", order_id=order_id)
        if session is not None and text(session, "at") <= before:
            order = standing(desk, known(desk, "orders", f"order {order_id}", id=order_id), replayed=True)
            found.append(_Begun(order, text(session, "reference")))
    return tuple(found)


def _ask(market: Market, provider: PaymentProvider, begun: _Begun) -> Swept:
    try:
        event = provider.close(begun.order, begun.reference)
    except RemoteError as error:
        return Swept(order_id=begun.order.id, outcome="unanswered", why=error.message)
    entered = enter(market, event).order if event is not None else None
    match entered.state if entered is not None else "pending":
        case "pending":
            return Swept(order_id=begun.order.id, outcome="waiting")
        case "void":
            return Swept(order_id=begun.order.id, outcome="void")
        case _:
            return Swept(order_id=begun.order.id, outcome="paid")
