"""A purchase is a signature, the money and the right to use, or nothing; asked again with one key, it is the same one."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rfc8785 import dumps
from tests.market import books

from dayzero.market.account import open_account
from dayzero.market.audit import audit
from dayzero.market.chain import canonical, digest
from dayzero.market.errors import RefusedError
from dayzero.market.ledger import Grant, balance, grant
from dayzero.market.model import Purchase, Signing
from dayzero.market.order import buy, read_order
from dayzero.market.publish import Tier, notice, publish_tier, withdraw_tier
from dayzero.market.refund import Refund, refund, revoke

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def count(market, table: str) -> int:
    return market.books.read(lambda desk: len(desk.every(table)))


def test_a_signed_purchase_leaves_signature_order_money_and_right(owner, market, shop):
    books.fund(owner, shop.buyer, 1_000_000)
    order = books.buy_signed(market, shop)
    assert (order.state, order.replayed) == ("paid", False)
    assert balance(market, shop.buyer, "EUR") == 1_000_000 - books.ENTERPRISE
    signature = market.books.read(lambda desk: desk.one("signature", account_id=shop.buyer))
    assert (signature["entity"], signature["terms_sha256"]) == ("Acme GmbH", digest(books.TERMS.body))
    assert signature["affirmations"].split(" ") == [digest(said.body) for said in books.TERMS.affirmations]
    assert read_order(market, shop.buyer, order.id) == order
    assert audit(market).findings == ()


@pytest.mark.parametrize(
    ("changed", "code", "says"),
    [
        ({"signing": None}, "signature-required", "needs a signed licence"),
        ({"signing": books.signing(3)}, "signature-unfit", "affirmation on upstream-licence was not made"),
        ({"signing": books.signing(0)}, "signature-unfit", "affirmation on redistribution was not made"),
        ({"signing": books.signing(entity=" ")}, "signature-unfit", "entity is not named"),
        ({"signing": books.signing(authority="")}, "signature-unfit", "authority is not named"),
        ({"signing": Signing(**{n: getattr(books.signing(), n) for n in ("entity", "signer", "authority", "affirmations")}, terms_sha256=digest("other"))}, "signature-unfit", "other terms"),
        ({"tier_id": "none"}, "unknown", "no price none"),
        ({"account_id": "nobody"}, "unknown", "no account nobody"),
        ({"provider": "paypal"}, "not-on-offer", "paypal is not open for EUR"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_what_does_not_fit_is_refused_and_nothing_is_recorded(owner, market, shop, changed, code, says):
    books.fund(owner, shop.buyer, 1_000_000)
    before = count(market, "journal")
    with pytest.raises(RefusedError, match=says) as refused:
        books.buy_signed(market, shop, **changed)
    assert refused.value.code == code
    assert (count(market, "journal"), count(market, "signature")) == (before, 0)


def test_a_wallet_that_does_not_cover_it_buys_nothing(owner, market, shop):
    with pytest.raises(RefusedError) as refused:
        books.buy_signed(market, shop)
    assert refused.value.code == "insufficient-funds"
    books.fund(owner, shop.buyer, books.ENTERPRISE - 1)
    with pytest.raises(RefusedError) as refused:
        books.buy_signed(market, shop)
    assert refused.value.code == "insufficient-funds"
    assert [count(market, table) for table in ("signature", "orders", "entitlement")] == [0, 0, 0]
    books.fund(owner, shop.buyer, 1, key="the last cent")
    assert books.buy_signed(market, shop).state == "paid"


def test_the_same_request_is_one_order_and_another_one_under_its_key_is_refused(owner, market, shop, clock):
    books.fund(owner, shop.buyer, 5_000_000)
    first = books.buy_signed(market, shop)
    clock.turn(days=3)
    withdraw_tier(owner, shop.enterprise, "dearer now")
    again = books.buy_signed(market, shop)
    assert (again.id, again.entitlement_id, again.replayed) == (first.id, first.entitlement_id, True)
    with pytest.raises(RefusedError) as refused:
        books.buy_signed(market, shop, signing=books.signing(entity="Another GmbH"))
    assert refused.value.code == "key-reused"
    assert balance(market, shop.buyer, "EUR") == 5_000_000 - books.ENTERPRISE


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_what_is_off_the_market_is_sold_no_more(owner, market, shop):
    books.fund(owner, shop.buyer, 5_000_000)
    withdraw_tier(owner, shop.community, "free now")
    with pytest.raises(RefusedError, match="price is no longer on offer"):
        buy(market, Purchase(account_id=shop.buyer, key="a", tier_id=shop.community))
    notice(owner, shop.v1, "yanked", "a wheel of it is gone")
    with pytest.raises(RefusedError, match="taken off the market"):
        books.buy_signed(market, shop)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_price_above_the_threshold_names_its_terms(owner, shop):
    with pytest.raises(RefusedError, match="above 500000 EUR") as refused:
        publish_tier(owner, Tier(name="x", product="kimi-k3", version="1.0.0", amount_minor=500_001, currency="EUR"))
    assert refused.value.code == "signature-required"
    publish_tier(owner, Tier(name="x", product="kimi-k3", version="1.0.0", amount_minor=500_000, currency="EUR"))
    assert shop.enterprise


def test_a_grant_is_given_once_a_key(owner, market, shop):
    wanted = Grant(account_id=shop.buyer, amount_minor=5, currency="EUR", key="g", reason="welcome")
    assert grant(owner, wanted) == grant(owner, wanted)
    assert balance(market, shop.buyer, "EUR") == 5
    with pytest.raises(RefusedError) as refused:
        grant(owner, Grant(account_id=shop.buyer, amount_minor=6, currency="EUR", key="g", reason="welcome"))
    assert refused.value.code == "key-reused"


def test_refunds_go_back_the_way_they_came_and_never_beyond(owner, market, shop):
    books.fund(owner, shop.buyer, books.ENTERPRISE)
    order = books.buy_signed(market, shop)
    part = refund(owner, Refund(order_id=order.id, key="1", reason="half", amount_minor=400_000))
    assert (part.state, balance(market, shop.buyer, "EUR")) == ("paid", 400_000)
    assert refund(owner, Refund(order_id=order.id, key="1", reason="half", amount_minor=400_000)).replayed
    with pytest.raises(RefusedError, match="500000 EUR of the order are left"):
        refund(owner, Refund(order_id=order.id, key="2", reason="too much", amount_minor=500_001))
    whole = refund(owner, Refund(order_id=order.id, key="3", reason="rest"))
    assert (whole.state, balance(market, shop.buyer, "EUR")) == ("refunded", books.ENTERPRISE)
    with pytest.raises(RefusedError) as refused:
        refund(owner, Refund(order_id=order.id, key="4", reason="again"))
    assert refused.value.code == "not-refundable"
    assert count(market, "revocation") == 1
    assert audit(market).findings == ()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_right_is_revoked_once_and_can_still_be_refunded(owner, market, shop):
    books.fund(owner, shop.buyer, books.ENTERPRISE)
    order = books.buy_signed(market, shop)
    revoke(owner, order.entitlement_id, "mistake", "sold to the wrong account")
    with pytest.raises(RefusedError, match="revoked before"):
        revoke(owner, order.entitlement_id, "breach", "")
    assert refund(owner, Refund(order_id=order.id, key="r", reason="mistake")).state == "refunded"
    assert audit(market).findings == ()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_name_is_one_account_and_somebody_elses_order_is_unknown(owner, market, shop):
    books.fund(owner, shop.buyer, books.ENTERPRISE)
    order, other = books.buy_signed(market, shop), open_account(market, "other")
    with pytest.raises(RefusedError) as refused:
        open_account(market, "acme")
    assert refused.value.code == "taken"
    with pytest.raises(RefusedError) as refused:
        read_order(market, other, order.id)
    assert refused.value.code == "unknown"


def test_thirty_buyers_with_funds_for_ten_are_exactly_ten(place, owner, shop, clock):
    books.fund(owner, shop.buyer, 10 * books.ENTERPRISE)
    outcomes = at_once(30, place, clock, lambda market, n: books.buy_signed(market, shop, f"k{n}").state)
    assert sorted(outcomes) == ["insufficient-funds"] * 20 + ["paid"] * 10
    assert balance(owner, shop.buyer, "EUR") == 0
    assert [count(owner, table) for table in ("orders", "entitlement", "signature")] == [10, 10, 10]
    assert audit(owner).findings == ()
    if place.cluster:
        assert "deadlock detected" not in place.cluster.log.read_text(encoding="utf-8")


def test_eight_requests_with_one_key_are_one_order(place, owner, shop, clock):
    books.fund(owner, shop.buyer, 8 * books.ENTERPRISE)

    def ask(market, _: int) -> tuple[bool, str]:
        order = books.buy_signed(market, shop)
        return (order.replayed, order.id)

    outcomes = at_once(8, place, clock, ask)
    assert sorted(replayed for replayed, _ in outcomes) == [False] + [True] * 7
    assert len({order for _, order in outcomes}) == 1
    assert balance(owner, shop.buyer, "EUR") == 7 * books.ENTERPRISE


def at_once(number: int, place, clock, work) -> list[object]:
    """Have so many clients do something at the same moment, each on a connection of its own."""
    barrier, outcomes = threading.Barrier(number), []

    def client(n: int) -> None:
        with books.market_at(place.database, clock, pool_size=1) as market:
            market.books.read(lambda desk: desk.one("account", id="house"))  # connected before the start
            barrier.wait()
            try:
                outcomes.append(work(market, n))
            except RefusedError as refused:
                outcomes.append(refused.code)

    threads = [threading.Thread(target=client, args=(n,)) for n in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


@given(st.recursive(st.none() | TEXTS | st.integers(-(2**53) + 1, 2**53 - 1), lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="ascii")), inner)))  # fmt: skip
def test_what_is_hashed_is_the_canonical_form_that_others_write(value):
    assert canonical(value).encode() == dumps(value)
