"""Stripe, through its own library: a checkout page, deliveries whose signature it checks, refunds."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import stripe

from dayzero.core.errors import IntegrityError, RemoteError
from dayzero.market.model import Event, EventKind, Order, Session

_REGAINED = "charge.dispute.funds_reinstated"
_HINT = "Answer 400 and do nothing; Stripe signs what it sends, and sends again what had no answer."


@dataclass(frozen=True, slots=True, kw_only=True)
class StripeAccount:
    """What Stripe knows the market by.

    Attributes:
        api_key: The secret key.
        webhook_secret: The secret of the endpoint that deliveries come to.
        success_url, cancel_url: Where the buyer comes back to.
        api: Where the API is; ``""`` for Stripe's own address.
    """

    api_key: str
    webhook_secret: str
    success_url: str
    cancel_url: str
    api: str = ""


class StripePayments:
    """Stripe as a ``dayzero.market.ports.PaymentProvider``.

    Args:
        account: What Stripe knows the market by.
    """

    def __init__(self, account: StripeAccount) -> None:
        self._account = account
        self._client = stripe.StripeClient(
            account.api_key, base_addresses={"api": account.api} if account.api else {}, max_network_retries=2
        )

    @property
    def name(self) -> str:
        """What the books call it."""
        return "stripe"

    def begin(self, order: Order, title: str) -> Session:
        """Open a checkout page; asked twice for one order, it is the same page.

        Raises:
            RemoteError: Stripe cannot be reached, or does not take it.
        """
        named = {"order_id": order.id}
        try:
            session = self._client.v1.checkout.sessions.create(
                {
                    "mode": "payment",
                    "client_reference_id": order.id,
                    "line_items": [
                        {
                            "quantity": 1,
                            "price_data": {
                                "currency": order.currency.lower(),
                                "unit_amount": order.amount_minor,
                                "product_data": {"name": title},
                            },
                        }
                    ],
                    "metadata": named,
                    "payment_intent_data": {"metadata": named},
                    "success_url": self._account.success_url,
                    "cancel_url": self._account.cancel_url,
                },
                {"idempotency_key": f"checkout-{order.id}"},
            )
        except stripe.StripeError as error:
            raise _remote(error) from error
        return Session(reference=session.id, url=session.url or "")

    def read_event(self, body: bytes, headers: Mapping[str, str]) -> Event:
        """Read a delivery, once the library finds its signature right and not older than five minutes.

        Raises:
            IntegrityError: It is forged, changed, or too old.
        """
        header = next((value for name, value in headers.items() if name.lower() == "stripe-signature"), "")
        try:
            stripe.Webhook.construct_event(body, header, self._account.webhook_secret)
            return _event(json.loads(body), body.decode("utf-8"))
        except stripe.SignatureVerificationError as error:
            raise IntegrityError(f"not a delivery of Stripe: {error.user_message or error}", hint=_HINT) from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise IntegrityError(f"a delivery that is no event: {error}", hint=_HINT) from error

    def close(self, order: Order, reference: str) -> Event | None:
        """Ask what became of a checkout page, and let it expire where it is still open.

        Raises:
            RemoteError: Stripe cannot be reached, or does not do it.
        """
        sessions = self._client.v1.checkout.sessions
        try:
            session = sessions.retrieve(reference)
            if session.status == "open":
                session = sessions.expire(reference, options={"idempotency_key": f"expire-{order.id}"})
        except stripe.StripeError as error:
            raise _remote(error) from error
        said = {**session.to_dict(), "client_reference_id": order.id}
        if said.get("status") == "expired":
            type_ = "checkout.session.expired"
        elif said.get("payment_status") == "paid":
            type_ = "checkout.session.async_payment_succeeded"
        else:
            return None
        answer = {"id": f"closed_{reference}", "type": type_, "data": {"object": said}}
        return _event(answer, json.dumps(answer, sort_keys=True))

    def refund(self, order: Order, payment: str, amount_minor: int, key: str) -> None:
        """Send money back; asked twice with one key, it goes once.

        Raises:
            RemoteError: Stripe cannot be reached, or does not take it.
        """
        try:
            self._client.v1.refunds.create(
                {"payment_intent": payment, "amount": amount_minor, "metadata": {"order_id": order.id}},
                {"idempotency_key": f"refund-{key}"},
            )
        except stripe.StripeError as error:
            raise _remote(error) from error


def _event(said: Mapping[str, object], body: str) -> Event:
    type_, thing = str(said["type"]), _mapping(_mapping(said["data"])["object"])
    kind, regained = _kind(type_, thing), type_ == _REGAINED
    amount = "amount" if regained else {"refunded": "amount_refunded", "disputed": "amount"}.get(kind, "amount_total")
    named = _mapping(thing.get("metadata") or {})
    return Event(
        provider="stripe",
        id=str(said["id"]),
        kind=kind,
        order_id=str(thing.get("client_reference_id") or named.get("order_id") or ""),
        payment=str(thing.get("id" if regained else "payment_intent") or ""),
        regained=str(thing.get("payment_intent") or "") if regained else "",
        amount_minor=int(str(thing.get(amount) or 0)),
        currency=str(thing.get("currency") or "").upper(),
        body=body,
    )


def _kind(type_: str, thing: Mapping[str, object]) -> EventKind:
    match type_:
        case "checkout.session.completed":
            return (
                "paid" if thing.get("payment_status") == "paid" else "other"
            )  # the money of a bank transfer comes later
        case "checkout.session.async_payment_succeeded" | "charge.dispute.funds_reinstated":
            return "paid"
        case "checkout.session.expired" | "checkout.session.async_payment_failed":
            return "cancelled"
        case "charge.refunded":
            return "refunded"
        case "charge.dispute.funds_withdrawn":
            return "disputed"
        case _:
            return "other"


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError("an object was expected")
    return value


def _remote(error: stripe.StripeError) -> RemoteError:
    return RemoteError(
        f"Stripe does not do it: {error.user_message or error}", hint="Ask again: the key stays the same."
    )
