"""The package definition: a recipe and what is promised, measured and withheld about it."""

from dataclasses import dataclass

from dayzero.core.pins import EngineBuild
from dayzero.core.recipe import Recipe
from dayzero.core.workload import Workload

GATES = (("gate-distribution", "distribution gate"), ("gate-task", "task gate"), ("construction", "construction"))
"""What can be said of whether it is still the model: the handle of the claim under the package's name, and the gate's name."""

SKIPPED = "skipped"
"""What stands in place of a verdict where a gate was not run; it is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """A failure that the recipe resolves.

    Attributes:
        advisory: Id of the advisory or wall that describes it.
        build: The build that shows it.
        resolution: What gets past it, in words.
        avoided_by: The recipe's own settings that avoid it, where its build would show it without them.
    """

    advisory: str
    build: EngineBuild
    resolution: str
    avoided_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRef:
    """A number that the card shows, named by the claim it comes from; the value itself is never typed here.

    Attributes:
        id: Handle of the claim, unique in the package; its slug in the ledger is ``<package>/<id>``.
        label: What the number is, in words.
        unit: Its unit, ``""`` for a bare count.
        source: Which raw file of a run it comes from (``requests.jsonl``, ``start.json``).
        pointer: RFC 6901 pointer to the value in a JSON source, ``""`` where the claim rests on the whole file.
        extractor: Name and version of the extractor (``bench-rows@1``).
        parameters: What the extractor is asked, as ordered (name, value) pairs.
        headline: True for the one number at the top of the card.
    """

    id: str
    label: str
    unit: str
    source: str
    extractor: str
    parameters: tuple[tuple[str, str], ...]
    pointer: str = ""
    headline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmeasured:
    """A topic about which no number exists, and why."""

    topic: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseCondition:
    """What the package waits for before its next version, and how a build's files show that it is there.

    Attributes:
        when: The condition, in words.
        kind: What to look for: ``module``, ``symbol`` (``module:name``), ``architecture`` or ``flag``.
        wanted: Its name.
    """

    when: str
    kind: str
    wanted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One entry of the package's changelog."""

    version: str
    date: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package definition, parsed.

    Attributes:
        name: Folder name under ``packages/``.
        version: Version of the definition.
        title: One line for the listing.
        summary: What it is for, in one paragraph.
        tier: ``open`` (free to take) or ``licensed`` (a signed licence comes first).
        technique: What was changed in the weights; ``""`` means nothing was, on purpose.
        recipe: What is served.
        workload: Under which load it is measured.
        walls: Which failures it resolves.
        claims: Which numbers the card shows.
        unmeasured: Which topics have no number.
        changes: What changed, newest first.
        conditions: What it waits for before its next version.
    """

    name: str
    version: str
    title: str
    summary: str
    tier: str
    technique: str
    recipe: Recipe
    workload: Workload
    walls: tuple[Wall, ...]
    claims: tuple[ClaimRef, ...]
    unmeasured: tuple[Unmeasured, ...]
    changes: tuple[Change, ...]
    conditions: tuple[ReleaseCondition, ...] = ()

    def slug(self, claim: ClaimRef) -> str:
        """Give the claim's handle in the ledger."""
        return f"{self.name}/{claim.id}"
