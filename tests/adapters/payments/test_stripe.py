"""Stripe, offline: deliveries are signed here as Stripe signs them and read by its library; its API is a server on loopback."""

import json
import time

import pytest
from stripe import WebhookSignature
from tests.market import books

from dayzero.adapters.payments.stripe import StripeAccount, StripePayments
from dayzero.core.errors import IntegrityError, RemoteError
from dayzero.market.audit import audit
from dayzero.market.entitlement import access
from dayzero.market.errors import RefusedError
from dayzero.market.ledger import balance
from dayzero.market.model import Allowed, Order
from dayzero.market.order import read_order
from dayzero.market.refund import Refund, refund
from dayzero.market.settlement import begin_payment, receive

SECRET = "whsec_test"  # noqa: S105  (it opens nothing)
PRICE = books.ENTERPRISE


def payments(api: str = "") -> StripePayments:
    pages = {"success_url": "https://m.invalid/ok", "cancel_url": "https://m.invalid/no"}
    return StripePayments(StripeAccount(api_key="sk_test", webhook_secret=SECRET, api=api, **pages))


def delivery(kind: str, order: str, amount: int = PRICE, *, event: str = "", at: int | None = None, **more: object):
    """Make a delivery as Stripe signs it: body and headers."""
    thing = {"object": "thing", "currency": "eur", "payment_intent": "pi_1", "metadata": {"order_id": order}, **more}
    if kind.startswith("checkout"):
        thing |= {
            "client_reference_id": order,
            "amount_total": amount,
            "payment_status": more.get("payment_status", "paid"),
        }
    elif kind == "charge.refunded":
        thing |= {"amount": PRICE, "amount_refunded": amount}
    else:
        thing |= {"amount": amount}
    said = {"id": event or f"evt_{kind}_{amount}", "object": "event", "type": kind, "data": {"object": thing}}
    body = json.dumps(said)
    header = WebhookSignature.generate_signature_header(body, SECRET, timestamp=at)
    return body.encode(), {"Stripe-Signature": header}


PAID = "checkout.session.completed"


@pytest.fixture
def order(market, shop) -> Order:
    return books.buy_signed(market, shop, provider="stripe")


def held(market, shop) -> bool:
    return isinstance(access(market, shop.buyer, "kimi-k3", "1.0.0"), Allowed)


def test_a_right_exists_only_once_the_money_is_there(market, shop, order):
    assert (order.state, order.entitlement_id, held(market, shop)) == ("pending", "", False)
    got = receive(market, payments(), *delivery(PAID, order.id))
    assert (got.effect, got.order.state, held(market, shop)) == ("recorded", "paid", True)
    again = receive(market, payments(), *delivery(PAID, order.id))
    assert (again.effect, again.order.state) == ("duplicate", "paid")
    assert audit(market).findings == ()


def test_a_bank_transfer_that_is_promised_is_not_there_yet(market, shop, order):
    promised = delivery(PAID, order.id, event="e1", payment_status="unpaid")
    assert receive(market, payments(), *promised).order.state == "pending"
    assert not held(market, shop)
    came = delivery("checkout.session.async_payment_succeeded", order.id, event="e2")
    assert receive(market, payments(), *came).order.state == "paid"
    late = delivery(PAID, order.id, event="e3")  # the same payment, spoken of once more
    assert receive(market, payments(), *late).order.state == "paid"
    assert market.books.read(lambda desk: len(desk.every("transfer"))) == 1


@pytest.mark.parametrize(
    ("kinds", "state"),
    [
        (("expired",), "void"),
        (("expired", "paid"), "paid"),
        (("paid", "expired"), "paid"),
        (("refunded", "paid"), "refunded"),
        (("paid", "refunded"), "refunded"),
        (("half", "paid", "refunded"), "refunded"),
        (("refunded", "half", "paid"), "refunded"),
        (("half", "paid"), "paid"),
        (("disputed", "paid", "paid"), "refunded"),
    ],
)
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_the_order_of_deliveries_does_not_matter(market, shop, order, kinds, state):
    made = {
        "paid": delivery(PAID, order.id),
        "expired": delivery("checkout.session.expired", order.id, payment_intent=None),
        "refunded": delivery("charge.refunded", order.id, PRICE),
        "half": delivery("charge.refunded", order.id, PRICE // 2),
        "disputed": delivery("charge.dispute.funds_withdrawn", order.id, PRICE),
    }
    for kind in kinds:
        got = receive(market, payments(), *made[kind])
    assert got.order.state == state
    assert held(market, shop) == (state == "paid")
    assert audit(market).findings == ()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_dispute_that_names_no_order_is_matched_by_its_payment(market, shop, order):
    receive(market, payments(), *delivery(PAID, order.id))
    dispute = delivery("charge.dispute.funds_withdrawn", order.id, metadata={})
    assert receive(market, payments(), *dispute).order.state == "refunded"
    assert not held(market, shop)


TAKEN, WON = "charge.dispute.funds_withdrawn", "charge.dispute.funds_reinstated"


@pytest.mark.parametrize("first", ["refund", "dispute", "payment last"])
def test_a_dispute_takes_what_a_refund_left(market, shop, order, first):
    came = [
        delivery(PAID, order.id),
        delivery("charge.refunded", order.id, PRICE // 3),
        delivery(TAKEN, order.id, PRICE - PRICE // 3),
    ]
    if first != "refund":
        came[1], came[2] = came[2], came[1]
    if first == "payment last":
        came.append(came.pop(0))
    states = [receive(market, payments(), *each).order.state for each in came]
    assert states[-1] == "refunded"
    assert not held(market, shop)
    assert audit(market).findings == ()


@pytest.mark.parametrize("kind", ["charge.refunded", TAKEN])
@pytest.mark.parametrize("early", [True, False])
def test_money_that_went_back_in_another_currency_is_left_to_a_person(market, shop, order, kind, early):
    came = [delivery(PAID, order.id), delivery(kind, order.id, PRICE, currency="jpy")]
    effects = [receive(market, payments(), *each).effect for each in (reversed(came) if early else came)]
    assert effects == (["recorded", "recorded"] if early else ["recorded", "unapplied"])
    assert (read_order(market, shop.buyer, order.id).state, held(market, shop)) == ("paid", True)
    (found,) = audit(market).findings
    assert (found.kind, found.reason) == ("provider", "money went back in another currency than was paid")


def test_an_amount_that_no_column_holds_is_refused_for_good(market, order):
    with pytest.raises(RefusedError) as refused:
        receive(market, payments(), *delivery(PAID, order.id, 10**30))
    assert refused.value.code == "refused-by-schema"
    assert market.books.read(lambda desk: desk.every("provider_event")) == ()


@pytest.mark.parametrize("early", [True, False])
def test_money_of_a_dispute_that_was_won_is_credit(market, shop, order, early):
    receive(market, payments(), *delivery(PAID, order.id))
    won = delivery(WON, "", id="dp_1", metadata={})
    came = [delivery(TAKEN, "", id="dp_1", metadata={}), won]
    for each in reversed(came) if early else came:
        assert receive(market, payments(), *each).effect == "recorded"
    assert receive(market, payments(), *won).effect == "duplicate"
    receive(market, payments(), *delivery(WON, "", event="told again", id="dp_1", metadata={}))
    assert (read_order(market, shop.buyer, order.id).state, held(market, shop)) == ("refunded", False)
    assert balance(market, shop.buyer, "EUR") == PRICE
    assert books.buy_signed(market, shop, "once more").state == "paid"
    assert held(market, shop)
    assert audit(market).findings == ()


def test_money_of_a_dispute_about_what_pays_no_order_is_not_given_twice(market, shop, order):
    """Money beside an order was credit at once, and a dispute about it took none of that back."""
    receive(market, payments(), *delivery(PAID, order.id, PRICE - 1))
    receive(market, payments(), *delivery(TAKEN, "", PRICE - 1, id="dp_1", metadata={}))
    assert receive(market, payments(), *delivery(WON, "", PRICE - 1, id="dp_1", metadata={})).effect == "unapplied"
    assert receive(market, payments(), *delivery(WON, "", PRICE, id="dp_2", metadata={})).effect == "unapplied"
    assert (balance(market, shop.buyer, "EUR"), held(market, shop)) == (PRICE - 1, False)
    assert {finding.kind for finding in audit(market).findings} == {"provider"}


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_what_stripe_did_not_sign_is_not_read(market, order):
    body, headers = delivery(PAID, order.id)
    old, old_headers = delivery(PAID, order.id, at=int(time.time()) - 301)
    changed = body.replace(b"eur", b"usd")
    for bad, given in (
        (changed, headers),
        (body, {}),
        (body, {"Stripe-Signature": "t=1,v1=abc"}),
        (body, {"Stripe-Signature": "nonsense"}),
        (old, old_headers),
        (b"\xff\xfe", headers),
    ):
        with pytest.raises(IntegrityError):
            receive(market, payments(), bad, given)
    assert market.books.read(lambda desk: desk.every("provider_event")) == ()
    assert receive(market, payments(), body, {k.lower(): v for k, v in headers.items()}).order.state == "paid"


@pytest.mark.parametrize("content", ["[]", "{}", '{"id": "e", "object": "event", "type": "x", "data": []}', "nonsense"])
def test_a_signed_delivery_that_is_no_event_is_refused(content):
    header = WebhookSignature.generate_signature_header(content, SECRET)
    with pytest.raises(IntegrityError):
        payments().read_event(content.encode(), {"Stripe-Signature": header})


def test_money_that_does_not_fit_is_credit_and_money_for_nobody_is_named(market, shop, order):
    less = receive(market, payments(), *delivery(PAID, order.id, PRICE - 1, payment_intent="pi_less"))
    assert (less.order.state, held(market, shop)) == ("pending", False)
    receive(market, payments(), *delivery(PAID, order.id))
    twice = receive(market, payments(), *delivery(PAID, order.id, event="again", payment_intent="pi_2"))
    assert twice.order.state == "paid"
    balances = market.books.read(lambda desk: [row["amount_minor"] for row in desk.every("balance")])
    assert balances == [2 * PRICE - 1]
    assert audit(market).findings == ()
    assert receive(market, payments(), *delivery(PAID, "an order of another shop", event="x")).effect == "unmatched"
    assert [finding.kind for finding in audit(market).findings] == ["provider"]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_the_page_is_opened_once_and_a_refund_goes_once(market, owner, shop, order, stripe_api):
    address, handler = stripe_api
    stripe = payments(address)
    session = begin_payment(market, stripe, order, "K3 enterprise")
    assert session == begin_payment(market, stripe, order, "K3 enterprise")
    path, key, asked = handler.asked[0]
    assert (path, key) == ("/v1/checkout/sessions", f"checkout-{order.id}")
    assert asked["line_items[0][price_data][unit_amount]"] == [str(PRICE)]
    assert asked["payment_intent_data[metadata][order_id]"] == [order.id]
    receive(market, payments(), *delivery(PAID, order.id))
    handler.fails.append(400)
    wanted = Refund(order_id=order.id, key="r1", reason="asked")
    with pytest.raises(RemoteError, match="No such customer"):
        refund(owner, wanted, stripe)
    assert refund(owner, wanted, stripe).state == "refunded"
    path, key, asked = handler.asked[-1]
    assert (path, key, asked["payment_intent"], asked["amount"]) == ("/v1/refunds", "refund-r1", ["pi_1"], [str(PRICE)])
    receive(market, payments(), *delivery("charge.refunded", order.id, PRICE))
    assert read_order(market, shop.buyer, order.id).state == "refunded"
    assert market.books.read(lambda desk: len(desk.every("transfer", kind="refund"))) == 1
    assert audit(market).findings == ()
