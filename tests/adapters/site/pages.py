"""What the tests ask of a rendered page."""

import re
from collections.abc import Mapping
from functools import cache
from html.parser import HTMLParser

from tests.adapters.site.catalog_sample import TINY, sample_catalog
from tests.catalog.sample import KIT, LOG, ROWS, START, digest

from dayzero.adapters.site.export import site_pages
from dayzero.adapters.site.place import site_of
from dayzero.catalog.edition import Catalog
from dayzero.catalog.paths import kit_path, raw_path

VOID = {"meta", "link", "br", "wbr", "input"}
KITS = {(TINY, "1.1.0"): tuple(kit_path(TINY, "1.1.0", name) for name in (KIT.archive, "key.pub.pem"))}


def pages_of(catalog: Catalog) -> dict[str, str]:
    return {path: content.decode() for path, content in site_pages(catalog, site_of(catalog, kits=KITS))}


@cache
def sample_site() -> Mapping[str, str]:
    """Give the sample's pages, rendered once."""
    return pages_of(sample_catalog())


@cache
def whole_site() -> Mapping[str, bytes]:
    """Give the sample's pages and what a build puts beside them: raw files, kits and documents (their paths only)."""
    catalog = sample_catalog()
    files = dict(site_pages(catalog, site_of(catalog, kits=KITS)))
    kept = {digest(content): content for content in (ROWS, START, LOG)}
    files.update({raw_path(raw): kept[raw] for raw in catalog.raws})
    files.update({path: b"" for paths in KITS.values() for path in paths})
    files["index.json"] = b'{"schema": "dayzero/catalog-index/v1"}'
    return files


def html_pages() -> list[tuple[str, str]]:
    return [(path, text) for path, text in sample_site().items() if path.endswith(".html")]


def section(page: str, heading: str) -> str:
    """Give the part of a page under the heading with this id."""
    found = re.search(rf'<section [^>]*aria-labelledby="{heading}".*?</section>', page, re.DOTALL)
    assert found, f"no section {heading}"
    return found[0]


class Tags(HTMLParser):
    """Collects what the tests ask of a page: attributes of every element, and text with the attributes around it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, tuple[dict[str, str], ...]]] = []
        self._open: list[tuple[str, dict[str, str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = (tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((data, tuple(attributes for _, attributes in self._open)))

    @property
    def text(self) -> str:
        return " ".join(" ".join(text for text, _ in self.texts).split())
