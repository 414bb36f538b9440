"""By what a version can be found, which filters there are, and what they leave."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from dayzero.core.quantities import Bytes

_NO_MEMORY = Bytes(0)
_WORD = re.compile(r"[^\W_]+")

FACETS: Final = ("model", "architecture", "gpu", "gpus", "engine", "precision", "status", "licence", "tier")
"""The facets whose values are counted, in the order in which they are offered."""

NO_GPU: Final = "cpu"
"""What the facet ``gpu`` says of a recipe for a machine without GPUs."""

NO_STATUS: Final = "none"
"""What the facet ``status`` says where no step of the ladder was shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """One version, as it is found.

    Attributes:
        name: Name of the package.
        handle: The version, or ``draft``.
        title: Title of its card.
        latest: It is the version that a listing shows of its package.
        yanked: Nobody should take it any more.
        published: When it was published, ``""`` for a draft.
        model: What people call the model.
        architecture: Its architecture.
        gpu: Kind of GPU that the recipe is for, ``cpu`` for none.
        gpus: How many of them, in all machines, as a word of digits (``8``); ``0`` for none.
        fits: Kinds of GPU on which some system holds it, by measurement or computation.
        memory_each: Memory of one GPU that the recipe asks for, or of the host where it asks for none.
        memory: The same of all GPUs together.
        engine: Name of the engine.
        precision: Storage types of the model's tensors, in order.
        status: Highest step of the ladder that was shown, ``none`` where none was.
        licence: SPDX expression of the model's licence.
        tier: ``open`` or ``licensed``.
        text: Everything that a search for words looks through.
    """

    name: str
    handle: str
    title: str
    latest: bool
    yanked: bool
    published: str
    model: str
    architecture: str
    gpu: str
    gpus: str
    fits: tuple[str, ...]
    memory_each: Bytes
    memory: Bytes
    engine: str
    precision: tuple[str, ...]
    status: str
    licence: str
    tier: str
    text: str

    def values(self, facet: str) -> tuple[str, ...]:
        """Give the values of one of :data:`FACETS`."""
        if facet not in FACETS:
            raise KeyError(facet)
        found: str | tuple[str, ...] = getattr(self, facet)
        return found if isinstance(found, tuple) else (found,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a reader looks for. A facet that is left empty takes every value; one with several takes any of these.

    Attributes:
        model, architecture, gpu, gpus, engine, precision, status, licence, tier: Wanted values, see :class:`Facets`.
        fits: Kinds of GPU, any of which has to hold it.
        min_memory: At least so much memory is asked for in all.
        max_memory: At most so much, which is what who has a machine asks; ``None`` for any.
        q: Words; each has to be the beginning of some word of the text.
        yanked: Yanked versions too.
        every_version: Every version, and not only the one that a listing shows.
    """

    model: tuple[str, ...] = ()
    architecture: tuple[str, ...] = ()
    gpu: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    engine: tuple[str, ...] = ()
    precision: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    licence: tuple[str, ...] = ()
    tier: tuple[str, ...] = ()
    fits: tuple[str, ...] = ()
    min_memory: Bytes = _NO_MEMORY
    max_memory: Bytes | None = None
    q: str = ""
    yanked: bool = True
    every_version: bool = False

    def wanted(self, facet: str) -> tuple[str, ...]:
        """Give the wanted values of one of :data:`FACETS`; none for every one."""
        if facet not in FACETS:
            raise KeyError(facet)
        values: tuple[str, ...] = getattr(self, facet)
        return values


FacetCounts: TypeAlias = Mapping[str, Mapping[str, int]]
"""How many versions have each value of each facet, among those that all *other* facets of the filter leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One page of what a filter leaves.

    Attributes:
        total: How many there are in all.
        hits: Those of this page, as (name, handle): by name, or the best first where words are looked for.
        counts: See :data:`FacetCounts`.
        stamp: Names the state that it was found in.
    """

    total: int
    hits: tuple[tuple[str, str], ...]
    counts: FacetCounts
    stamp: str


def words(text: str) -> tuple[str, ...]:
    """Split a text into the words that a search compares: runs of letters and digits; case and accents are no difference."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return tuple(_WORD.findall("".join(sign for sign in folded if not unicodedata.combining(sign))))


def matches(facets: Facets, wanted: Filter) -> bool:
    """Say whether a version is what is looked for."""
    return _eligible(facets, wanted) and not _against(facets, wanted)


def count(versions: Iterable[Facets], wanted: Filter) -> FacetCounts:
    """Count the values of every facet among what the other facets of the filter leave, the commonest first."""
    counts: dict[str, dict[str, int]] = {facet: {} for facet in FACETS}
    for facets in versions:
        against = _against(facets, wanted)
        if len(against) > 1 or not _eligible(facets, wanted):
            continue
        for facet in against or FACETS:
            for value in facets.values(facet):
                counts[facet][value] = counts[facet].get(value, 0) + 1
    return {
        facet: dict(sorted(values.items(), key=lambda item: (-item[1], item[0]))) for facet, values in counts.items()
    }


def _against(facets: Facets, wanted: Filter) -> tuple[str, ...]:
    """Name the facets by which the version is not what is looked for."""
    return tuple(
        facet for facet in FACETS if (chosen := wanted.wanted(facet)) and not set(chosen) & set(facets.values(facet))
    )


def _eligible(facets: Facets, wanted: Filter) -> bool:
    """Say whether everything but the facets leaves the version."""
    if (facets.yanked and not wanted.yanked) or not (facets.latest or wanted.every_version):
        return False
    if wanted.fits and not set(wanted.fits) & set(facets.fits):
        return False
    if facets.memory < wanted.min_memory or (wanted.max_memory is not None and facets.memory > wanted.max_memory):
        return False
    sought = words(wanted.q)
    if not sought:
        return True
    said = set(words(facets.text))
    return all(word in said or any(other.startswith(word) for other in said) for word in sought)
