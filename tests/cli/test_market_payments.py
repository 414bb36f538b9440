"""Payments through Stripe by command: refunded where they were paid, and swept where nobody finished them."""

import pytest
from tests.adapters.payments.test_stripe import PAID, delivery, payments
from tests.market import books

from dayzero.cli.main import run
from dayzero.market.audit import audit
from dayzero.market.order import read_order
from dayzero.market.settlement import begin_payment, receive

PAYMENT = {"payment_intent": "pi_1", "amount_total": books.ENTERPRISE}


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys, stripe_api):
    """Type commands beside a market with an order that waits for Stripe."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAYZERO_MARKET", "market.db")
    monkeypatch.setenv("STRIPE_API_KEY", "sk_test")
    monkeypatch.setenv("STRIPE_API_BASE", stripe_api[0])

    def type_(line: str, code: int = 0) -> str:
        capsys.readouterr()
        assert run(["market", *line.split()]) == code
        said = capsys.readouterr()
        return (said.out or said.err).strip()

    return type_


@pytest.fixture
def opened(typed, clock, stripe_api):
    """Place an order, open its page, and give the market, the shop and the order."""
    assert typed("init").startswith("the books have schema")
    with books.market_at("market.db", clock) as market:
        shop = books.stock(market)
        order = books.buy_signed(market, shop, provider="stripe")
        begin_payment(market, payments(stripe_api[0]), order, "K3")
        stripe_api[1].asked.clear()
        yield typed, market, shop, order


def test_a_refund_asks_stripe_once_and_again_where_it_failed(opened, stripe_api):
    typed, market, _, order = opened
    receive(market, payments(), *delivery(PAID, order.id))
    stripe_api[1].fails.append(400)
    assert "No such customer" in typed(f"refund {order.id} --key r1 --why asked", 3)
    assert typed(f"refund {order.id} --key r1 --why asked") == f"order {order.id} is refunded"
    path, key, asked = stripe_api[1].asked[-1]
    assert (path, key, asked["payment_intent"]) == ("/v1/refunds", "refund-r1", ["pi_1"])
    assert market.books.read(lambda desk: len(desk.every("transfer", kind="refund"))) == 1
    assert audit(market).findings == ()


def test_a_refund_without_the_key_records_nothing(opened, monkeypatch):
    typed, market, _, order = opened
    receive(market, payments(), *delivery(PAID, order.id))
    monkeypatch.delenv("STRIPE_API_KEY")
    assert typed(f"refund {order.id} --key r1 --why asked", 2).startswith("error: the key of Stripe is not set\nhint: ")
    assert market.books.read(lambda desk: desk.every("transfer", kind="refund")) == ()


@pytest.mark.parametrize(
    ("page", "outcome", "state"),
    [
        ({"status": "open", "payment_status": "unpaid"}, "void", "void"),
        ({"status": "expired", "payment_status": "unpaid"}, "void", "void"),
        ({"status": "complete", "payment_status": "unpaid"}, "waiting", "pending"),
        ({"status": "complete", "payment_status": "paid", **PAYMENT}, "paid", "paid"),
    ],
)  # fmt: skip
def test_a_payment_that_was_not_finished_is_asked_about_and_entered_once(opened, stripe_api, page, outcome, state):
    typed, market, shop, order = opened
    stripe_api[1].page.clear()
    stripe_api[1].page.update(page)
    assert typed("sweep stripe --hours 24").splitlines()[0] == f"order {order.id} is {outcome}"
    closed = [path for path, _, _ in stripe_api[1].asked if path.endswith("/expire")]
    assert closed == (["/v1/checkout/sessions/cs_1/expire"] if page["status"] == "open" else [])
    assert read_order(market, shop.buyer, order.id).state == state
    entries = market.books.read(lambda desk: len(desk.every("journal")))
    again = typed("sweep stripe")
    assert (f"order {order.id} is waiting" in again) == (state == "pending")
    assert market.books.read(lambda desk: len(desk.every("journal"))) == entries
    if state != "pending":
        receive(market, payments(), *delivery(PAID, order.id))  # the delivery that was lost comes after all
        assert read_order(market, shop.buyer, order.id).state == "paid"
    assert audit(market).findings == ()


def test_what_was_begun_a_moment_ago_is_left_and_a_provider_that_fails_is_named(opened, stripe_api):
    typed, market, _, order = opened
    assert (
        typed(f"sweep stripe --hours {10**5}") == f"0 payments were begun more than {10**5} hours ago and not finished"
    )
    assert stripe_api[1].asked == []
    stripe_api[1].fails.append(400)
    assert (
        typed("sweep stripe --hours 1", 3).splitlines()[0]
        == f"order {order.id} is unanswered: Stripe does not do it: No such customer"
    )
    assert market.books.read(lambda desk: desk.every("settlement")) == ()
    assert typed("sweep paypal", 2).startswith("error: no provider 'paypal' is known")
