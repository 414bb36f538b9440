"""What is not looked at but read by programs: HTML by the standard's rules, feeds, JSON and JSON-LD, links."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import feedparser
import httpx
import pytest
from tests.browser import shop
from tests.browser.atom import feed_faults
from tests.browser.checks import html_faults
from tests.browser.conftest import Place
from tests.browser.test_pages import KINDS, LIVE, REFUSED

pytestmark = pytest.mark.browser

FEEDS = ("feeds/releases.atom", "feeds/retractions.atom")
SCHEMA_ORG = "https://schema.org"


def fetched(place: Place, path: str) -> httpx.Response:
    return httpx.get(f"{place.origin}/{path}", trust_env=False, timeout=30)


@pytest.mark.walk
def test_every_page_of_the_built_site_is_valid_html(site: Path, checker):
    assert len(list(site.rglob("*.html"))) > 40
    assert html_faults(checker, site) == []


def test_every_kind_of_live_page_is_valid_html(live: Place, checker, folder_of_pages: Path):
    for name, path in {**KINDS, **LIVE, **{name: path for name, (path, _) in REFUSED.items()}}.items():
        answer = fetched(live, path)
        if name != "compare" or answer.status_code == httpx.codes.OK:
            (folder_of_pages / f"{name}.html").write_bytes(answer.content)
    assert html_faults(checker, folder_of_pages) == []


@pytest.mark.parametrize("path", FEEDS)
def test_a_feed_is_one_by_the_rules_and_to_a_reader(place: Place, path: str):
    answer = fetched(place, path)
    assert answer.headers["content-type"].startswith("application/atom+xml")
    assert feed_faults(answer.content) == []
    read = feedparser.parse(answer.content)
    assert not read.bozo, read.get("bozo_exception")
    assert read.version == "atom10"
    assert read.entries


def test_the_feeds_say_what_happened(place: Place):
    releases = feedparser.parse(fetched(place, FEEDS[0]).content)
    said = " ".join(f"{entry.title} {entry.get('summary', '')}" for entry in releases.entries)
    assert "1.1.0" in said
    assert shop.YANK_REASON in said or "yank" in said
    assert releases.entries[0].updated >= releases.entries[-1].updated
    retractions = feedparser.parse(fetched(place, FEEDS[1]).content)
    assert any(shop.RETRACTION_REASON in entry.summary for entry in retractions.entries)
    related = [link for entry in retractions.entries for link in entry.links if link.rel == "related"]
    assert any(shop.LICENSED in link.href for link in related)


@pytest.mark.parametrize("name", [shop.ANEW, shop.WITH_KIT])
def test_the_linked_data_of_a_version_says_what_it_is(place: Place, name: str):
    page = fetched(place, f"packages/{name}/index.html").text
    (href,) = re.findall(r'<link rel="alternate" type="application/ld\+json"[^>]* href="([^"]+)"', page)
    answer = httpx.get(urljoin(f"{place.origin}/packages/{name}/index.html", href), trust_env=False)
    document = answer.json()
    assert str(document["@context"]).startswith(SCHEMA_ORG)
    found = {kind: node for node in nodes(document) for kind in kinds(node)}
    assert {"SoftwareApplication", "Dataset"} <= found.keys()
    assert "isBasedOn" in found["SoftwareApplication"]


def nodes(value: object) -> Iterator[dict[str, object]]:
    if isinstance(value, dict):
        yield value
        for part in value.values():
            yield from nodes(part)
    elif isinstance(value, list):
        for part in value:
            yield from nodes(part)


def kinds(node: dict[str, object]) -> list[str]:
    kind = node.get("@type", [])
    return [kind] if isinstance(kind, str) else list(kind)  # type: ignore[call-overload]


def test_every_document_of_the_built_site_is_json(site: Path):
    read = [json.loads(path.read_bytes()) for end in ("json", "jsonld") for path in site.rglob(f"*.{end}")]
    assert len(read) > 40


class _Links(HTMLParser):
    """Collects where a page leads, and the ids that can be led to."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002  (the parser's)
        for name, value in attrs:
            if name in {"href", "src"} and value:
                self.links.append(value)
            elif name == "id" and value:
                self.ids.add(value)


def read_links(page: Path) -> _Links:
    links = _Links()
    links.feed(page.read_text(encoding="utf-8"))
    return links


def test_every_link_of_the_built_site_leads_to_a_file_and_to_a_place_in_it(site: Path):
    pages = {page: read_links(page) for page in site.rglob("*.html")}
    broken = []
    for page, read in pages.items():
        for link in read.links:
            address, fragment = urldefrag(link)
            if urlsplit(address).scheme:
                continue
            target = (page.parent / unquote(address)).resolve() if address else page
            if not target.is_file():
                broken.append(f"{page.relative_to(site)}: {link}")
            elif fragment and target in pages and unquote(fragment) not in pages[target].ids:
                broken.append(f"{page.relative_to(site)}: {link} (no such place)")
    assert broken == []


def test_no_page_loads_anything_from_elsewhere(site: Path):
    """The pages themselves hold no address that a browser would load: styles, scripts, pictures, frames, fonts."""
    loads = re.compile(
        r"<(?:link|script|img|iframe|source|video|audio|object|embed|use)\b[^>]*(?:href|src)=\"(?:https?:)?//[^\"]*\""
    )
    found = [
        f"{page.relative_to(site)}: {match}"
        for page in site.rglob("*.html")
        for match in loads.findall(page.read_text())
    ]
    assert found == []
    assert "url(" not in (site / "style.css").read_text()
