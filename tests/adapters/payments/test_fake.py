"""However badly deliveries come, the books end where they would have ended had each come once and in turn."""

import itertools
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.market import books

from dayzero.adapters.payments.credit import CreditPayments
from dayzero.adapters.payments.deliveries import HEADER, check, header_for
from dayzero.adapters.payments.fake import FakePayments, Faults
from dayzero.core.errors import InputError, IntegrityError
from dayzero.market.account import open_account
from dayzero.market.audit import audit
from dayzero.market.ledger import balance
from dayzero.market.model import Purchase
from dayzero.market.order import buy, read_order
from dayzero.market.ports import PaymentProvider
from dayzero.market.publish import open_provider
from dayzero.market.settlement import begin_payment, receive

NOW = 1_790_000_000
STORIES = {
    "paid": ("pay",),
    "cancelled": ("cancel",),
    "cancelled, then paid": ("cancel", "pay"),
    "paid and given back": ("pay", "back"),
    "paid and given back in parts": ("pay", "part", "part"),
    "given back in part": ("pay", "part"),
    "paid twice": ("pay", "pay again"),
}
EXPECTED = {
    "paid": ("paid", 0),
    "cancelled": ("void", 0),
    "cancelled, then paid": ("paid", 0),
    "paid and given back": ("refunded", 0),
    "paid and given back in parts": ("refunded", 0),
    "given back in part": ("paid", 0),
    "paid twice": ("paid", books.COMMUNITY),
}


def provider(seed: str) -> FakePayments:
    return FakePayments(secret="s", now_s=lambda: NOW, random=Random(seed))  # noqa: S106, S311  (a test's seed)


def tell(fake: FakePayments, order: str, story: str) -> None:
    half = books.COMMUNITY // 2
    for step in STORIES[story]:
        if step.startswith("pay"):
            fake.pay(order, books.COMMUNITY, "EUR", payment="second" if step == "pay again" else "")
        elif step == "cancel":
            fake.cancel(order, "EUR")
        else:
            fake.give_back(order, books.COMMUNITY if step == "back" else half, "EUR")


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_deliveries_that_are_doubled_swapped_late_lost_and_forged_end_right(place, owner, market, shop):
    open_provider(owner, "fake", "EUR")
    numbers = itertools.count()
    faults = Faults(duplicate=0.4, reorder=0.5, drop=0.3, delay=0.3, forge=0.4)

    @settings(max_examples=25 if place.cluster is None else 8)
    @given(st.integers(0, 2**32), st.lists(st.sampled_from(sorted(STORIES)), min_size=1, max_size=4))
    def every_story_ends_as_it_should(seed, stories) -> None:
        fake, orders = provider(f"{seed} {next(numbers)}"), []  # each has names for its events that no other has
        for story in stories:
            buyer = open_account(market, f"buyer {next(numbers)}")
            order = buy(market, Purchase(account_id=buyer, key="k", tier_id=shop.community, provider="fake"))
            assert begin_payment(market, fake, order, "K3").reference == f"fs_{order.id}"
            tell(fake, order.id, story)
            orders.append((buyer, order.id, story))
        refused = 0
        for delivery in fake.deliver(faults):
            if delivery.genuine:
                receive(market, fake, delivery.body, delivery.headers)
                continue
            refused += 1
            with pytest.raises(IntegrityError):
                receive(market, fake, delivery.body, delivery.headers)
        for buyer, order, story in orders:
            state, credit = EXPECTED[story]
            found = read_order(market, buyer, order)
            assert (found.state, balance(market, buyer, "EUR")) == (state, credit), (story, seed)
            assert bool(found.entitlement_id) == (state in {"paid", "refunded"})
        assert audit(market).findings == ()

    every_story_ends_as_it_should()


def test_the_fake_does_what_it_is_asked_to_do():
    fake = provider("7")
    for n in range(40):
        fake.pay(f"o{n}", 5, "EUR")
    sent = list(fake.outbox)
    came = list(fake.deliver(Faults(duplicate=0.3, reorder=0.5, drop=0.3, delay=0.3, forge=0.3)))
    genuine = [delivery.body for delivery in came if delivery.genuine]
    assert set(genuine) == set(sent)
    assert len(genuine) > len(sent)
    assert list(dict.fromkeys(genuine)) != sent
    assert 10 < sum(not delivery.genuine for delivery in came) < 60
    assert fake.outbox == []


def test_a_signature_holds_for_one_body_one_secret_and_five_minutes():
    header = header_for(b"{}", "s", NOW)
    check(b"{}", header, "s", NOW + 300)
    for body, given_header, secret, now in (
        (b"{ }", header, "s", NOW),
        (b"{}", header, "other", NOW),
        (b"{}", header, "s", NOW + 301),
        (b"{}", "", "s", NOW),
        (b"{}", header.replace("t=1", "t=2"), "s", NOW),
        (b"{}", f"t={NOW}", "s", NOW),
        (b"{}", "t=²,v1=x", "s", NOW),
    ):
        with pytest.raises(IntegrityError):
            check(body, given_header, secret, now)
    assert HEADER


def test_credit_is_a_provider_that_is_asked_for_nothing(market, owner, shop):
    credit: PaymentProvider = CreditPayments()
    books.fund(owner, shop.buyer, books.COMMUNITY)
    order = buy(market, Purchase(account_id=shop.buyer, key="k", tier_id=shop.community, provider=credit.name))
    assert order.state == "paid"
    with pytest.raises(InputError, match="paid from credit"):
        credit.begin(order, "K3")
    with pytest.raises(IntegrityError):
        credit.read_event(b"{}", {})
    credit.refund(order, "", 1, "k")
