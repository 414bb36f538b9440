"""Render a listing to the files of a static site: the same listing gives the same bytes."""

import json
import shlex
from collections.abc import Callable, Mapping
from importlib import resources
from typing import TypeAlias, TypeVar

import jinja2

from dayzero.catalog.document import claim_path, document, page_path, raw_path
from dayzero.catalog.model import Absent, FitState, Gone, Listing, Reached, Shown
from dayzero.catalog.page_model import CauseBasis, ClaimPage, DerivedBasis, PageState, RawBasis
from dayzero.catalog.words import fit_words, origin_words, place_words, state_words, wheel_platform
from dayzero.core.pins import InDistribution

SiteFile: TypeAlias = tuple[str, bytes]
"""A path relative to the site, with ``/``, and the file's bytes."""

_Type = TypeVar("_Type")

_TEMPLATES = ("base.html.j2", "parts.html.j2", "index.html.j2", "card.html.j2", "claim.html.j2")
_TONES: Mapping[FitState, str] = {
    FitState.MEASURED_FITS: "good",
    FitState.COMPUTED_FITS: "good",
    FitState.MEASURED_DOES_NOT_FIT: "warn",
    FitState.UNKNOWN: "mute",
}
_STATE_TONES: Mapping[PageState, str] = {
    PageState.STANDING: "good",
    PageState.FLAGGED: "warn",
    PageState.SUPERSEDED: "mute",
    PageState.CORRECTED: "mute",
    PageState.WITHDRAWN: "warn",
    PageState.RETRACTED: "warn",
    PageState.UNSUPPORTED: "warn",
    PageState.UNCITABLE: "mute",
}


def render(listing: Listing) -> tuple[SiteFile, ...]:
    """Render ``index.html``, ``index.json``, ``style.css``, ``packages/<name>/index.html`` and ``claims/<slug>/index.html``.

    The raw files that the pages link to are not in it: see :func:`dayzero.catalog.listing.raw_files`.
    """
    environment = _environment(frozenset(page.slug for page in listing.pages))
    index = environment.get_template("index.html.j2").render(listing=listing, root="")
    card_page, claim_page = environment.get_template("card.html.j2"), environment.get_template("claim.html.j2")
    return (
        ("index.html", index.encode()),
        ("index.json", (json.dumps(document(listing), indent=2, ensure_ascii=False) + "\n").encode()),
        ("style.css", _template("style.css").encode()),
        *(
            (page_path(card.package.name), card_page.render(card=card, root="../../").encode())
            for card in listing.cards
        ),
        *(
            (
                claim_path(page.slug),
                claim_page.render(
                    page=page, package=_package_of(page, listing), root=_up(claim_path(page.slug))
                ).encode(),
            )
            for page in listing.pages
        ),
    )


def _package_of(page: ClaimPage, listing: Listing) -> str:
    """Name the package whose card a claim belongs to, ``""`` where none is listed."""
    names = (card.package.name for card in listing.cards)
    return next((name for name in names if page.slug.startswith(f"{name}/")), "")


def _up(path: str) -> str:
    return "../" * path.count("/")


def _template(name: str) -> str:
    return (resources.files("dayzero.adapters.site") / "templates" / name).read_text(encoding="utf-8")


def _environment(pages: frozenset[str]) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.DictLoader({name: _template(name) for name in _TEMPLATES}),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["pages"] = pages
    environment.filters.update(
        capfirst=lambda text: text[:1].upper() + text[1:],
        claim_path=claim_path,
        cell=lambda parameters: dict(parameters).get("cell", ""),
        day=lambda instant: instant[:10],
        fit_tone=_TONES.__getitem__,
        fit_words=fit_words,
        grouped=lambda number: f"{number:,}",
        origin=origin_words,
        page_path=page_path,
        place=place_words,
        platform=wheel_platform,
        raw_path=raw_path,
        shell=shlex.join,
        state_tone=_STATE_TONES.__getitem__,
        state_words=state_words,
    )
    environment.tests.update(
        shown=_instance_of(Shown),
        gone=_instance_of(Gone),
        absent=_instance_of(Absent),
        reached=_instance_of(Reached),
        raw_basis=_instance_of(RawBasis),
        derived_basis=_instance_of(DerivedBasis),
        cause_basis=_instance_of(CauseBasis),
        in_distribution=_instance_of(InDistribution),
    )
    return environment


def _instance_of(kind: type[_Type]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kind)
