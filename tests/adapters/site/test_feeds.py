import re
from dataclasses import replace
from datetime import datetime
from urllib.parse import unquote, urljoin, urlsplit
from xml.etree import ElementTree as ET

import pytest
from tests.adapters.site.catalog_sample import TINY, WITHDRAWN, sample_catalog
from tests.adapters.site.pages import whole_site

from dayzero.adapters.site.feeds import NEWEST, releases_feed, retractions_feed
from dayzero.catalog.edition import Entry

ATOM = "{http://www.w3.org/2005/Atom}"
FEEDS = ("feeds/releases.atom", "feeds/retractions.atom")
URN = re.compile(r"urn:dayzero:[A-Za-z0-9()+,\-.:=@;$_!*'%/~]+")


def parsed(text: str | bytes) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314  (it was written a moment ago)


def ids(content: bytes) -> list[str]:
    return [entry.findtext(f"{ATOM}id") or "" for entry in parsed(content).iter(f"{ATOM}entry")]


@pytest.mark.parametrize("path", FEEDS)
def test_a_feed_holds_what_rfc_4287_asks_of_it(path: str):
    feed = parsed(whole_site()[path])
    assert feed.tag == f"{ATOM}feed"
    assert feed.findtext(f"{ATOM}author/{ATOM}name")
    for element in (feed, *feed.iter(f"{ATOM}entry")):
        for name in ("id", "title", "updated"):
            (one,) = element.findall(f"{ATOM}{name}")
            assert one.text, name
        assert URN.fullmatch(element.findtext(f"{ATOM}id") or "")
        assert datetime.fromisoformat(element.findtext(f"{ATOM}updated") or "").tzinfo
        ways = [(link.get("rel"), link.get("type"), link.get("hreflang")) for link in element.findall(f"{ATOM}link")]
        alternates = [way for way in ways if way[0] == "alternate"]
        assert len(alternates) == len(set(alternates)) == 1
    assert feed.find(f"{ATOM}link[@rel='self']") is not None
    assert len(ids(whole_site()[path])) == len(set(ids(whole_site()[path]))) > 0
    assert feed.findtext(f"{ATOM}updated") == max(e.findtext(f"{ATOM}updated") or "" for e in feed.iter(f"{ATOM}entry"))


@pytest.mark.parametrize("path", FEEDS)
def test_every_link_of_a_feed_leads_to_a_file_of_the_site(path: str):
    for link in parsed(whole_site()[path]).iter(f"{ATOM}link"):
        target = unquote(urlsplit(urljoin(f"/{path}", link.get("href") or "")).path)
        assert target.removeprefix("/") in whole_site(), target


def test_releases_and_yanks_are_told_newest_first():
    assert ids(releases_feed(sample_catalog())) == [
        f"urn:dayzero:release:{TINY}:1.1.0",
        f"urn:dayzero:yank:{TINY}:0.9.0:2026-11-30T10%3A00%3A00Z",
        f"urn:dayzero:release:{TINY}:1.0.0",
        f"urn:dayzero:release:{TINY}:0.9.0",
    ]


def test_a_retraction_leads_to_each_card_that_asked_for_the_number():
    (entry,) = parsed(retractions_feed(sample_catalog())).iter(f"{ATOM}entry")
    related = [link.get("href") for link in entry.findall(f"{ATOM}link[@rel='related']")]
    assert related == ["../packages/kimi-k3-8xb300/draft/index.html"]
    assert entry.findtext(f"{ATOM}content") == WITHDRAWN.reason


def test_an_id_stays_when_a_later_event_comes():
    later = replace(WITHDRAWN, at="2026-12-11T08:00:00Z", line=99)
    before, after = (
        ids(retractions_feed(replace(sample_catalog(), retractions=told)))
        for told in ((WITHDRAWN,), (later, WITHDRAWN))
    )
    assert after[1:] == before
    assert len(set(after)) == 2


def test_hostile_text_stays_text_and_what_xml_cannot_hold_is_replaced():
    hostile = replace(WITHDRAWN, reason='</content><script>"&\x00\x1b]]>', label="<b>\ufffe")
    (entry,) = parsed(retractions_feed(replace(sample_catalog(), retractions=(hostile,)))).iter(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}content") == '</content><script>"&\ufffd\ufffd]]>'
    assert entry.findtext(f"{ATOM}title") == "Withdrawn: <b>\ufffd"


def test_a_feed_without_events_is_valid_and_says_no_time_of_its_own():
    empty = replace(sample_catalog(), entries=(), retractions=())
    for content in (releases_feed(empty), retractions_feed(empty)):
        assert ids(content) == []
        assert parsed(content).findtext(f"{ATOM}updated") == "1970-01-01T00:00:00Z"


def test_the_feed_of_releases_holds_the_newest_and_no_more():
    edition = sample_catalog().entries[0].editions[1]
    many = tuple(
        Entry(
            f"p{number:03}",
            (
                replace(
                    edition, release=replace(edition.release, at=f"2026-11-29T18:{number // 60:02}:{number % 60:02}Z")
                ),
            ),
        )
        for number in range(NEWEST + 5)
    )
    told = ids(releases_feed(replace(sample_catalog(), entries=many)))
    assert len(told) == NEWEST
