"""Facts read from a build, the questions put to them, and the report."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from dayzero.core.verdict import Place, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class FactTable:
    """A closed table that a build carries: what is not in it, the build does not know.

    Attributes:
        noun: What the entries are (``architecture``, ``setting``, ``tensor type``).
        entries: Each entry and where it stands.
        place: The table as a whole: what to look at when an entry is missing.
    """

    noun: str
    entries: tuple[tuple[str, Place], ...]
    place: Place

    def find(self, name: str) -> Place | None:
        """Give the place of an entry, or ``None`` when the table lacks it."""
        return next((place for entry, place in self.entries if entry == name), None)

    def names(self) -> tuple[str, ...]:
        """List the entries in table order."""
        return tuple(name for name, _ in self.entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A table that could not be read from this build, and why."""

    noun: str
    reason: str


Facts: TypeAlias = FactTable | Unread


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFacts:
    """What one build says about itself.

    Attributes:
        build: The build (``xllamacpp==2026.8.10229``).
        beside: The kernel library that was read beside it, and who pins it; ``""`` where it is built in, or none is known.
        architectures: Model architectures that it can compute.
        settings: Settings that it takes.
        tensor_types: Storage types that its kernel library can read.
    """

    build: str
    architectures: Facts
    settings: Facts
    tensor_types: Facts
    beside: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question and its answer."""

    id: str
    question: str
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What is known to resolve a refuted check: the advisory, and the first build without the wall."""

    advisory: str
    first_build: str
    resolution: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The audit of one recipe against one build; ``beside`` is that of its facts."""

    build: str
    model: str
    checks: tuple[Check, ...]
    remedies: tuple[Remedy, ...]
    verdict: Verdict
    beside: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSurvey:
    """Where a survey found something, or could.

    Attributes:
        lacking: The modules that ask for what is not there.
        probing: The modules with a probe that is false.
        unread: The modules that cannot be parsed, those that are asked, too.
        found: Digest of what was found there; ``""`` where this says only where to look.
        within: Of a lacking module, the lines of the functions that ask so, 1-based; all where the module is not named here.
    """

    lacking: tuple[str, ...]
    probing: tuple[str, ...]
    unread: tuple[str, ...]
    found: str
    within: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfSurvey:
    """What a survey of some of an asker's modules came to.

    Attributes:
        found: Where it found something.
        outline: Where one with other versions of what is asked could: nothing else there rests on them.
    """

    found: KeptSurvey
    outline: KeptSurvey
