"""Atom feeds (RFC 4287) of what was published and what was taken back. Ids name the event, so every build gives the same ones."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from dayzero.adapters.site.place import address
from dayzero.catalog.edition import Catalog, Edition, TakenBack
from dayzero.catalog.paths import RELEASES_FEED, RETRACTIONS_FEED, claim_path, edition_path

NEWEST: Final = 200
"""How many entries the feed of releases holds; what was taken back stays in its feed for good."""

_NEVER: Final = "1970-01-01T00:00:00Z"
_ROOT: Final = "../"
_ILLEGAL: Final = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 65534, 65535), "�")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """One event.

    Attributes:
        id: Names it for good: a URN.
        title: In a line.
        at: When: UTC, RFC 3339.
        page: Path of the page that it is about.
        related: Paths of pages that it touches.
        text: What happened, in words.
        term: What kind of event it is.
    """

    id: str
    title: str
    at: str
    page: str
    related: tuple[str, ...]
    text: str
    term: str


def releases_feed(catalog: Catalog) -> bytes:
    """Write the feed of releases and yanks, the newest of them."""
    entries = [entry for edition in catalog.editions for entry in _published(edition)]
    return _feed("urn:dayzero:catalog:releases", "dayzero catalog: releases", RELEASES_FEED, _newest(entries)[:NEWEST])


def retractions_feed(catalog: Catalog) -> bytes:
    """Write the feed of what was taken back."""
    pages = frozenset(page.slug for page in catalog.pages)
    entries = [_taken_back(one, has_page=one.slug in pages) for one in catalog.retractions]
    return _feed("urn:dayzero:catalog:retractions", "dayzero catalog: retractions", RETRACTIONS_FEED, _newest(entries))


def _published(edition: Edition) -> Iterator[FeedEntry]:
    if edition.release is None:
        return
    package, page = edition.card.package, edition_path(edition.name, edition.handle)
    handle = f"{_part(edition.name)}:{_part(edition.handle)}"
    yield FeedEntry(
        id=f"urn:dayzero:release:{handle}",
        title=f"{edition.name} {edition.version}: {package.title}",
        at=edition.release.at,
        page=page,
        related=(),
        text=f"{package.summary} {edition.card.floor} Engine build {package.recipe.engine}.",
        term="release",
    )
    if edition.yank is not None:
        yield FeedEntry(
            id=f"urn:dayzero:yank:{handle}:{_part(edition.yank.at)}",
            title=f"{edition.name} {edition.version} was yanked",
            at=edition.yank.at,
            page=page,
            related=(),
            text=edition.yank.reason,
            term="yank",
        )


def _taken_back(one: TakenBack, *, has_page: bool) -> FeedEntry:
    return FeedEntry(
        id=f"urn:dayzero:{one.kind}:{_part(one.slug)}:{_part(one.at)}",
        title=f"{one.kind.capitalize()}: {one.label}",
        at=one.at,
        page=claim_path(one.slug) if has_page else "retractions/index.html",
        related=tuple(edition_path(name, handle) for name, handle in one.cards),
        text=one.reason,
        term=one.kind,
    )


def _newest(entries: Iterable[FeedEntry]) -> list[FeedEntry]:
    return sorted(sorted(entries, key=lambda entry: entry.id), key=lambda entry: entry.at, reverse=True)


def _part(text: str) -> str:
    """Write a part of a URN: what RFC 8141 lets stand there, without the colon that ends a part."""
    return quote(text, safe="/-._~")


def _feed(id_: str, title: str, path: str, entries: Sequence[FeedEntry]) -> bytes:
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en">',
        f"<id>{_text(id_)}</id>",
        f"<title>{_text(title)}</title>",
        f"<updated>{_text(entries[0].at if entries else _NEVER)}</updated>",
        "<author><name>dayzero catalog</name></author>",
        f'<link rel="self" type="application/atom+xml" href={_value(path.rpartition("/")[2])}/>',
        f'<link rel="alternate" type="text/html" href={_value(f"{_ROOT}index.html")}/>',
    ]
    for entry in entries:
        lines.extend(_lines(entry))
    return "\n".join([*lines, "</feed>", ""]).encode()


def _lines(entry: FeedEntry) -> Iterator[str]:
    yield "<entry>"
    yield f"<id>{_text(entry.id)}</id>"
    yield f"<title>{_text(entry.title)}</title>"
    yield f"<published>{_text(entry.at)}</published>"
    yield f"<updated>{_text(entry.at)}</updated>"
    yield f"<category term={_value(entry.term)}/>"
    yield f'<link rel="alternate" type="text/html" href={_value(_ROOT + address(entry.page))}/>'
    for path in entry.related:
        yield f'<link rel="related" type="text/html" href={_value(_ROOT + address(path))}/>'
    yield f'<content type="text">{_text(entry.text)}</content>'
    yield "</entry>"


def _text(text: str) -> str:
    return escape(text.translate(_ILLEGAL))


def _value(text: str) -> str:
    return quoteattr(text.translate(_ILLEGAL))
