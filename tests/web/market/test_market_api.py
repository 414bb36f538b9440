"""The API of the market: what programs may do with a token, and deliveries of providers over HTTP."""

import io
import json
import time
import zipfile
from random import Random

import httpx
import pytest
from tests.adapters.payments.test_stripe import PAID
from tests.adapters.payments.test_stripe import delivery as stripe_delivery
from tests.adapters.payments.test_stripe import payments as stripe
from tests.market import books, stall
from tests.web.market.buyer import SAID, Buyer
from tests.web.market.test_buying import fund, rows

from dayzero.adapters.payments.deliveries import HEADER, header_for
from dayzero.adapters.payments.fake import Faults
from dayzero.identity.model import TOKEN_DAYS
from dayzero.market.audit import audit
from dayzero.market.ledger import balance
from dayzero.market.publish import open_provider
from dayzero.web.app import app_of
from dayzero.wiring.storefront import account_id_of

API = "/api/v1/market"


class Program:
    """A program with a token."""

    def __init__(self, buyer: Buyer, token: str) -> None:
        self.buyer, self.token = buyer, token

    def ask(self, method: str, path: str, *, key: str = "", **more: object) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if key:
            headers["Idempotency-Key"] = key
        self.buyer.client.cookies.clear()
        return self.buyer.ask(method, API + path, headers=headers, **more)


@pytest.fixture
def program(buyer) -> Program:
    return Program(buyer, buyer.token("buy"))


def signing(program: Program, terms: str) -> dict[str, object]:
    read = program.ask("GET", f"/terms/{terms}").json()
    return {**SAID, "terms_sha256": read["sha256"], "affirmations": [each["sha256"] for each in read["affirmations"]]}


def test_a_program_reads_signs_buys_and_downloads(owner, program, prices, stand):
    account_id = fund(owner, program.buyer)
    (offered,) = program.ask("GET", "/offers").json()["packages"]
    dear = next(price for price in offered["prices"] if price["signature_required"])
    assert (dear["id"], dear["terms"]) == (prices.enterprise, prices.terms)
    wanted = {"price": dear["id"], "signing": signing(program, dear["terms"])}
    first = program.ask("POST", "/orders", key="k1", json=wanted)
    assert (first.status_code, first.json()["state"]) == (200, "paid")
    assert program.ask("POST", "/orders", key="k1", json=wanted).json() == first.json()
    other = program.ask("POST", "/orders", key="k1", json={"price": prices.community})
    assert (other.status_code, other.json()["type"]) == (422, "urn:dayzero:problem:key-reused")
    assert balance(owner, account_id, "EUR") == 2_000_000 - books.ENTERPRISE
    taken = program.ask("POST", "/downloads", json={"package": stall.PACKAGE, "version": stall.VERSION})
    with zipfile.ZipFile(io.BytesIO(taken.content)) as archive:
        assert archive.testzip() is None
        assert f"{stall.PACKAGE}-{stall.VERSION}/licence.json" in archive.namelist()
    account = program.ask("GET", "/account").json()
    assert account["credit"] == [{"currency": "EUR", "amount_minor": 2_000_000 - books.ENTERPRISE}]
    assert [right["version"] for right in account["rights"]] == [stall.VERSION]
    assert [one["id"] for one in program.ask("GET", "/orders").json()["orders"]] == [first.json()["id"]]
    assert audit(owner).findings == ()


def test_a_problem_is_told_as_programs_read_it(owner, program, prices):
    answer = program.ask("POST", "/orders", key="k", json={"price": prices.community})
    assert answer.status_code == 402
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    said = answer.json()
    assert set(said) == {"type", "title", "status", "detail", "hint"}
    assert (said["type"], said["status"]) == ("urn:dayzero:problem:insufficient-funds", 402)
    fund(owner, program.buyer)
    unsigned = program.ask("POST", "/orders", key="k", json={"price": prices.enterprise})
    assert (unsigned.status_code, unsigned.json()["type"]) == (422, "urn:dayzero:problem:signature-required")
    three = signing(program, prices.terms)
    three["affirmations"] = three["affirmations"][:3]
    partly = program.ask("POST", "/orders", key="k", json={"price": prices.enterprise, "signing": three})
    assert (partly.status_code, partly.json()["type"]) == (422, "urn:dayzero:problem:signature-unfit")
    assert rows(owner, "orders") == rows(owner, "signature") == ()


@pytest.mark.parametrize(
    ("key", "body"),
    [
        ("", {"price": "0" * 32}),
        ("k", {"price": "0"}),
        ("k", {"price": "0" * 32, "more": 1}),
        ("k", {}),
        ("k", []),
        ("k", {"price": "0" * 32, "provider": "nobody"}),
        ("a b", {"price": "0" * 32}),
    ],
)
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_request_that_cannot_be_used_is_refused(program, key, body):
    answer = program.ask("POST", "/orders", key=key, json=body)
    assert answer.status_code in {404, 409, 422}
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.parametrize("text", ["\0", "a\0b", "\ud800", "", "x" * 301])
def test_a_text_that_no_database_keeps_is_refused(program, prices, text):
    wanted = {"price": prices.enterprise, "signing": {**signing(program, prices.terms), "entity": text}}
    body = json.dumps(wanted).encode()  # httpx would not send a lone surrogate
    headers = {"Authorization": f"Bearer {program.token}", "Idempotency-Key": "k", "Content-Type": "application/json"}
    assert program.buyer.ask("POST", f"{API}/orders", content=body, headers=headers).status_code == 422


def test_a_token_does_what_it_was_made_for_until_it_is_taken_back(buyer, clock, prices):
    reads = Program(buyer, buyer.token())
    assert reads.ask("GET", "/account").status_code == 200
    refused = reads.ask("POST", "/orders", key="k", json={"price": prices.community})
    assert refused.status_code == 403
    assert 'scope="buy"' in refused.headers["www-authenticate"]
    buyer.sign_in(buyer.name)
    buyer.get("/account/")
    buyer.send(buyer.form("tokens/revoke"))
    assert "Revoked" in buyer.page
    assert reads.token not in buyer.page
    answer = reads.ask("GET", "/account")
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    for nothing in ("", "dz_", "dz_" + "A" * 43):
        assert Program(buyer, nothing).ask("GET", "/account").status_code == 401
    buyer.sign_in(buyer.name)
    late = Program(buyer, buyer.token())
    clock.turn(days=TOKEN_DAYS)
    assert late.ask("GET", "/account").status_code == 401


def test_a_token_of_another_account_sees_nothing_and_takes_nothing_back(owner, program, browsers, prices):
    fund(owner, program.buyer)
    order = program.ask("POST", "/orders", key="k", json={"price": prices.community}).json()["id"]
    other = browsers()
    other.sign_up()
    other.get("/account/")
    mine = other.forms()[0].fields["form_token"]
    token_id = rows_of_tokens(program)
    stolen = other.ask(
        "POST",
        "/account/tokens/revoke",
        data={"form_token": mine, "id": token_id},
        headers={"Origin": stall.ORIGIN},
    )
    assert stolen.status_code == 404
    stranger = Program(other, other.token("buy"))
    assert stranger.ask("GET", f"/orders/{order}").status_code == 404
    assert stranger.ask("POST", f"/orders/{order}/payment").status_code == 404
    assert stranger.ask("GET", "/orders").json()["orders"] == []
    refused = stranger.ask("POST", "/downloads", json={"package": stall.PACKAGE, "version": stall.VERSION})
    assert refused.status_code == 403
    assert program.ask("GET", f"/orders/{order}").status_code == 200


def rows_of_tokens(program: Program) -> str:
    buyer = program.buyer
    buyer.sign_in(buyer.name)
    buyer.get("/account/")
    return buyer.form("tokens/revoke").fields["id"]


def deliver(buyer: Buyer, body: bytes, headers: dict[str, str], provider: str = "fake") -> httpx.Response:
    return buyer.ask("POST", f"{API}/payments/{provider}/events", content=body, headers=dict(headers))


def test_an_order_through_a_provider_waits_for_the_money_and_is_paid_once(owner, buyer, fake, prices):
    page = buyer.buy(prices.enterprise, provider="fake")
    assert "Waits for the money" in page.text
    assert 'href="https://pay.invalid/' in page.text
    order = str(page.url).rpartition("/")[2]
    assert all(stall.VERSION not in form.action for form in buyer.forms())
    fake.pay(order, books.ENTERPRISE, "EUR")
    effects = []
    for delivery in fake.deliver(Faults(duplicate=1.0, forge=1.0, delay=1.0)):
        answer = deliver(buyer, delivery.body, delivery.headers)
        effects.append((delivery.genuine, answer.status_code, answer.json().get("effect")))
    assert (True, 200, "recorded") in effects
    assert all(status == 400 for genuine, status, _ in effects if not genuine)
    assert any(not genuine for genuine, _, _ in effects)
    paid = buyer.get(f"/account/orders/{order}")
    assert ">Paid<" in paid.text
    assert buyer.send(buyer.form(stall.VERSION)).status_code == 200
    assert audit(owner).findings == ()


def test_deliveries_doubled_swapped_late_and_forged_end_right_through_http(owner, browsers, fake, prices):
    dice, orders = Random(11), {}  # noqa: S311  (a test's)
    for story in ("pay", "cancel", "pay-back", "cancel-pay", "pay-pay"):
        buyer = browsers()
        buyer.sign_up()
        order = str(buyer.buy(prices.community, provider="fake").url).rpartition("/")[2]
        for number, step in enumerate(story.split("-")):
            if step == "pay":
                fake.pay(order, books.COMMUNITY, "EUR", payment=f"p{number}-{order}")
            elif step == "cancel":
                fake.cancel(order, "EUR")
            else:
                body_payment = f"p0-{order}"
                fake._say("refunded", order, books.COMMUNITY, "EUR", body_payment)  # noqa: SLF001  (of this payment)
        orders[story] = (buyer, order)
    fake.random = dice
    for delivery in fake.deliver(Faults(duplicate=0.5, reorder=0.7, drop=0.4, delay=0.4, forge=0.5)):
        answer = deliver(browsers(), delivery.body, delivery.headers)
        assert answer.status_code == (200 if delivery.genuine else 400)
    expected = {"pay": "Paid", "cancel": "Not paid", "pay-back": "Refunded", "cancel-pay": "Paid", "pay-pay": "Paid"}
    for story, (buyer, order) in orders.items():
        assert f">{expected[story]}<" in buyer.get(f"/account/orders/{order}").text, story
    twice = account_id_of(owner, orders["pay-pay"][0].name)
    assert balance(owner, twice, "EUR") == books.COMMUNITY  # the second payment is the buyer's credit
    assert audit(owner).findings == ()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_delivery_that_is_none_changes_nothing(owner, buyer, fake):
    assert deliver(buyer, b"{}", {}).status_code == 400
    assert deliver(buyer, b"\xff", {HEADER: header_for(b"{}", "s", int(time.time()))}).status_code == 400
    assert deliver(buyer, b"{}", {}, "nobody").status_code == 404
    assert rows(owner, "provider_event") == ()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_provider_that_is_not_configured_here_takes_no_order(owner, program, prices):
    answer = program.ask("POST", "/orders", key="k", json={"price": prices.community, "provider": "stripe"})
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:dayzero:problem:not-on-offer")
    assert rows(owner, "orders") == ()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_stripe_is_not_needed_to_place_an_order_and_its_deliveries_pay_it(place, clock, live, owner, prices):
    open_provider(owner, "stripe", "EUR")
    nobody = stripe("http://127.0.0.1:9")  # nothing listens there
    with stall.front_at(place, clock, live, providers={"stripe": nobody}) as front:
        buyer = Buyer(app_of(live, front))
        buyer.sign_up()
        page = buyer.buy(prices.community, provider="stripe")
        assert "could not be reached" in page.text
        assert buyer.send(buyer.form("/pay")).status_code == 503
        order = str(page.url).rpartition("/")[2]
        body, headers = stripe_delivery(PAID, order, books.COMMUNITY)
        forged = {"Stripe-Signature": headers["Stripe-Signature"].replace("v1=", "v1=0")}
        assert deliver(buyer, body, forged, "stripe").status_code == 400
        assert deliver(buyer, body + b" ", headers, "stripe").status_code == 400
        old = stripe_delivery(PAID, order, books.COMMUNITY, at=int(time.time()) - 3600)
        assert deliver(buyer, *old, "stripe").status_code == 400
        assert deliver(buyer, body, headers, "stripe").json()["effect"] == "recorded"
        assert deliver(buyer, body, headers, "stripe").json()["effect"] == "duplicate"
        assert ">Paid<" in buyer.get(f"/account/orders/{order}").text
        buyer.close()
