"""Everything that a static site shows, one file at a time: nothing but the catalog itself is held in memory."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeAlias

from dayzero.adapters.site.feeds import releases_feed, retractions_feed
from dayzero.adapters.site.linked_data import linked_data
from dayzero.adapters.site.llms import llms_text
from dayzero.adapters.site.place import Site
from dayzero.adapters.site.render import (
    READING_PATH,
    RETRACTIONS_PATH,
    Beside,
    assets,
    render_claim,
    render_compare,
    render_edition,
    render_facet,
    render_find,
    render_listing,
    render_performance,
    render_reading,
    render_retractions,
)
from dayzero.adapters.site.shelf import FACET_WORDS, PER_PAGE, Shelf, asking, facet_path, page_of, value_words
from dayzero.catalog.comparison import compare
from dayzero.catalog.edition import Catalog, Edition, Entry
from dayzero.catalog.facets import FACETS, FacetCounts, Facets, Filter
from dayzero.catalog.finding import facets_of
from dayzero.catalog.paths import (
    LLMS,
    PERFORMANCE,
    PERFORMANCE_DOCUMENT,
    RELEASES_FEED,
    RETRACTIONS_FEED,
    claim_path,
    comparison_path,
    definition_path,
    deploy_path,
    edition_path,
    find_path,
    linked_data_path,
    page_path,
    value_folder,
)
from dayzero.catalog.series import series_of

SiteFile: TypeAlias = tuple[str, bytes]
"""A path relative to the site, with ``/``, and the file's bytes."""

Version: TypeAlias = tuple[str, str]
"""A version as (name, handle)."""

MOST_BESIDE: Final = 5
"""Beside how many other packages a package is set at the most."""

_REACH: Final = 2


def site_pages(catalog: Catalog, site: Site) -> Iterator[SiteFile]:
    """Render a static site: pages, style, script, feeds, JSON-LD, definitions and deploy files.

    The raw files, the kits, the documents of the API and the index are not in it: they are no pages.

    Args:
        catalog: What is on offer.
        site: What all pages have in common, see :func:`dayzero.adapters.site.place.site_of`.
    """
    yield from assets().items()
    yield from _listings(catalog, site)
    pairs = pairs_beside(catalog)
    for entry in catalog.entries:
        yield from _package(entry, site, comparisons_by_version(pairs.get(entry.name, ())))
    yield from _comparisons(catalog, site, pairs)
    for page in catalog.pages:
        path = claim_path(page.slug)
        yield path, render_claim(site, page, path)
    yield RETRACTIONS_PATH, render_retractions(site, catalog.retractions)
    yield READING_PATH, render_reading(site)
    if catalog.performance is not None:
        yield PERFORMANCE, render_performance(site, catalog.performance)
        yield PERFORMANCE_DOCUMENT, catalog.performance.document
    yield RELEASES_FEED, releases_feed(catalog)
    yield RETRACTIONS_FEED, retractions_feed(catalog)
    yield LLMS, llms_text(catalog)


def pairs_beside(catalog: Catalog) -> Mapping[str, tuple[tuple[Version, Version], ...]]:
    """Choose which versions are set beside each other, by the name of either package.

    All versions of one package; and of packages that share a model or a kind of GPU the latest ones, at most
    :data:`MOST_BESIDE` others for a package: those that follow it by name.
    """
    found: dict[str, list[tuple[Version, Version]]] = {entry.name: [] for entry in catalog.entries}
    for entry in catalog.entries:
        versions = [(edition.name, edition.handle) for edition in reversed(entry.editions)]
        found[entry.name].extend(combinations(versions, 2))
    latest = {entry.name: (entry.name, entry.latest.handle) for entry in catalog.entries}
    for left, right in _neighbours(catalog):
        pair = (latest[left], latest[right])
        found[left].append(pair)
        found[right].append(pair)
    return {name: tuple(pairs) for name, pairs in found.items()}


def comparisons_by_version(pairs: Iterable[tuple[Version, Version]]) -> Mapping[Version, tuple[tuple[str, str], ...]]:
    """Give for each version the pages that set it beside another, as (words, address from the root)."""
    found: dict[Version, list[tuple[str, str]]] = {}
    for left, right in pairs:
        for version, other in ((left, right), (right, left)):
            words = f"beside {other[1]}" if version[0] == other[0] else f"beside {other[0]} {other[1]}"
            found.setdefault(version, []).append((words, comparison_path(left, right)))
    return {version: tuple(links) for version, links in found.items()}


def _neighbours(catalog: Catalog) -> tuple[tuple[str, str], ...]:
    groups: dict[tuple[str, str], list[str]] = {}
    for entry in catalog.entries:
        facets = facets_of(entry.latest, latest=True)
        groups.setdefault(("model", facets.model), []).append(entry.name)
        groups.setdefault(("gpu", facets.gpu), []).append(entry.name)
    room = {entry.name: MOST_BESIDE for entry in catalog.entries}
    chosen: dict[tuple[str, str], None] = {}
    for _, names in sorted(groups.items(), key=lambda group: (group[0][0] != "model", group[0])):
        for left, right in _following(names):
            if (left, right) not in chosen and room[left] and room[right]:
                chosen[left, right] = None
                room[left] -= 1
                room[right] -= 1
    return tuple(chosen)


def _following(names: list[str]) -> Iterator[tuple[str, str]]:
    """Pair each name with those that follow it, the last ones with the first ones."""
    for step in range(1, _REACH + 1):
        for at, name in enumerate(names):
            other = names[(at + step) % len(names)]
            if name != other:
                yield min(name, other), max(name, other)


def _package(
    entry: Entry, site: Site, comparisons: Mapping[Version, tuple[tuple[str, str], ...]]
) -> Iterator[SiteFile]:
    for edition in entry.editions:
        name, handle = edition.name, edition.handle
        beside = Beside(series=series_of(edition.card), comparisons=comparisons.get((name, handle), ()))
        paths = [edition_path(name, handle), *([page_path(name)] if edition is entry.latest else [])]
        for path in paths:
            yield path, render_edition(site, entry, edition, path, beside)
        yield linked_data_path(name, handle), linked_data(edition)
        yield definition_path(name, handle), edition.definition.encode()
        for file in edition.deploy:
            yield deploy_path(name, handle, file.target, file.path), file.content


def _comparisons(
    catalog: Catalog, site: Site, pairs: Mapping[str, tuple[tuple[Version, Version], ...]]
) -> Iterator[SiteFile]:
    editions = {(edition.name, edition.handle): edition for edition in catalog.editions}
    for entry in catalog.entries:
        for left, right in pairs[entry.name]:
            if left[0] == entry.name:
                path = comparison_path(left, right)
                yield path, render_compare(site, compare(editions[left], editions[right]), path)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sorted:
    """The latest versions, and which of them have each value of each facet."""

    editions: tuple[Edition, ...]
    values: Mapping[str, Mapping[str, tuple[int, ...]]]

    @property
    def counts(self) -> FacetCounts:
        """Count what there is, the commonest first."""
        return {
            facet: dict(
                sorted(((value, len(at)) for value, at in values.items()), key=lambda item: (-item[1], item[0]))
            )
            for facet, values in self.values.items()
        }


def _sorted(catalog: Catalog) -> _Sorted:
    editions = tuple(entry.latest for entry in catalog.entries)
    values: dict[str, dict[str, list[int]]] = {facet: {} for facet in FACETS}
    for at, edition in enumerate(editions):
        facets: Facets = facets_of(edition, latest=True)
        for facet in FACETS:
            for value in facets.values(facet):
                values[facet].setdefault(value, []).append(at)
    return _Sorted(
        editions=editions,
        values={facet: {value: tuple(at) for value, at in sorted(found.items())} for facet, found in values.items()},
    )


def _listings(catalog: Catalog, site: Site) -> Iterator[SiteFile]:
    found = _sorted(catalog)
    counts = found.counts
    for path, shelf in _shelves("Packages", found.editions, "index.html", counts, Filter()):
        yield path, render_listing(site, shelf, path)
    for facet in FACETS:
        if not found.values[facet]:
            continue
        shelf = Shelf(heading="", editions=(), total=0, counts=counts)
        yield facet_path(facet), render_facet(site, facet, shelf, facet_path(facet))
        for value, at in found.values[facet].items():
            heading = f"{FACET_WORDS[facet]}: {value_words(facet, value)}"
            first = find_path(facet, value_folder(value))
            chosen = tuple(found.editions[index] for index in at)
            for path, shelf in _shelves(heading, chosen, first, counts, asking(Filter(), facet, (value,))):
                yield path, render_find(site, shelf, path)


def _shelves(
    heading: str, editions: tuple[Edition, ...], path: str, counts: FacetCounts, wanted: Filter
) -> Iterator[tuple[str, Shelf]]:
    last = max(1, -(-len(editions) // PER_PAGE))
    for number in range(1, last + 1):
        first = (number - 1) * PER_PAGE
        shelf = Shelf(
            heading=heading,
            editions=editions[first : first + PER_PAGE],
            total=len(editions),
            counts=counts,
            first=first,
            wanted=wanted,
            before=page_of(path, number - 1) if number > 1 else "",
            after=page_of(path, number + 1) if number < last else "",
        )
        yield page_of(path, number), shelf
