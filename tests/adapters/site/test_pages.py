import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from urllib.parse import unquote, urljoin, urlsplit

import html5lib
import pytest
from tests.adapters.site.catalog_sample import LARGE, TINY, catalog_of, draft, ledger_of, sample_catalog
from tests.adapters.site.catalog_sample import card_of as sample_card
from tests.adapters.site.pages import KITS, Tags, html_pages, pages_of, whole_site
from tests.catalog.sample import LOG, ROWS, START, RawFolder, every_state, tiny, tiny_records

from dayzero.catalog.edition import Catalog, Entry
from dayzero.evidence.check import check
from dayzero.evidence.citation import Page
from dayzero.evidence.html_page import read_html

EMPTY = replace(sample_catalog(), entries=(), pages=(), retractions=(), as_of="")
DOCUMENTS = ("api/", "openapi.json", ".well-known/")


def every_page() -> list[tuple[str, str]]:
    empty = [(f"empty/{path}", text) for path, text in pages_of(EMPTY).items() if path.endswith(".html")]
    return [*html_pages(), *empty]


def hostile_catalog(hostile: str) -> Catalog:
    ledger = ledger_of(*tiny_records())
    package = replace(tiny(), title=hostile, summary=hostile, technique=hostile)
    return catalog_of(Entry(TINY, (draft(sample_card(package, ledger)),)), ledger=ledger)


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7*7 }}", "a & b", "'</title>"]
)
def test_hostile_text_stays_text(hostile: str):
    site = pages_of(hostile_catalog(hostile))
    for path in ("index.html", f"packages/{TINY}/index.html", "find/tier/open/index.html"):
        tags = Tags(site[path])
        assert any(hostile in text for text, _ in tags.texts)
        assert [attributes for tag, attributes in tags.elements if tag == "script"] == [
            {"src": "../" * path.count("/") + "site.js", "defer": ""}
        ]
        assert "img" not in {tag for tag, _ in tags.elements}


@pytest.mark.parametrize(("path", "page"), every_page())
def test_every_page_is_valid_html(path: str, page: str):
    html5lib.HTMLParser(strict=True).parse(page)
    ids = [attributes["id"] for _, attributes in Tags(page).elements if "id" in attributes]
    assert len(ids) == len(set(ids)), path


@pytest.mark.parametrize(("path", "page"), every_page())
def test_the_evidence_check_finds_no_number_that_is_neither_cited_nor_excused(path: str, page: str):
    reading = read_html(Page(path=path, content=page.encode()))
    assert (reading.bare, reading.malformed) == ((), ())


def test_the_evidence_check_finds_nothing_on_the_whole_site():
    ledger = ledger_of(*tiny_records(), *(r for r in every_state() if getattr(r, "slug", "") != "s/unsupported"))
    site = pages_of(catalog_of(Entry(TINY, (draft(sample_card(tiny(), ledger)),)), ledger=ledger))
    pages = [Page(path=path, content=text.encode()) for path, text in site.items() if path.endswith(".html")]
    report = check(ledger, RawFolder(ROWS, START, LOG), {}, pages, folder="evidence")
    places = [(finding.kind.value, finding.reason) for finding in report.findings]
    assert [each for each in places if each[0] != "claim-unsupported"] == []
    assert all("is not installed" in reason for _, reason in places)
    assert report.citations > len(pages)


def test_a_number_typed_into_a_summary_is_found_bare():
    ledger = ledger_of(*tiny_records())
    package = replace(tiny(), summary="Serves at 900 tok/s.")
    path = f"packages/{TINY}/index.html"
    page = pages_of(catalog_of(Entry(TINY, (draft(sample_card(package, ledger)),)), ledger=ledger))[path]
    assert {bare.text for bare in read_html(Page(path=path, content=page.encode())).bare} == {"900 tok/s"}


def test_every_link_leads_to_a_file_of_the_site():
    files = whole_site()
    ids = {
        path: {a["id"] for _, a in Tags(content.decode()).elements if "id" in a}
        for path, content in files.items()
        if path.endswith(".html")
    }
    for path, link in links(files):
        parts = urlsplit(urljoin(f"/{path}", link))
        assert not parts.netloc, f"{path} leads outside: {link}"
        target = unquote(parts.path).removeprefix("/")
        assert target in files or target.startswith(DOCUMENTS), f"{path}: {link}"
        assert not parts.fragment or parts.fragment in ids[target], f"{path}: {link}"


def links(files: dict[str, bytes]) -> Iterator[tuple[str, str]]:
    for path, content in files.items():
        if path.endswith(".html"):
            for _, attributes in Tags(content.decode()).elements:
                link = attributes.get("href", attributes.get("src", ""))
                if link and link != "data:,":
                    yield path, link


def test_every_page_can_be_reached_from_the_listing():
    files = whole_site()
    follow: dict[str, set[str]] = {}
    for path, link in links(files):
        follow.setdefault(path, set()).add(unquote(urlsplit(urljoin(f"/{path}", link)).path).removeprefix("/"))
    lone = {path for path in files if path.startswith(("claims/s/", "claims/lone/"))}
    reached: set[str] = set()
    waiting = ["index.html", *lone]
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting.extend(follow.get(path, ()))
    assert set(files) - reached == set()


@pytest.mark.parametrize(("path", "page"), every_page())
def test_no_page_asks_for_anything_outside_or_runs_anything_of_its_own(path: str, page: str):
    tags = Tags(page)
    assert not {"iframe", "img", "form", "object", "style", "base"} & {tag for tag, _ in tags.elements}
    assert not [name for _, a in tags.elements for name in a if name.startswith("on") or name == "style"], path
    asked = [a.get("src") or a.get("href", "") for tag, a in tags.elements if tag in {"script", "link"}]
    assert all(not urlsplit(link).netloc for link in asked)
    assert not [text for text, around in tags.texts if around and "defer" in around[-1] and text.strip()]


@pytest.mark.parametrize(("path", "page"), every_page())
def test_every_page_has_landmarks_one_title_and_tables_with_scope(path: str, page: str):
    tags = Tags(page)
    names = [tag for tag, _ in tags.elements]
    assert [names.count(tag) for tag in ("main", "h1", "header", "footer")] == [1] * 4, path
    assert page.index("</title>") < page.index("<body>")
    assert all(a.get("scope") in {"col", "row"} for tag, a in tags.elements if tag == "th")
    named = {a["id"] for _, a in tags.elements if "id" in a}
    assert all(set(a["aria-labelledby"].split()) <= named for _, a in tags.elements if "aria-labelledby" in a)
    assert next(a for tag, a in tags.elements if tag == "a") == {"class": "skip", "href": "#main"}


@pytest.mark.parametrize(("path", "page"), every_page())
def test_headings_skip_no_level(path: str, page: str):
    levels = [int(tag[1]) for tag, _ in Tags(page).elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels)), path


@pytest.mark.parametrize(("path", "page"), every_page())
def test_each_landmark_of_a_page_has_a_name_of_its_own(path: str, page: str):
    told = dict(re.findall(r'<h[23] id="([^"]*)"[^>]*>([^<]*)', page))
    marks = [a for tag, a in Tags(page).elements if tag in {"nav", "section"} or a.get("role") == "region"]
    names = [
        a.get("aria-label") or told[a["aria-labelledby"]] for a in marks if a.keys() & {"aria-label", "aria-labelledby"}
    ]
    assert len(names) == len(set(names)), path


@pytest.mark.parametrize(("path", "page"), every_page())
def test_nothing_is_called_verified(path: str, page: str):
    assert not re.search(r"(?<!-)\bverified\b", page.lower()), path


def test_the_same_catalog_gives_the_same_bytes():
    assert whole_site() == whole_site()


def test_a_page_in_the_site_may_be_as_deep_as_its_path_says():
    site = pages_of(sample_catalog())
    for path, page in site.items():
        if path.endswith(".html"):
            assert f'href="{"../" * path.count("/")}style.css"' in page, path


def test_what_is_downloaded_is_offered_where_it_lies_in_the_site():
    site = pages_of(sample_catalog())
    for path in KITS[TINY, "1.1.0"]:
        assert f'href="../../../{path}" download' in site[f"packages/{TINY}/1.1.0/index.html"]
    assert "/kit/" not in site[f"packages/{LARGE}/draft/index.html"]
