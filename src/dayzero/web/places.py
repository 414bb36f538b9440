"""Every path that the static site has too, answered from one state of the catalog: the same path, the same bytes."""

import difflib
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dayzero.adapters.site.feeds import releases_feed, retractions_feed
from dayzero.adapters.site.linked_data import linked_data
from dayzero.adapters.site.llms import llms_text
from dayzero.adapters.site.render import (
    READING_PATH,
    RETRACTIONS_PATH,
    Beside,
    render_claim,
    render_compare,
    render_edition,
    render_facet,
    render_listing,
    render_performance,
    render_reading,
    render_retractions,
)
from dayzero.adapters.site.shelf import FACET_WORDS, PER_PAGE, Shelf, facet_path, page_of, query, value_words
from dayzero.catalog.comparison import compare
from dayzero.catalog.document import (
    claim_document,
    edition_document,
    package_document,
    packages_document,
    release_document,
)
from dayzero.catalog.edition import Edition, Entry
from dayzero.catalog.facets import FACETS, Filter
from dayzero.catalog.paths import (
    KEYS,
    LLMS,
    PACKAGES_DOCUMENT,
    PERFORMANCE,
    PERFORMANCE_DOCUMENT,
    RELEASES_FEED,
    RETRACTIONS_FEED,
    edition_path,
    find_path,
    page_path,
    value_folder,
)
from dayzero.catalog.performance import Performance
from dayzero.catalog.series import series_of
from dayzero.core.pins import Sha256
from dayzero.web.answers import HTML, JSON, TEXT, Document, Keep, kind_of
from dayzero.web.errors import Link, nothing_here
from dayzero.web.query import FindQuery
from dayzero.wiring.catalog_keys import keys_document
from dayzero.wiring.catalog_live import Snapshot
from dayzero.wiring.site import as_bytes

_INDEX: Final = "index.html"
_NEAR: Final = 200


def document_at(now: Snapshot, path: str) -> Document:
    """Give what stands at a path of the site.

    Args:
        now: The state of the catalog.
        path: Without ``/`` at its beginning; one that ends in ``/`` means the page in that folder.

    Raises:
        NoAnswerError: There is nothing.
        EvidenceError: A raw file or a kit is gone.
        IntegrityError: It was changed.
    """
    path = f"{path}{_INDEX}" if not path or path.endswith("/") else path
    if path in _WHOLE:
        return Document(content=_WHOLE[path](now), kind=kind_of(path))
    head, _, rest = path.partition("/")
    if head in _FOLDERS:
        return _FOLDERS[head](now, rest)
    raise nothing_here()


def edition_named(now: Snapshot, words: str) -> Edition:
    """Find the version that ``NAME@VERSION``, or ``NAME`` for the latest, means.

    Raises:
        NoAnswerError: There is none.
    """
    name, _, handle = words.partition("@")
    entry = _entry(now, name)
    return _edition(now, entry, handle) if handle else entry.latest


def edition_at(now: Snapshot, name: str, handle: str) -> Edition:
    """Find a version of a package.

    Raises:
        NoAnswerError: There is none.
    """
    return _edition(now, _entry(now, name), handle)


def shelf_of(now: Snapshot, wanted: Filter, offset: int) -> Shelf:
    """Find one page of packages, with the addresses of the pages around it."""
    found, editions = now.search(wanted, limit=PER_PAGE, offset=offset)
    before, after = max(offset - PER_PAGE, 0), offset + PER_PAGE
    return Shelf(
        heading="Find a package",
        editions=editions,
        total=found.total,
        counts=found.counts,
        first=offset,
        wanted=wanted,
        before=f"find{query(wanted, offset=before)}" if offset else "",
        after=f"find{query(wanted, offset=after)}" if after < found.total else "",
    )


def _listing(now: Snapshot, path: str, number: int, heading: str, wanted: Filter) -> Document:
    """Give one page of a listing that the static site has, too."""
    first = (number - 1) * PER_PAGE
    found, editions = now.search(wanted, limit=PER_PAGE, offset=first)
    if number > 1 and not editions:
        raise nothing_here("the list is not so long", [(heading, path)])
    shelf = Shelf(
        heading=heading,
        editions=editions,
        total=found.total,
        counts=found.counts,
        first=first,
        wanted=wanted,
        before=page_of(path, number - 1) if number > 1 else "",
        after=page_of(path, number + 1) if first + PER_PAGE < found.total else "",
    )
    return Document(content=render_listing(now.site, shelf, page_of(path, number)), kind=HTML)


def _further(now: Snapshot, rest: str) -> Document:
    number, _, name = rest.partition("/")
    if name != _INDEX or not _counts(number):
        raise nothing_here()
    return _listing(now, _INDEX, int(number), "Packages", Filter())


def _counts(number: str) -> bool:
    """Say whether a text is the number of a further page, as it is written in a path."""
    return number.isascii() and number.isdigit() and number[0] != "0" and number != "1" and len(number) < len("1000000")


def _find(now: Snapshot, rest: str) -> Document:
    parts = rest.split("/")
    if parts[-1] != _INDEX or parts[0] not in FACETS:
        raise nothing_here("there is no such listing", [(FACET_WORDS[facet], facet_path(facet)) for facet in FACETS])
    facet = parts[0]
    counts = now.search(Filter(), limit=1)[0].counts
    if len(parts) == 2:  # noqa: PLR2004  (FACET/index.html)
        shelf = Shelf(heading="", editions=(), total=0, counts=counts)
        return Document(content=render_facet(now.site, facet, shelf, facet_path(facet)), kind=HTML)
    value = next((value for value in counts[facet] if value_folder(value) == parts[1]), None)
    number = parts[2] if len(parts) == 4 else "1"  # noqa: PLR2004  (FACET/VALUE/NUMBER/index.html)
    if value is None or len(parts) > 4 or (len(parts) == 4 and not _counts(number)):  # noqa: PLR2004
        raise nothing_here(f"no package is found there by {FACET_WORDS[facet]}", [("Every value", facet_path(facet))])
    heading = f"{FACET_WORDS[facet]}: {value_words(facet, value)}"
    return _listing(now, find_path(facet, parts[1]), int(number), heading, _only(facet, value))


def _only(facet: str, value: str) -> Filter:
    return FindQuery.model_validate({facet: [value]}).filter()


def _packages(now: Snapshot, rest: str) -> Document:
    name, _, inner = rest.partition("/")
    entry = _entry(now, name)
    if inner == _INDEX:
        return _page(now, entry, entry.latest, page_path(name))
    handle, _, file = inner.partition("/")
    edition = _edition(now, entry, handle)
    if file == _INDEX:
        return _page(now, entry, edition, edition_path(name, handle))
    if file == "index.jsonld":
        return Document(content=linked_data(edition), kind=kind_of(file))
    if file == "package.toml":
        keep = Keep.FOREVER if edition.release else Keep.ASK
        return Document(content=edition.definition.encode(), kind=TEXT, keep=keep)
    kind, _, path = file.partition("/")
    if kind == "deploy":
        for deploy in edition.deploy:
            if f"{deploy.target}/{deploy.path}" == path:
                return Document(content=deploy.content, kind=TEXT)
    if kind == "kit":
        return _kit(now, edition, path)
    raise nothing_here(f"{name} {handle} has no such file", [(f"{name} {handle}", edition_path(name, handle))])


def _page(now: Snapshot, entry: Entry, edition: Edition, path: str) -> Document:
    version = (edition.name, edition.handle)
    beside = Beside(series=series_of(edition.card), comparisons=now.comparisons.get(version, ()))
    return Document(content=render_edition(now.site, entry, edition, path, beside), kind=HTML)


def _kit(now: Snapshot, edition: Edition, file: str) -> Document:
    found = now.kit(edition, file)
    if found is None:
        path = edition_path(edition.name, edition.handle)
        raise nothing_here("no such kit is handed out", [(f"{edition.name} {edition.handle}", path)])
    pinned = edition.release is not None and edition.release.kit is not None
    keep = Keep.FOREVER if pinned and file.endswith(".zip") else Keep.ASK
    return Document(content=found, kind=kind_of(file), keep=keep)


def _claims(now: Snapshot, rest: str) -> Document:
    slug = rest.removesuffix(f"/{_INDEX}")
    page = now.site.pages.get(slug)
    if page is None or slug == rest:
        raise nothing_here("there is no such claim", _near(slug, tuple(now.site.pages), "claims"))
    return Document(content=render_claim(now.site, page, f"claims/{rest}"), kind=HTML)


def _compare(now: Snapshot, rest: str) -> Document:
    words = rest.removesuffix(f"/{_INDEX}")
    at = words.find("...") if words != rest else -1
    while at >= 0:
        left, right = (_version(part) for part in (words[:at], words[at + 3 :]))
        if left in now.editions and right in now.editions:
            comparison = compare(now.editions[left], now.editions[right])
            return Document(content=render_compare(now.site, comparison, f"compare/{rest}"), kind=HTML)
        at = words.find("...", at + 1)
    raise nothing_here("there are no two such versions to compare")


def _version(words: str) -> tuple[str, str]:
    name, _, handle = words.partition("@")
    return name, handle


def _evidence(now: Snapshot, rest: str) -> Document:
    digest = rest.removeprefix("raw/")
    if digest == rest or digest not in now.raws:
        raise nothing_here("no claim rests on a raw file of that digest")
    return Document(content=now.raw(Sha256(digest)), kind=TEXT)


def _api(now: Snapshot, rest: str) -> Document:
    parts = rest.removeprefix("v1/").removesuffix(".json").split("/")
    match parts if rest.startswith("v1/") and rest.endswith(".json") else []:
        case ["packages", name]:
            document = package_document(_entry(now, name))
        case ["packages", name, handle]:
            document = edition_document(_edition(now, _entry(now, name), handle), now.slugs)
        case ["releases", name, version]:
            edition = _edition(now, _entry(now, name), version)
            if edition.release is None:
                raise nothing_here(f"{name} {version} is not released")
            return Document(content=as_bytes(release_document(edition)), kind=JSON, keep=Keep.FOREVER)
        case ["claims", *slug] if "/".join(slug) in now.site.pages:
            document = claim_document(now.site.pages["/".join(slug)])
        case ["claims", *slug]:
            raise nothing_here("there is no such claim", _near("/".join(slug), tuple(now.site.pages), "claims"))
        case _:
            raise nothing_here()
    return Document(content=as_bytes(document), kind=JSON)


def _entry(now: Snapshot, name: str) -> Entry:
    if name not in now.entries:
        raise nothing_here("there is no such package", _near(name, tuple(now.entries), "packages"))
    return now.entries[name]


def _edition(now: Snapshot, entry: Entry, handle: str) -> Edition:
    found = now.editions.get((entry.name, handle))
    if found is None:
        known = [(f"{one.name} {one.handle}", edition_path(one.name, one.handle)) for one in entry.editions[:5]]
        raise nothing_here(f"{entry.name} has no such version", known)
    return found


def _near(asked: str, known: Sequence[str], folder: str) -> list[Link]:
    """Name what is called alike; only names around the place in the order are looked at, so that it costs little."""
    at = bisect_left(known, asked[:3])
    around = known[max(at - _NEAR // 2, 0) : at + _NEAR]
    close = difflib.get_close_matches(asked[:_NEAR], around, n=3, cutoff=0.5)
    return [(name, f"{folder}/{name}/{_INDEX}") for name in close]


def _performance(now: Snapshot) -> Performance:
    if now.catalog.performance is None:
        raise nothing_here()
    return now.catalog.performance


_WHOLE: Final[Mapping[str, Callable[[Snapshot], bytes]]] = {
    _INDEX: lambda now: _listing(now, _INDEX, 1, "Packages", Filter()).content,
    RETRACTIONS_PATH: lambda now: render_retractions(now.site, now.catalog.retractions),
    READING_PATH: lambda now: render_reading(now.site),
    PERFORMANCE: lambda now: render_performance(now.site, _performance(now)),
    PERFORMANCE_DOCUMENT: lambda now: _performance(now).document,
    RELEASES_FEED: lambda now: releases_feed(now.catalog),
    RETRACTIONS_FEED: lambda now: retractions_feed(now.catalog),
    LLMS: lambda now: llms_text(now.catalog),
    KEYS: lambda now: as_bytes(keys_document(now.offer, None)),
    PACKAGES_DOCUMENT: lambda now: as_bytes(packages_document(now.catalog)),
}
_FOLDERS: Final[Mapping[str, Callable[[Snapshot, str], Document]]] = {
    "listing": _further,
    "find": _find,
    "packages": _packages,
    "claims": _claims,
    "compare": _compare,
    "evidence": _evidence,
    "api": _api,
}
