from dataclasses import replace

import pytest
from tests.catalog.sample import FITS, ROWS, START, RawFolder, digest, ledger_of, sample_listing, tiny, tiny_records

from dayzero.catalog.card import build_card
from dayzero.catalog.listing import build_listing, raw_files
from dayzero.catalog.model import Card
from dayzero.core.errors import EvidenceError, InputError, IntegrityError


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
    assert raw_files(sample_listing(), RawFolder(ROWS, START)) == (
        (f"evidence/raw/{digest(ROWS)}", ROWS),
        (f"evidence/raw/{digest(START)}", START),
    )


def test_a_raw_file_under_no_shown_number_stays_behind():
    listing = build_listing((build_card(tiny(), ledger_of(*tiny_records()[:3]), kit=None, statuses=(), fit=FITS),))
    assert [path for path, _ in raw_files(listing, RawFolder(ROWS, START))] == [f"evidence/raw/{digest(ROWS)}"]


def test_a_raw_file_that_is_not_there_stops_the_build():
    with pytest.raises(EvidenceError, match=str(digest(START))):
        raw_files(sample_listing(), RawFolder(ROWS))


def test_a_raw_file_with_a_changed_digit_stops_the_build():
    store = RawFolder(ROWS, START)
    store.files[digest(ROWS)] = ROWS.replace(b"561", b"461")
    with pytest.raises(IntegrityError, match="was changed: its SHA-256 is"):
        raw_files(sample_listing(), store)
