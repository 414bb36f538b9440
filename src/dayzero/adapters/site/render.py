"""Render one page at a time, for a static site and for a live one: the same values give the same bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dayzero.adapters.site.curve import draw_curve
from dayzero.adapters.site.environment import COMPANION, asset, templates
from dayzero.adapters.site.place import At, Site, up
from dayzero.adapters.site.plot import draw
from dayzero.adapters.site.shelf import FACET_WORDS, Shelf, all_choices, gpu_words, groups
from dayzero.adapters.site.systems import by_kind, kinds_offered
from dayzero.catalog.comparison import Comparison
from dayzero.catalog.edition import DeployFile, Edition, Entry, SystemFit, TakenBack
from dayzero.catalog.facets import FACETS, NO_GPU
from dayzero.catalog.page_model import ClaimPage
from dayzero.catalog.paths import (
    PERFORMANCE,
    edition_document_path,
    edition_folder,
    linked_data_path,
    package_document_path,
    release_document_path,
)
from dayzero.catalog.performance import Performance, changes
from dayzero.catalog.series import Series

STYLE, SCRIPT = "style.css", "site.js"
RETRACTIONS_PATH, READING_PATH = "retractions/index.html", "how-to-read/index.html"

_CONTENTS: Final[tuple[tuple[str, str], ...]] = (
    ("status", "Status"),
    ("floor", "Does my system fit?"),
    ("measured", "Measured"),
    ("unmeasured", "Not measured"),
    ("model", "Model"),
    ("engine", "Engine"),
    ("walls", "Walls"),
    ("deploy", "Deploy files"),
    ("kit", "Kit"),
    ("terms", "Terms"),
    ("difference", "What is new"),
    ("versions", "Versions"),
    ("definition", "Definition"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What the page of a version shows beside the version itself.

    Attributes:
        series: The measured grid.
        comparisons: Pages that set it beside another one, as (words, address from the root).
    """

    series: tuple[Series, ...] = ()
    comparisons: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Links:
    """Paths that belong to a version."""

    name: str
    handle: str

    @property
    def root(self) -> str:
        return up(f"{edition_folder(self.name, self.handle)}/")

    @property
    def document(self) -> str:
        return edition_document_path(self.name, self.handle)

    @property
    def package(self) -> str:
        return package_document_path(self.name)

    @property
    def release(self) -> str:
        return release_document_path(self.name, self.handle)

    @property
    def linked_data(self) -> str:
        return linked_data_path(self.name, self.handle)

    @property
    def fit(self) -> str:
        return f"{edition_folder(self.name, self.handle)}/fit"


def render_listing(site: Site, shelf: Shelf, path: str) -> bytes:
    """Render one page of a listing: of everything, or of what a filter leaves.

    Args:
        site: What all pages have in common.
        shelf: What the page shows.
        path: Where it stands (``index.html``, ``find/gpu/b200/index.html``; ``find`` on a live server).
    """
    at = At(site, up(path))
    narrowed = path.startswith("find")
    wanted = shelf.wanted
    return _render(
        "listing.html.j2",
        at=at,
        current="" if narrowed else "listing",
        shelf=shelf,
        narrowed=narrowed,
        groups=groups(shelf, at),
        gpus=_gpus(shelf) if site.live else (),
        kept=[(facet, value) for facet in FACETS for value in wanted.wanted(facet)],
    )


def _gpus(shelf: Shelf) -> tuple[tuple[str, str], ...]:
    kinds = {*shelf.counts.get("gpu", {}), *shelf.wanted.fits} - {NO_GPU}
    return tuple(sorted(((kind, gpu_words(kind)) for kind in kinds), key=lambda pair: pair[1]))


def render_find(site: Site, shelf: Shelf, path: str = "find") -> bytes:
    """Render what a filter leaves; the same page as :func:`render_listing`."""
    return render_listing(site, shelf, path)


def render_facet(site: Site, facet: str, shelf: Shelf, path: str) -> bytes:
    """Render every value of a facet, with how many packages have it."""
    at = At(site, up(path))
    return _render("facet.html.j2", at=at, current="", words=FACET_WORDS[facet], choices=all_choices(facet, shelf, at))


def render_edition(site: Site, entry: Entry, edition: Edition, path: str, beside: Beside = Beside()) -> bytes:
    """Render the page of a version.

    Args:
        site: What all pages have in common.
        entry: The package.
        edition: The version.
        path: Where the page stands: the package's own page shows its latest version.
        beside: What stands beside it.
    """
    at, card = At(site, up(path)), edition.card
    quoted = ((measurement, at.quote(measurement)) for measurement in card.measurements)
    return _render(
        "edition.html.j2",
        at=at,
        current="",
        edition=edition,
        editions=entry.editions,
        latest=entry.latest,
        contents=[item for item in _CONTENTS if item[0] != "difference" or edition.difference],
        links=_Links(edition.name, edition.handle),
        plots=draw(beside.series),
        quotes=[(measurement, quote) for measurement, quote in quoted if quote.lines],
        deploy=_deploy(edition.deploy),
        systems=by_kind(edition.fits),
        gpus=kinds_offered(edition.fits) if site.live else (),
        own_gpu=card.package.recipe.system.accelerator.lower(),
        comparisons=beside.comparisons,
        downloads=site.kits.get((edition.name, edition.handle), ()),
    )


def _deploy(files: Sequence[DeployFile]) -> list[tuple[str, list[DeployFile]]]:
    """Put the files that carry the launch first, and those that stand beside them behind."""
    carrying = [file for file in files if file.proven != COMPANION]
    beside = [file for file in files if file.proven == COMPANION]
    count = "1 file that stands" if len(beside) == 1 else f"{len(beside)} files that stand"
    return [("Files that carry the launch", carrying), *([(f"{count} beside them", beside)] if beside else [])]


def render_fit(  # noqa: PLR0913  (what was asked, and the answer or why there is none)
    site: Site, edition: Edition, path: str, *, gpu: str, count: int, fit: SystemFit | None, why: str = ""
) -> bytes:
    """Render the answer for one system that a reader asked about.

    Args:
        site: What all pages have in common.
        edition: The version.
        path: Where the page stands: ``packages/NAME/HANDLE/fit``.
        gpu: Kind of GPU that was asked about.
        count: How many.
        fit: The answer; ``None`` where there is none.
        why: Why there is none.
    """
    words = gpu_words(gpu)
    return _render(
        "fit.html.j2",
        at=At(site, up(path)),
        current="",
        edition=edition,
        links=_Links(edition.name, edition.handle),
        asked=fit.label if fit else f"{count} x {words}",
        fit=fit,
        why=why or "This catalog does not know such a system.",
        gpus=kinds_offered(edition.fits),
        own_gpu=gpu,
        count=count,
    )


def render_compare(site: Site, comparison: Comparison, path: str) -> bytes:
    """Render two versions side by side."""
    return _render("compare.html.j2", at=At(site, up(path)), current="", comparison=comparison)


def render_claim(site: Site, page: ClaimPage, path: str) -> bytes:
    """Render the page of a claim."""
    at = At(site, up(path))
    return _render("claim.html.j2", at=at, current="", page=page, package=at.owner(page.slug))


def render_retractions(site: Site, retractions: Sequence[TakenBack]) -> bytes:
    """Render what was taken back."""
    at = At(site, up(RETRACTIONS_PATH))
    return _render("retractions.html.j2", at=at, current="retractions", retractions=retractions)


def render_reading(site: Site) -> bytes:
    """Render the page that says how to read a card."""
    return _render("reading.html.j2", at=At(site, up(READING_PATH)), current="reading")


def render_performance(site: Site, performance: Performance) -> bytes:
    """Render the operator latencies of others: coverage, curves, and what was taken back."""
    numbered = {id(curve): number for number, curve in enumerate(performance.curves, start=1)}
    drawn = {
        lane.lane: [(c, draw_curve(c, numbered[id(c)])) for c in performance.of(lane.lane)]
        for lane in performance.lanes
    }
    return _render(
        "performance.html.j2",
        at=At(site, up(PERFORMANCE)),
        current="performance",
        performance=performance,
        drawn=drawn,
        changes=changes(performance.curves),
    )


def assets() -> Mapping[str, bytes]:
    """Give the style sheet and the script, by path."""
    return {name: asset(name).encode() for name in (STYLE, SCRIPT)}


def _render(template: str, **values: object) -> bytes:
    return templates().get_template(template).render(values).encode()
