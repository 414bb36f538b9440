"""What a listing shows on one page, and where its links for narrowing it lead."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from dayzero.adapters.site.place import At
from dayzero.catalog.edition import Edition
from dayzero.catalog.facets import FACETS, NO_GPU, NO_STATUS, FacetCounts, Filter
from dayzero.catalog.paths import find_path, value_folder
from dayzero.core.accelerators import accelerator
from dayzero.core.errors import InputError

PER_PAGE: Final = 50
"""How many packages a page of a static listing shows."""

_SHOWN: Final = 8
_EVERYTHING: Final = Filter()
_GIB: Final = 1024**3

FACET_WORDS: Final[Mapping[str, str]] = {
    "model": "Model",
    "architecture": "Architecture",
    "gpu": "GPU",
    "gpus": "GPUs in all",
    "engine": "Engine",
    "precision": "Precision",
    "status": "Highest status",
    "licence": "Licence of the model",
    "tier": "Tier",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """One page of a listing.

    Attributes:
        heading: What is listed, in words.
        editions: What this page shows, in order.
        total: How many the whole listing has.
        first: How many come before this page.
        counts: How many there are by facet and value.
        wanted: What is looked for; a static page has at most one value of one facet in it.
        before: Address of the page before, from the root; ``""`` for none.
        after: Address of the page after.
    """

    heading: str
    editions: tuple[Edition, ...]
    total: int
    counts: FacetCounts
    first: int = 0
    wanted: Filter = _EVERYTHING
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One value of a facet as it is offered: ``href`` leads to what has it, or back where it is ``chosen``."""

    words: str
    count: int
    href: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One facet as it is offered, with the commonest of its ``values``; ``href`` leads to all of them."""

    words: str
    choices: tuple[Choice, ...]
    href: str
    values: int


def facet_path(facet: str) -> str:
    """Say where the page with every value of a facet stands."""
    return f"find/{facet}/index.html"


def page_of(path: str, number: int) -> str:
    """Say where a further page of a listing stands; the first is the listing itself."""
    if number == 1:
        return path
    folder = path.removesuffix("index.html")
    return f"{folder or 'listing/'}{number}/index.html"


def groups(shelf: Shelf, at: At) -> tuple[Group, ...]:
    """Offer every facet, the commonest values first and those that are chosen among them."""
    return tuple(
        Group(
            words=FACET_WORDS[facet],
            choices=tuple(_choices(facet, shelf, at, most=_SHOWN)),
            href=at.to(facet_path(facet)),
            values=len(shelf.counts[facet]),
        )
        for facet in FACETS
        if shelf.counts.get(facet)
    )


def all_choices(facet: str, shelf: Shelf, at: At) -> tuple[Choice, ...]:
    """Offer every value of a facet, by name."""
    found = _choices(facet, shelf, at, most=len(shelf.counts[facet]))
    return tuple(sorted(found, key=lambda choice: choice.words.casefold()))


def value_words(facet: str, value: str) -> str:
    """Put a facet's value into words."""
    if facet == "gpu":
        return "none, CPU only" if value == NO_GPU else gpu_words(value)
    if facet == "gpus":
        return "none" if value == "0" else value
    return "nothing shown yet" if (facet, value) == ("status", NO_STATUS) else value


def gpu_words(kind: str) -> str:
    """Say what the vendor calls a kind of GPU; the kind itself where it is not known."""
    try:
        return accelerator(kind).label
    except InputError:
        return kind


def asking(wanted: Filter, facet: str, values: tuple[str, ...]) -> Filter:
    """Put other values of a facet into a filter."""
    changed: dict[str, Any] = {facet: values}
    return replace(wanted, **changed)


def query(wanted: Filter, *, offset: int = 0) -> str:
    """Write what is looked for as the query of an address on the live server, ``?`` included; ``""`` for everything."""
    pairs = [(facet, value) for facet in (*FACETS, "fits") for value in getattr(wanted, facet)]
    if wanted.min_memory.count:
        pairs.append(("min_memory_gib", f"{wanted.min_memory.count / _GIB:g}"))
    if wanted.max_memory is not None:
        pairs.append(("max_memory_gib", f"{wanted.max_memory.count / _GIB:g}"))
    if wanted.q:
        pairs.append(("q", wanted.q))
    if offset:
        pairs.append(("offset", str(offset)))
    return f"?{urlencode(pairs)}" if pairs else ""


def _choices(facet: str, shelf: Shelf, at: At, *, most: int) -> Iterator[Choice]:
    chosen = shelf.wanted.wanted(facet)
    values = list(shelf.counts[facet].items())
    offered = values[:most] + [item for item in values[most:] if item[0] in chosen]
    for value, number in offered:
        yield Choice(
            words=value_words(facet, value),
            count=number,
            href=_href(facet, value, shelf.wanted, at),
            chosen=value in chosen,
        )


def _href(facet: str, value: str, wanted: Filter, at: At) -> str:
    if not at.site.live:
        return at.to(find_path(facet, value_folder(value)))
    chosen = wanted.wanted(facet)
    others = tuple(other for other in chosen if other != value) if value in chosen else (*chosen, value)
    return f"{at.root}find{query(asking(wanted, facet, others))}"
