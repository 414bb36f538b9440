"""An audit reads books of any size in the memory of a few rows, and names what was done to one entry among many."""

import tracemalloc

import pytest
from tests.adapters.market_store.test_tampering import keys
from tests.market import books, many
from tests.market.past import force, tamper

from dayzero.market import audit as audit_module
from dayzero.market.audit import audit
from dayzero.wiring.market import read_checkpoints, write_checkpoint

assert keys


def peak(folder, entries: int) -> int:
    """Give the highest memory of an audit of so many entries, in bytes."""
    folder.mkdir()
    place = books.sqlite_place(folder)
    many.fill(place, entries)
    with books.market_at(place.owner, books.Clock()) as owner:
        tracemalloc.start()
        try:
            assert audit(owner).entries >= entries
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def test_memory_does_not_grow_with_the_books(tmp_path):
    peak(tmp_path / "once", 100)  # what is kept for good
    few = peak(tmp_path / "few", 2000)
    assert peak(tmp_path / "many", 8000) < few + 2**20


def test_every_way_past_the_database_is_named_among_many_entries(place, owner, keys):
    many.fill(place, 2000)
    write_checkpoint(owner, keys / "market.key.pem", keys / "outside")
    signed = read_checkpoints(keys / "outside", (keys / "market.pub.pem",))
    clean = audit(owner, signed)
    assert (clean.findings, clean.entries > 2000, clean.rows > 5000) == ((), True, True)
    faults = tamper(place, owner)
    seen = audit(owner, signed)
    assert [fault.name for fault in faults if not fault.named(seen.findings)] == []
    assert len(seen.findings) < 40


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_where_everything_was_changed_some_is_named_and_the_rest_counted(place, owner, monkeypatch):
    many.fill(place, 3000)
    monkeypatch.setattr(audit_module, "_CLOSELY", 10)
    force(place, "UPDATE orders SET placed_at = 'then'", "UPDATE balance SET amount_minor = amount_minor + 1")
    seen = audit(owner)
    rows = [finding for finding in seen.findings if finding.kind == "row"]
    assert rows[0].where == "rows"
    assert "too many to name" in rows[0].reason
    assert "placed_at is 'then'" in rows[1].reason
    assert any(finding.kind == "money" and "its balance is" in finding.reason for finding in seen.findings)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_no_more_than_a_thousand_of_a_kind_are_listed(place, owner):
    many.fill(place, 12_000)
    force(place, "UPDATE orders SET placed_at = 'then'")
    seen = audit(owner)
    assert len(seen.findings) == 1000
    assert len(seen.findings) + seen.unlisted == 5 * 1201  # orders of a copy; the buyer that was copied is there, too
