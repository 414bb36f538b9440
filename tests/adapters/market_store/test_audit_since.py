"""An audit that goes on from a signed checkpoint finds what was done to what came after it, and says what it did not read."""

import pytest
from tests.adapters.market_store.test_tampering import keys, sold
from tests.market import books
from tests.market.past import force

from dayzero.core.errors import InputError, IntegrityError
from dayzero.market.audit import audit
from dayzero.market.audit_since import audit_since
from dayzero.market.model import Purchase
from dayzero.market.order import buy
from dayzero.wiring.market import read_checkpoint_file, write_checkpoint

assert keys
assert sold


@pytest.fixture
def since(owner, market, shop, sold, keys):
    """Sign a checkpoint, sell one more licence to the buyer and one to nobody else, and give the checkpoint."""
    file = write_checkpoint(owner, keys / "market.key.pem", keys / "outside")
    books.buy_signed(market, shop, "later")
    return read_checkpoint_file(file, (keys / "market.pub.pem",))


LATER = "(SELECT id FROM orders WHERE idem_key = 'later')"
TAMPERING = (
    (f"UPDATE orders SET placed_at = 'then' WHERE id IN {LATER}", "row", "placed_at is 'then'"),
    (f"UPDATE transfer SET amount_minor = 1 WHERE order_id IN {LATER}", "money", "its transfers give"),
    (f"UPDATE transfer SET amount_minor = 1 WHERE order_id IN {LATER}", "right", "its payment is not its price"),
    (f"DELETE FROM transfer WHERE order_id IN {LATER}", "right", "no payment of its order"),
    (f"DELETE FROM entitlement WHERE order_id IN {LATER}", "row", "it is gone; journal"),
    (f"UPDATE signature SET affirmations = substr(affirmations, 1, 194) WHERE id IN (SELECT signature_id FROM orders WHERE id IN {LATER})", "right", "no whole one is there"),
    ("UPDATE balance SET amount_minor = 99999999", "money", "its balance is 99999999"),
    ("UPDATE journal SET body = replace(body, 'Acme', 'Evil') WHERE account_id = '{buyer}' AND seq = 5", "chain", "its bytes do not give its hash"),
    ("UPDATE journal SET body = 'x' WHERE account_id = '{buyer}' AND seq = 5", "row", "cannot be read"),
    ("UPDATE journal SET hash = '{zero}' WHERE account_id = '{buyer}' AND seq = 4", "chain", "a block says it had another hash"),
    ("DELETE FROM journal WHERE account_id = '{buyer}' AND seq >= 4", "chain", "says it was there"),
    ("DELETE FROM journal WHERE account_id = '{buyer}'", "chain", "says it was there"),
    ("UPDATE block SET hash = '{zero}'", "checkpoint", "another hash than the signed checkpoint"),
    ("UPDATE block SET body = replace(body, '\"seq\":1', '\"seq\": 1')", "chain", "its bytes do not give its hash"),
    ("DELETE FROM block", "checkpoint", "it is gone"),
)  # fmt: skip


@pytest.mark.parametrize(("statement", "kind", "reason"), TAMPERING)
def test_what_was_done_to_what_came_later_is_found(place, owner, shop, since, statement, kind, reason):
    assert audit_since(owner, since).findings == ()
    force(place, statement.replace("{buyer}", shop.buyer).replace("{zero}", "0" * 64))
    found = audit_since(owner, since).findings
    assert any(finding.kind == kind and reason in finding.reason for finding in found), found


def test_only_what_came_later_is_read_and_the_rest_is_left_to_the_full_audit(place, owner, market, shop, since):
    seen = audit_since(owner, since)
    assert (seen.entries, seen.accounts, seen.since, seen.findings) == (1, 1, 1, ())
    assert seen.rows == 4  # signature, order, transfer, entitlement
    assert audit(owner).entries > seen.entries
    force(place, "UPDATE signature SET entity = 'Evil GmbH' WHERE signed_at < (SELECT max(signed_at) FROM signature)")
    assert audit_since(owner, since).findings == ()
    assert "entity is 'Evil GmbH'" in audit(owner).findings[0].reason
    books.fund(owner, shop.buyer, 1, key="more")
    buy(market, Purchase(account_id=shop.buyer, key="third", tier_id=shop.community))
    assert audit_since(owner, since).entries == 3


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_checkpoint_that_is_none_is_not_gone_on_from(since, keys):
    file = next((keys / "outside").iterdir())
    with pytest.raises(IntegrityError, match="not a statement signed by a trusted key"):
        read_checkpoint_file(file, (keys / "other.pub.pem",))
    with pytest.raises(InputError, match="no key is given"):
        read_checkpoint_file(file, ())
    with pytest.raises(InputError, match="cannot read"):
        read_checkpoint_file(keys / "gone", (keys / "market.pub.pem",))
    assert since.seq == 1
