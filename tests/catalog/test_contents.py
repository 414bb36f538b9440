import pytest
from tests.catalog.sample import (
    LOG,
    ROWS,
    START,
    RawFolder,
    digest,
    edition_of,
    every_state,
    log_claim,
    raw_file,
    tiny,
    tiny_records,
    told_of,
)

from dayzero.catalog.assemble import assemble
from dayzero.catalog.claim_page import claim_pages
from dayzero.catalog.contents import raw_files, read_contents
from dayzero.catalog.edition import Catalog
from dayzero.catalog.release import ReleaseLog
from dayzero.core.errors import EvidenceError, IntegrityError
from dayzero.evidence.model import Record, Retraction

ALL = {digest(each): each for each in (ROWS, START, LOG)}


def catalog_of(*records: Record, pages: bool = True) -> Catalog:
    told = told_of(*records)
    made = claim_pages(told, ALL) if pages else ()
    return assemble((edition_of(tiny(), *records),), made, told=told, log=ReleaseLog())


def test_the_raw_file_under_each_shown_number_comes_along_once():
    catalog = catalog_of(*tiny_records(), *every_state())
    assert list(raw_files(catalog, {}, RawFolder(ROWS, START, LOG))) == [
        (f"evidence/raw/{digest(ROWS)}", ROWS),
        (f"evidence/raw/{digest(START)}", START),
        (f"evidence/raw/{digest(LOG)}", LOG),
    ]


def test_a_raw_file_that_was_read_for_the_pages_is_not_read_again():
    catalog = catalog_of(*tiny_records(), *every_state())
    assert dict(raw_files(catalog, ALL, RawFolder())) == {f"evidence/raw/{name}": each for name, each in ALL.items()}


def test_a_raw_file_under_no_shown_number_stays_behind():
    catalog = catalog_of(*tiny_records()[:3], pages=False)
    assert [path for path, _ in raw_files(catalog, {}, RawFolder(ROWS, START))] == [f"evidence/raw/{digest(ROWS)}"]


def test_a_raw_file_that_is_not_there_stops_the_build():
    with pytest.raises(EvidenceError, match=str(digest(START))):
        list(raw_files(catalog_of(*tiny_records()), {}, RawFolder(ROWS)))


def test_a_raw_file_with_a_changed_digit_stops_the_build():
    store = RawFolder(ROWS, START, LOG)
    store.files[digest(ROWS)] = ROWS.replace(b"561", b"461")
    with pytest.raises(IntegrityError, match="was changed: its SHA-256 is"):
        list(raw_files(catalog_of(*tiny_records()), {}, store))


def test_every_raw_file_that_a_page_can_quote_is_there():
    told = told_of(*tiny_records(), *every_state())
    assert dict(read_contents(told, RawFolder(ROWS, START, LOG))) == ALL


def test_a_raw_file_is_held_to_its_digest_again_when_a_page_quotes_it():
    store = RawFolder(ROWS, START, LOG)
    contents = read_contents(told_of(*tiny_records(), *every_state()), store)
    store.files[digest(ROWS)] = ROWS.replace(b"561", b"461")
    del store.files[digest(START)]
    assert digest(START) in contents
    assert len(contents) == len(ALL)
    with pytest.raises(IntegrityError, match="was changed"):
        contents[digest(ROWS)]
    with pytest.raises(EvidenceError, match=str(digest(START))):
        contents[digest(START)]
    assert contents[digest(LOG)] == LOG
    assert contents.get(digest(b"another file")) is None


def test_a_missing_raw_file_under_a_claim_that_stands_stops_the_build():
    with pytest.raises(EvidenceError, match=str(digest(LOG))):
        read_contents(told_of(*every_state()), RawFolder(ROWS))


def test_a_missing_raw_file_under_claims_that_were_taken_back_stops_nothing():
    gone = Retraction(slug="s/gone", kind="withdraw", reason="The node is lost.", at="2026-11-30T08:00:00Z")
    told = told_of(raw_file("run.log", LOG), log_claim("s/gone"), gone)
    assert dict(read_contents(told, RawFolder())) == {}
    (page,) = claim_pages(told, {})
    assert page.linked == ()


def test_a_changed_raw_file_stops_the_build_whatever_became_of_its_claim():
    store = RawFolder(LOG)
    store.files[digest(LOG)] = LOG.replace(b"140", b"141")
    gone = Retraction(slug="s/gone", kind="withdraw", reason="The node is lost.", at="2026-11-30T08:00:00Z")
    with pytest.raises(IntegrityError, match="was changed"):
        read_contents(told_of(raw_file("run.log", LOG), log_claim("s/gone"), gone), store)
