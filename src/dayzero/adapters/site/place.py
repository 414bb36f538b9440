"""Where a page stands in the site, and what it may link and cite from there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from dayzero.catalog.edition import Catalog
from dayzero.catalog.model import Measurement, Shown
from dayzero.catalog.page_model import ClaimPage, Quote, RawBasis
from dayzero.catalog.paths import claim_path, definition_path, deploy_path, edition_path, page_path, raw_path
from dayzero.catalog.words import place_words
from dayzero.core.pins import Sha256

_NO_QUOTE = Quote(lines=(), note="")
_SAFE = "/@+:,~!$&'()*;="


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What all pages of one catalog have in common.

    Attributes:
        pages: The page of each claim, by slug.
        names: Names of the packages that have a page.
        as_of: The newest instant that the catalog knows: UTC, RFC 3339; ``""`` for none.
        kits: The files of a version's kit that lie in the site, as paths, by (name, handle).
        live: Pages are made when they are asked for, so forms and queries are answered.
        market: Packages are sold here too.
        performance: There is a page of operator latencies.
    """

    pages: Mapping[str, ClaimPage]
    names: frozenset[str]
    as_of: str
    kits: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    live: bool = False
    market: bool = False
    performance: bool = False


def site_of(
    catalog: Catalog,
    *,
    kits: Mapping[tuple[str, str], tuple[str, ...]] | None = None,
    live: bool = False,
    market: bool = False,
) -> Site:
    """Read off a catalog what all its pages have in common; see :class:`Site` for the arguments."""
    return Site(
        pages={page.slug: page for page in catalog.pages},
        names=frozenset(entry.name for entry in catalog.entries),
        as_of=catalog.as_of,
        kits=kits or {},
        live=live,
        market=market,
        performance=catalog.performance is not None,
    )


def up(path: str) -> str:
    """Lead from a page to the root of the site, ``""`` for a page that stands there."""
    return "../" * path.count("/")


def address(path: str) -> str:
    """Write a path of the site so that it can stand in a link."""
    return quote(path, safe=_SAFE)


@dataclass(frozen=True, slots=True)
class At:
    """A page's point of view.

    Attributes:
        site: The site.
        root: Relative address of the site's root, ``""`` or ending in ``/``.
    """

    site: Site
    root: str

    def to(self, path: str) -> str:
        """Give the relative address of a path of the site."""
        return self.root + quote(path, safe=_SAFE)

    def claim(self, slug: str) -> str:
        """Give the address of a claim's page."""
        return self.root + quote(claim_path(slug), safe=_SAFE)

    def raw(self, digest: Sha256) -> str:
        """Give the address of a raw file."""
        return self.root + raw_path(digest)

    def package(self, name: str) -> str:
        """Give the address of a package's latest version."""
        return self.root + page_path(name)

    def edition(self, name: str, handle: str) -> str:
        """Give the address of a version's page."""
        return self.root + quote(edition_path(name, handle), safe=_SAFE)

    def definition(self, name: str, handle: str) -> str:
        """Give the address of a version's definition."""
        return self.root + quote(definition_path(name, handle), safe=_SAFE)

    def deploy(self, name: str, handle: str, target: str, path: str) -> str:
        """Give the address of a deploy file."""
        return self.root + quote(deploy_path(name, handle, target, path), safe=_SAFE)

    def has(self, slug: str) -> bool:
        """Say whether a claim has a page."""
        return slug in self.site.pages

    def owner(self, slug: str) -> str:
        """Name the package that a claim belongs to, ``""`` where none is listed."""
        name = slug.partition("/")[0]
        return name if name in self.site.names else ""

    def cited(self, slug: str, text: str) -> str:
        """Give the value that the ledger says under a slug now, where it is printed as ``text``; else ``""``."""
        page = self.site.pages.get(slug)
        return page.value if page is not None and page.state.citable and page.text == text else ""

    def cites(self, measurement: Measurement) -> bool:
        """Say whether the number on a card is what the ledger says under its slug now.

        On the page of an earlier version it need not be: there stands what was measured for that version's recipe.
        """
        figure, page = measurement.figure, self.site.pages.get(measurement.slug)
        if not isinstance(figure, Shown):
            return False
        return page is None or (
            page.state.citable and (page.value, page.unit) == (figure.claim.value, figure.claim.unit)
        )

    def quote(self, measurement: Measurement) -> Quote:
        """Give the raw lines under a number; none where the claim's page quotes another place than the number rests on."""
        figure, page = measurement.figure, self.site.pages.get(measurement.slug)
        if isinstance(figure, Shown) and page is not None and isinstance(page.basis, RawBasis):
            basis = page.basis
            if (basis.sha256, basis.place) == (figure.claim.raw, place_words(figure.claim.locator)):
                return basis.quote
        return _NO_QUOTE
