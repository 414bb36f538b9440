"""On PostgreSQL a purchase holds nothing while it is decided; whoever came in between makes it decide again, and is never passed by."""

import pytest
from tests.market import books

from dayzero.core.errors import RemoteError
from dayzero.market.account import open_account
from dayzero.market.audit import audit
from dayzero.market.errors import RefusedError
from dayzero.market.model import Deed, Purchase
from dayzero.market.order import buy
from dayzero.market.publish import withdraw_tier

pytestmark = pytest.mark.parametrize("place", ["postgresql"], indirect=True)


def note(account: str) -> Deed:
    """Make an entry that appends nothing else."""
    return Deed(account=account, kind="note", at="2026-08-01T12:00:00Z", rows=())


EXPECTS = {
    "two statements": (2, lambda desk, asked: desk.expect(("orders", asked))),
    "one statement": (2, lambda desk, asked: desk.expect(likely_none=(("orders", asked),))),
    "the account is kept": (3, lambda desk, asked: None),  # noqa: ARG005  (without a word the first try ends at its first question)
}


@pytest.mark.parametrize("how", EXPECTS)
def test_a_deed_that_a_purchase_overtook_is_decided_again(place, owner, market, shop, how):
    books.fund(owner, shop.buyer, books.COMMUNITY)
    asked, seen = {"account_id": shop.buyer, "idem_key": "k"}, []
    tries, expect = EXPECTS[how]

    def work(desk) -> None:
        seen.append(None)
        expect(desk, asked)
        seen[-1] = desk.one("orders", **asked)
        if len(seen) == tries - 1:
            buy(market, Purchase(account_id=shop.buyer, key="k", tier_id=shop.community))
        desk.record(note(shop.buyer))

    owner.books.write(shop.buyer, work)
    assert len(seen) == tries
    assert [row is not None for row in seen] == [False] * (tries - 1) + [True]
    assert audit(owner).findings == ()


def test_a_purchase_is_one_statement_and_takes_no_lock(place, owner, market, shop):
    books.fund(owner, shop.buyer, 3 * books.ENTERPRISE)
    books.buy_signed(market, shop, "first")  # what is on offer and who buys are read once
    place.cluster.sql("ALTER SYSTEM SET log_statement = 'all'")
    place.cluster.sql("SELECT pg_reload_conf()")
    try:
        market.books.read(lambda desk: desk.one("balance", ledger_account_id="x"))
        before = place.cluster.log.read_text(encoding="utf-8")
        books.buy_signed(market, shop, "second")
        after = place.cluster.log.read_text(encoding="utf-8")[len(before) :]
    finally:
        place.cluster.sql("ALTER SYSTEM RESET log_statement")
        place.cluster.sql("SELECT pg_reload_conf()")
    sent = [
        line.partition(": ")[2] for line in after.splitlines() if "LOG:  execute" in line or "LOG:  statement" in line
    ]
    assert [line.partition(": ")[2].partition(" ")[0] for line in sent] == ["WITH"]
    assert "advisory" not in after
    assert audit(owner).findings == ()  # the server's hash is the one that the chain asks for


def test_what_is_taken_for_granted_and_does_not_hold_is_found_when_it_is_appended(place, owner, market, shop):
    books.fund(owner, shop.buyer, 3 * books.ENTERPRISE)
    first = books.buy_signed(market, shop, "first")
    again = books.buy_signed(market, shop, "first")
    assert (again.id, again.replayed) == (first.id, True)
    withdraw_tier(owner, shop.enterprise, "no longer")
    with pytest.raises(RefusedError, match="no longer on offer"):
        books.buy_signed(market, shop, "second")
    for other in ({"tier_id": shop.community, "signing": None}, {"signing": None}, {"signing": books.signing(3)}):
        with pytest.raises(RefusedError, match="the key first was used"):
            books.buy_signed(market, shop, "first", **other)
    assert audit(owner).findings == ()
    assert len(market.books.read(lambda desk: desk.every("orders", account_id=shop.buyer))) == 1


def test_work_that_records_nothing_answers_by_what_is_there(owner, market, shop):
    books.fund(owner, shop.buyer, books.ENTERPRISE)
    books.buy_signed(market, shop, "first")
    asked = {"account_id": shop.buyer, "idem_key": "first"}

    def work(desk) -> bool:
        desk.expect(likely_none=(("orders", asked),))
        return desk.one("orders", **asked) is not None

    assert market.books.write(shop.buyer, work) is True


def test_names_that_are_not_ascii_give_the_hash_that_the_chain_asks_for(place, owner, market, shop):
    books.fund(owner, shop.buyer, 3 * books.ENTERPRISE)
    for number in range(3):
        said = books.signing(entity='Żółć "GmbH" \\ 東京 \u2028', signer="Zoë\tÅngström")
        books.buy_signed(market, shop, f"k{number}", signing=said)
    assert audit(owner).findings == ()


def test_a_text_that_the_server_cannot_hold_is_not_cut_short(owner, market, shop):
    books.fund(owner, shop.buyer, 3 * books.ENTERPRISE)
    for key in ("first", "second"):
        with pytest.raises(RemoteError, match="NUL"):
            books.buy_signed(market, shop, key, signing=books.signing(entity="Acme\0 GmbH"))
    assert market.books.read(lambda desk: desk.every("signature")) == ()


def test_a_purchase_goes_on_where_the_connection_lost_what_it_had_prepared(owner, market, shop):
    books.fund(owner, shop.buyer, 4 * books.ENTERPRISE)
    for key in ("first", "second"):
        books.buy_signed(market, shop, key)
    with market.books._engine.connect() as connection:  # noqa: SLF001  (as a pool between here and the server does)
        connection.exec_driver_sql("DEALLOCATE ALL")
    for key in ("third", "fourth"):
        assert books.buy_signed(market, shop, key).replayed is False
    assert audit(owner).findings == ()


def test_what_fails_after_it_was_recorded_is_not_there(place, owner, market, shop):
    def work(desk) -> None:
        desk.expect(("orders", {"account_id": shop.buyer, "idem_key": "k"}))
        desk.record(note(shop.buyer))
        raise RefusedError("unknown", "changed my mind", hint="None.")

    with pytest.raises(RefusedError, match="changed my mind"):
        market.books.write(shop.buyer, work)
    assert market.books.read(lambda desk: desk.one("journal", account_id=shop.buyer, kind="note")) is None
    assert open_account(market, "another")
