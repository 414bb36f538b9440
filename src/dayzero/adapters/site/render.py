"""Render a listing to the files of a static site: the same listing gives the same bytes."""

import json
import shlex
from collections.abc import Callable, Mapping
from importlib import resources
from typing import TypeAlias, TypeVar

import jinja2

from dayzero.catalog.document import document, page_path, raw_path
from dayzero.catalog.model import Absent, FitState, Gone, Listing, Reached, Shown
from dayzero.catalog.words import fit_words, origin_words, place_words, wheel_platform
from dayzero.core.pins import InDistribution

SiteFile: TypeAlias = tuple[str, bytes]
"""A path relative to the site, with ``/``, and the file's bytes."""

_Type = TypeVar("_Type")

_TEMPLATES = ("base.html.j2", "parts.html.j2", "index.html.j2", "card.html.j2")
_TONES: Mapping[FitState, str] = {
    FitState.MEASURED_FITS: "good",
    FitState.COMPUTED_FITS: "good",
    FitState.MEASURED_DOES_NOT_FIT: "warn",
    FitState.UNKNOWN: "mute",
}


def render(listing: Listing) -> tuple[SiteFile, ...]:
    """Render ``index.html``, ``index.json``, ``style.css`` and one ``packages/<name>/index.html`` a card, in this order.

    The raw files that the pages link to are not in it: see :func:`dayzero.catalog.listing.raw_files`.
    """
    environment = _environment()
    index = environment.get_template("index.html.j2").render(listing=listing, root="")
    card_page = environment.get_template("card.html.j2")
    return (
        ("index.html", index.encode()),
        ("index.json", (json.dumps(document(listing), indent=2, ensure_ascii=False) + "\n").encode()),
        ("style.css", _template("style.css").encode()),
        *(
            (page_path(card.package.name), card_page.render(card=card, root="../../").encode())
            for card in listing.cards
        ),
    )


def _template(name: str) -> str:
    return (resources.files("dayzero.adapters.site") / "templates" / name).read_text(encoding="utf-8")


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.DictLoader({name: _template(name) for name in _TEMPLATES}),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        capfirst=lambda text: text[:1].upper() + text[1:],
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
    )
    environment.tests.update(
        shown=_instance_of(Shown),
        gone=_instance_of(Gone),
        absent=_instance_of(Absent),
        reached=_instance_of(Reached),
        in_distribution=_instance_of(InDistribution),
    )
    return environment


def _instance_of(kind: type[_Type]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kind)
