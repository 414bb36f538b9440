"""On PostgreSQL a purchase holds nothing while it is decided; whoever came in between makes it decide again, and is never passed by."""

import pytest
from tests.market import books

from dayzero.market.account import open_account
from dayzero.market.audit import audit
from dayzero.market.errors import RefusedError
from dayzero.market.model import Deed, Purchase
from dayzero.market.order import buy

pytestmark = pytest.mark.parametrize("place", ["postgresql"], indirect=True)


def note(account: str) -> Deed:
    """Make an entry that appends nothing else."""
    return Deed(account=account, kind="note", at="2026-08-01T12:00:00Z", rows=())


@pytest.mark.parametrize(("expects", "tries"), [(True, 2), (False, 3)], ids=["two statements", "the account is kept"])
def test_a_deed_that_a_purchase_overtook_is_decided_again(place, owner, market, shop, expects, tries):
    books.fund(owner, shop.buyer, books.COMMUNITY)
    asked, seen = {"account_id": shop.buyer, "idem_key": "k"}, []
    overtakes = 1 if expects else 2  # without saying what it reads, the first try ends at its first question

    def work(desk) -> None:
        seen.append(None)
        if expects:
            desk.expect(("orders", asked))
        seen[-1] = desk.one("orders", **asked)
        if len(seen) == overtakes:
            buy(market, Purchase(account_id=shop.buyer, key="k", tier_id=shop.community))
        desk.record(note(shop.buyer))

    owner.books.write(shop.buyer, work)
    assert len(seen) == tries
    assert [row is not None for row in seen] == [False] * (tries - 1) + [True]
    assert audit(owner).findings == ()


def test_a_purchase_is_two_statements_and_takes_no_lock(place, owner, market, shop):
    books.fund(owner, shop.buyer, 2 * books.ENTERPRISE)
    books.buy_signed(market, shop, "first")  # what is on offer is read once
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
    assert [line.partition(": ")[2].partition(" ")[0] for line in sent] == ["SELECT", "WITH"]
    assert "advisory" not in after


def test_what_fails_after_it_was_recorded_is_not_there(place, owner, market, shop):
    def work(desk) -> None:
        desk.expect(("orders", {"account_id": shop.buyer, "idem_key": "k"}))
        desk.record(note(shop.buyer))
        raise RefusedError("unknown", "changed my mind", hint="None.")

    with pytest.raises(RefusedError, match="changed my mind"):
        market.books.write(shop.buyer, work)
    assert market.books.read(lambda desk: desk.one("journal", account_id=shop.buyer, kind="note")) is None
    assert open_account(market, "another")
