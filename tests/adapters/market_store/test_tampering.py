"""Who goes past the database's own refusals, as its owner or on the file, is found: the audit names the row."""

import pytest
from tests.market import books
from tests.market.past import force

from dayzero.adapters.keys import make_key, save_key
from dayzero.core.errors import InputError, IntegrityError
from dayzero.market.audit import audit
from dayzero.market.chain import Head, canonical, digest, entry_row, rows_in
from dayzero.market.model import Deed, Purchase
from dayzero.market.order import buy
from dayzero.wiring.market import read_checkpoints, write_checkpoint


@pytest.fixture
def sold(place, owner, shop, market, clock):
    """Have two licences sold, and keep a checkpoint of it."""
    books.fund(owner, shop.buyer, 3_000_000)
    order = books.buy_signed(market, shop)
    clock.turn(days=1)
    buy(market, Purchase(account_id=shop.buyer, key="second", tier_id=shop.community))
    assert audit(owner).findings == ()
    return order


TAMPERING = (
    ("UPDATE signature SET entity = 'Evil GmbH'", "row", "signature ", "entity is 'Evil GmbH', recorded was 'Acme GmbH'"),
    ("UPDATE transfer SET amount_minor = 1 WHERE order_id = '{order}'", "row", "transfer ", "amount_minor is 1, recorded was 900000"),
    ("UPDATE transfer SET amount_minor = 1 WHERE order_id = '{order}'", "money", "ledger_account ", "its transfers give"),
    ("UPDATE transfer SET amount_minor = 1 WHERE order_id = '{order}'", "right", "entitlement ", "its payment is not its price"),
    ("UPDATE balance SET amount_minor = 99999999", "money", "ledger_account ", "its balance is 99999999"),
    ("UPDATE terms SET body = 'everything is allowed'", "terms", "terms ", "its text does not give its hash"),
    ("DELETE FROM signature", "right", "entitlement ", "no whole one is there"),
    ("UPDATE signature SET affirmations = substr(affirmations, 1, 194)", "row", "signature ", "affirmations is"),
    ("UPDATE signature SET affirmations = substr(affirmations, 1, 194)", "right", "entitlement ", "no whole one is there"),
    ("UPDATE terms SET affirmations = 'x' || substr(affirmations, 2)", "terms", "terms ", "its list is not that of its affirmations"),
    ("DELETE FROM terms_affirmation WHERE ord = 4", "terms", "terms ", "its list is not that of its affirmations"),
    ("DELETE FROM transfer WHERE order_id = '{order}'", "right", "entitlement ", "no payment of its order"),
    ("INSERT INTO account VALUES ('x', 'ghost', '')", "row", "account x", "no entry of the journal"),
    ("UPDATE journal SET kind = kind, body = replace(body, 'Acme', 'Evil')", "chain", "journal {buyer} #3", "its bytes do not give its hash"),
    ("DELETE FROM journal WHERE account_id = '{buyer}' AND seq = 2", "chain", "journal {buyer} #3", "#2 is missing"),
    ("UPDATE journal SET hash = '{zero}' WHERE account_id = '{buyer}' AND seq = 2", "chain", "journal {buyer} #2", "do not give its hash"),
    ("UPDATE journal SET body = 'x' WHERE account_id = '{buyer}' AND seq = 4", "row", "journal {buyer} #4", "cannot be read"),
)  # fmt: skip


@pytest.mark.parametrize(("statement", "kind", "where", "reason"), TAMPERING)
def test_a_changed_row_is_named(place, owner, shop, sold, statement, kind, where, reason):
    names = {"order": sold.id, "buyer": shop.buyer, "zero": "0" * 64}
    force(place, statement.format(**names))
    found = [
        finding
        for finding in audit(owner).findings
        if finding.kind == kind and finding.where.startswith(where.format(**names)) and reason in finding.reason
    ]
    assert len(found) >= 1, audit(owner).findings


def test_a_row_that_a_further_entry_records_once_more_is_named(place, owner, shop, sold):
    """The chain holds, and the row is as both entries say: one of the two is invented all the same."""
    last = owner.books.read(lambda desk: desk.every("journal", account_id=shop.buyer))[-1]
    said = rows_in(last["body"])[:1]
    deed = Deed(account=shop.buyer, at="2026-12-01T00:00:00Z", kind=last["kind"], rows=said)
    again = entry_row(deed, Head(last["seq"], last["hash"])).values
    listed = ", ".join("NULL" if value is None else f"'{value}'" for value in again.values())
    force(place, f"INSERT INTO journal ({', '.join(again)}) VALUES ({listed})")
    found = [(one.kind, one.where, one.reason) for one in audit(owner).findings]
    assert found == [("row", said[0].name, f"journal {shop.buyer} #{again['seq']} records it once more")]


UNCHECKED = {
    "postgresql": "ALTER TABLE balance DROP CONSTRAINT balance_not_negative",
    "sqlite": "PRAGMA ignore_check_constraints = ON",
}


def test_a_debt_is_named_also_where_balance_and_transfers_agree_on_it(place, owner, shop, sold):
    force(
        place,
        UNCHECKED[place.engine],
        f"UPDATE transfer SET amount_minor = 5000000 WHERE order_id = '{sold.id}'",
        f"UPDATE balance SET amount_minor = {3_000_000 - 5_000_000 - books.COMMUNITY}",
    )
    money = [finding.reason for finding in audit(owner).findings if finding.kind == "money"]
    assert money == [f"it is overdrawn by {2_000_000 + books.COMMUNITY}"]


@pytest.fixture
def keys(tmp_path):
    """Make the key that signs checkpoints, and one that does not."""
    for name in ("market", "other"):
        save_key(make_key("release"), private=tmp_path / f"{name}.key.pem", public=tmp_path / f"{name}.pub.pem")
    return tmp_path


def test_a_past_that_was_written_anew_is_found_by_the_checkpoint_outside(place, owner, shop, sold, keys):
    outside = keys / "checkpoints"
    file = write_checkpoint(owner, keys / "market.key.pem", outside)
    assert write_checkpoint(owner, keys / "market.key.pem", outside) == file
    signed = read_checkpoints(outside, (keys / "market.pub.pem",))
    assert audit(owner, signed).findings == ()
    rewrite(place, owner, shop)
    assert [finding.kind for finding in audit(owner).findings] == []  # nothing inside gives it away
    found = audit(owner, signed).findings
    assert [finding.kind for finding in found] == ["checkpoint"]
    assert "a signed checkpoint says that it had another hash" in found[0].reason


def rewrite(place, owner, shop) -> None:
    """Take the last purchase out of the books, and write chain, balance and block as if it had never been."""
    journal = owner.books.read(lambda desk: desk.every("journal", account_id=shop.buyer))
    block = owner.books.read(lambda desk: desk.every("block"))[0]
    last, before = journal[-1], journal[-2]
    heads = block["body"].replace(f'{last["seq"]},"{last["hash"]}"', f'{before["seq"]},"{before["hash"]}"')
    assert heads != block["body"]
    hidden = "SELECT id FROM orders WHERE idem_key = 'second'"
    force(
        place,
        f"DELETE FROM journal WHERE account_id = '{shop.buyer}' AND seq = {last['seq']}",
        f"DELETE FROM entitlement WHERE order_id IN ({hidden})",
        f"DELETE FROM transfer WHERE order_id IN ({hidden})",
        "DELETE FROM orders WHERE idem_key = 'second'",
        f"UPDATE balance SET amount_minor = amount_minor + {books.COMMUNITY}",
        f"UPDATE block SET body = '{heads}', hash = '{digest(chr(10) + heads)}'",
    )


def test_books_that_are_emptied_or_forked_are_found(place, owner, shop, sold, keys, market):
    outside = keys / "checkpoints"
    write_checkpoint(owner, keys / "market.key.pem", outside)
    books.buy_signed(market, shop, "later")
    write_checkpoint(owner, keys / "market.key.pem", outside)
    signed = read_checkpoints(outside, (keys / "market.pub.pem",))
    assert [entry.seq for entry in signed] == [1, 2]
    assert audit(owner, signed).findings == ()
    force(place, "DELETE FROM block WHERE seq = 2", f"DELETE FROM journal WHERE account_id = '{shop.buyer}'")
    found = {(finding.kind, finding.where) for finding in audit(owner, signed).findings}
    assert ("checkpoint", "block #2") in found
    assert ("chain", f"journal {shop.buyer} #4") in found


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_checkpoint_of_another_key_is_not_believed(owner, sold, keys):
    outside = keys / "checkpoints"
    file = write_checkpoint(owner, keys / "market.key.pem", outside)
    with pytest.raises(IntegrityError, match="not a statement signed by a trusted key"):
        read_checkpoints(outside, (keys / "other.pub.pem",))
    file.write_bytes(file.read_bytes().replace(b"payload", b"paylaod", 1))
    with pytest.raises(IntegrityError):
        read_checkpoints(outside, (keys / "market.pub.pem",))
    with pytest.raises(InputError, match="holds no checkpoints"):
        read_checkpoints(keys / "nowhere", (keys / "market.pub.pem",))
    assert canonical({"order": sold.id})
