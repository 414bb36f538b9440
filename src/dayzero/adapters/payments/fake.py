"""A provider for demonstrations and tests: it duplicates, reorders, delays, drops and forges what it delivers, from a seed."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from dayzero.adapters.payments.deliveries import HEADER, check, header_for
from dayzero.core.errors import InputError
from dayzero.market.model import Event, EventKind, Order, Session

_WINDOW = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """How often a delivery goes wrong, each from 0 to 1.

    Attributes:
        duplicate: It comes again.
        reorder: It changes places with one of the next few.
        drop: It is lost, and sent again at the end, as a provider does that had no answer.
        delay: Its signature is too old when it comes; it is sent again with a new one.
        forge: One that somebody else made comes first, with the same id and more money.
    """

    duplicate: float = 0.0
    reorder: float = 0.0
    drop: float = 0.0
    delay: float = 0.0
    forge: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One delivery: the body, its headers, and whether the provider itself sent it in time."""

    body: bytes
    headers: Mapping[str, str]
    genuine: bool


@dataclass(slots=True, kw_only=True)
class FakePayments:
    """A provider in memory; it is a ``dayzero.market.ports.PaymentProvider``.

    Attributes:
        secret: What its deliveries are signed with.
        now_s: The clock, in seconds.
        random: Where its faults come from.
        outbox: What it has to say, oldest first: ids of events and their bodies.
        refunds: What it was asked to send back, by idempotency key.
        paid: The payment of each order that somebody paid.
    """

    secret: str
    now_s: Callable[[], int]
    random: Random
    outbox: list[bytes] = field(default_factory=list)
    refunds: dict[str, int] = field(default_factory=dict)
    paid: dict[str, Event] = field(default_factory=dict)
    _back: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the books call it."""
        return "fake"

    def begin(self, order: Order, title: str) -> Session:
        """Open a page that nobody sees; the same one for the same order."""
        return Session(reference=f"fs_{order.id}", url=f"https://pay.invalid/{order.id}?for={title}")

    def pay(self, order_id: str, amount_minor: int, currency: str, *, payment: str = "") -> None:
        """Have somebody pay."""
        named = payment or f"pay_{order_id}"
        self._say("paid", order_id, amount_minor, currency, named)
        self.paid.setdefault(order_id, self._closed("paid", order_id, amount_minor, currency, named))

    def cancel(self, order_id: str, currency: str) -> None:
        """Have the page run out unpaid."""
        self._say("cancelled", order_id, 0, currency, "")

    def give_back(self, order_id: str, amount_minor: int, currency: str) -> None:
        """Send money back from the provider's own pages; deliveries state the total so far."""
        self._back[order_id] = self._back.get(order_id, 0) + amount_minor
        self._say("refunded", order_id, self._back[order_id], currency, f"pay_{order_id}")

    def close(self, order: Order, reference: str) -> Event | None:
        """Say that somebody paid, or close the page."""
        return self.paid.get(order.id) or self._closed("cancelled", order.id, 0, order.currency, reference)

    def refund(self, order: Order, payment: str, amount_minor: int, key: str) -> None:
        """Send money back, once a key."""
        if not payment:
            raise InputError(f"no payment of order {order.id} is known", hint="Wait for its delivery.")
        if key not in self.refunds:
            self.refunds[key] = amount_minor
            self.give_back(order.id, amount_minor, order.currency)

    def read_event(self, body: bytes, headers: Mapping[str, str]) -> Event:
        """Read a delivery, once its signature holds.

        Raises:
            IntegrityError: It is forged, changed, or too old.
        """
        check(body, headers.get(HEADER, ""), self.secret, self.now_s())
        said = json.loads(body)
        kind: EventKind = said["kind"]
        return Event(
            provider=self.name,
            id=str(said["id"]),
            kind=kind,
            order_id=str(said["order"]),
            payment=str(said["payment"]),
            amount_minor=int(said["amount"]),
            currency=str(said["currency"]),
            body=body.decode("utf-8"),
        )

    def deliver(self, faults: Faults) -> Iterator[Delivery]:
        """Deliver what is in the outbox, as badly as asked; every event comes at least once, genuine and in time."""
        waiting, self.outbox = list(self.outbox), []
        for place in range(len(waiting)):
            if self._happens(faults.reorder):
                other = min(place + self.random.randrange(1, _WINDOW), len(waiting) - 1)
                waiting[place], waiting[other] = waiting[other], waiting[place]
        again: list[bytes] = []
        for body in waiting:
            if self._happens(faults.forge):
                yield self._forged(body)
            if self._happens(faults.drop):
                again.append(body)
                continue
            if self._happens(faults.delay):
                again.append(body)
                yield self._signed(body, self.now_s() - 3600, genuine=False)
                continue
            yield self._signed(body, self.now_s())
            if self._happens(faults.duplicate):
                yield self._signed(body, self.now_s())
        yield from (self._signed(body, self.now_s()) for body in again)

    def _say(self, kind: EventKind, order_id: str, amount: int, currency: str, payment: str) -> None:
        event_id = f"ev_{self.random.getrandbits(64):016x}"
        said = {"id": event_id, "kind": kind, "order": order_id, "payment": payment, "amount": amount}
        self.outbox.append(json.dumps({**said, "currency": currency}).encode())

    def _closed(self, kind: EventKind, order_id: str, amount: int, currency: str, payment: str) -> Event:
        return Event(
            provider=self.name,
            id=f"closed_{order_id}",
            kind=kind,
            order_id=order_id,
            payment=payment if kind == "paid" else "",
            amount_minor=amount,
            currency=currency,
            body="{}",
        )

    def _signed(self, body: bytes, at_s: int, *, genuine: bool = True) -> Delivery:
        return Delivery(body=body, headers={HEADER: header_for(body, self.secret, at_s)}, genuine=genuine)

    def _forged(self, body: bytes) -> Delivery:
        said = json.loads(body)
        changed = json.dumps({**said, "amount": said["amount"] + 1_000_000}).encode()
        return Delivery(
            body=changed, headers={HEADER: header_for(changed, "somebody else's", self.now_s())}, genuine=False
        )

    def _happens(self, chance: float) -> bool:
        return self.random.random() < chance
