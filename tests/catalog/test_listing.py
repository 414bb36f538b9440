from dataclasses import replace

import pytest
from tests.catalog.sample import (
    FITS,
    LOG,
    ROWS,
    START,
    RawFolder,
    digest,
    every_state,
    ledger_of,
    log_claim,
    raw_file,
    sample_listing,
    tiny,
    tiny_records,
)

from dayzero.catalog.card import build_card
from dayzero.catalog.claim_page import claim_pages
from dayzero.catalog.listing import build_listing, raw_files, read_contents
from dayzero.catalog.model import Card
from dayzero.core.errors import EvidenceError, InputError, IntegrityError
from dayzero.evidence.model import Retraction


def card(name: str) -> Card:
    return build_card(replace(tiny(), name=name), ledger_of(), kit=None, statuses=(), fit=FITS)


def test_cards_stand_by_name():
    listing = build_listing((card("b"), card("c"), card("a")))
    assert [each.package.name for each in listing.cards] == ["a", "b", "c"]


def test_two_packages_of_one_name_are_refused():
    with pytest.raises(InputError, match="two packages are called 'a'"):
        build_listing((card("a"), card("a")))


@pytest.mark.parametrize("name", ["", "..", "../a", "a/b", "/a", "A", "a b", "a\n", "-a"])
def test_a_name_that_cannot_be_a_folder_of_the_site_is_refused(name: str):
    with pytest.raises(InputError, match="a package cannot be called"):
        build_listing((card(name),))


def test_the_raw_file_under_each_shown_number_comes_along_once():
    assert raw_files(sample_listing(), RawFolder(ROWS, START, LOG)) == (
        (f"evidence/raw/{digest(ROWS)}", ROWS),
        (f"evidence/raw/{digest(START)}", START),
        (f"evidence/raw/{digest(LOG)}", LOG),
    )


def test_a_raw_file_under_no_shown_number_stays_behind():
    listing = build_listing((build_card(tiny(), ledger_of(*tiny_records()[:3]), kit=None, statuses=(), fit=FITS),))
    assert [path for path, _ in raw_files(listing, RawFolder(ROWS, START))] == [f"evidence/raw/{digest(ROWS)}"]


def test_a_raw_file_that_is_not_there_stops_the_build():
    with pytest.raises(EvidenceError, match=str(digest(START))):
        raw_files(sample_listing(), RawFolder(ROWS))


def test_a_raw_file_with_a_changed_digit_stops_the_build():
    store = RawFolder(ROWS, START, LOG)
    store.files[digest(ROWS)] = ROWS.replace(b"561", b"461")
    with pytest.raises(IntegrityError, match="was changed: its SHA-256 is"):
        raw_files(sample_listing(), store)


def test_every_raw_file_that_a_page_can_quote_is_read_once():
    ledger = ledger_of(*tiny_records(), *every_state())
    assert dict(read_contents(ledger, RawFolder(ROWS, START, LOG))) == {
        digest(each): each for each in (ROWS, START, LOG)
    }


def test_a_missing_raw_file_under_a_claim_that_stands_stops_the_build():
    with pytest.raises(EvidenceError, match=str(digest(LOG))):
        read_contents(ledger_of(*every_state()), RawFolder(ROWS))


def test_a_missing_raw_file_under_claims_that_were_taken_back_stops_nothing():
    gone = Retraction(slug="s/gone", kind="withdraw", reason="The node is lost.", at="2026-11-30T08:00:00Z")
    ledger = ledger_of(raw_file("run.log", LOG), log_claim("s/gone"), gone)
    assert dict(read_contents(ledger, RawFolder())) == {}
    (page,) = claim_pages(ledger, {})
    assert page.linked == ()


def test_a_changed_raw_file_stops_the_build_whatever_became_of_its_claim():
    store = RawFolder(LOG)
    store.files[digest(LOG)] = LOG.replace(b"140", b"141")
    gone = Retraction(slug="s/gone", kind="withdraw", reason="The node is lost.", at="2026-11-30T08:00:00Z")
    with pytest.raises(IntegrityError, match="was changed"):
        read_contents(ledger_of(raw_file("run.log", LOG), log_claim("s/gone"), gone), store)
