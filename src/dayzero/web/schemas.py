"""The shapes of the API's documents, for OpenAPI: the documents are written in the catalog, and tests hold them to these."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Shape(BaseModel):
    """A JSON object with just these members."""

    model_config = ConfigDict(extra="forbid")


class Error(Shape):
    """Why there is no answer, and what to do."""

    error: str
    hint: str


class Yank(Shape):
    """Since when nobody should take a version any more, and why."""

    at: str
    reason: str


class Step(Shape):
    """One step of the status ladder; ``date`` and ``pin`` where it was reached, ``why`` where it was not."""

    step: str
    state: Literal["reached", "not yet"]
    date: str = ""
    pin: str = ""
    why: str = ""


class Mark(Shape):
    """Something that has to be known beside a value."""

    word: str
    reason: str
    slug: str = ""
    at: str = ""


class Number(Shape):
    """A number in short: its value where it is shown, the reason where it is not. Values are text, as they are printed."""

    slug: str
    label: str
    statistic: str
    load: str
    state: Literal["shown", "retracted", "withdrawn", "absent"]
    value: str = ""
    unit: str = ""
    marks: list[Mark] = []
    reason: str = ""
    at: str = ""


class Raw(Shape):
    """The raw file under a number."""

    path: str
    sha256: str
    name: str
    bytes: int
    captured_at: str
    command: object


class Measurement(Number):
    """A number with where it comes from."""

    page: str | None
    raw: Raw | None = None
    place: str = ""
    extractor: str = ""
    parameters: dict[str, str] = {}
    subject: str = ""


class Summary(Shape):
    """A version in short, as a listing shows it."""

    name: str
    version: str
    released: str | None
    yanked: Yank | None
    title: str
    summary: str
    tier: str
    model: str
    architecture: str
    precision: list[str]
    licence: str
    engine: str
    engine_build: str
    floor: str
    fit: Literal["measured-fits", "computed-fits", "measured-does-not-fit", "computed-does-not-fit", "unknown"]
    fits: list[str]
    status: Step | None
    headline: Number | None
    gone: list[str]
    recipe_sha256: str
    definition_sha256: str
    page: str
    document: str
    package: str


Facets = dict[str, dict[str, int]]
"""How many versions have each value of each facet."""


class Found(Shape):
    """One portion of what a filter leaves; each facet counts what the other ones leave."""

    schema_: Literal["dayzero/catalog-found/v1"] = Field(alias="schema")
    as_of: str
    total: int
    offset: int
    limit: int
    next: str | None
    facets: Facets
    packages: list[Summary]


class Card(Shape):
    """A version on which something was shown that was taken back."""

    name: str
    version: str
    page: str


class TakenBack(Shape):
    """What the ledger took back."""

    slug: str
    label: str
    kind: Literal["retracted", "withdrawn", "corrected"]
    reason: str
    at: str
    ledger_line: int
    cards: list[Card]
    page: str


class Packages(Shape):
    """Everything that is on offer."""

    schema_: Literal["dayzero/catalog/v1"] = Field(alias="schema")
    as_of: str
    ledger_head: str
    release_head: str
    facets: Facets
    packages: list[Summary]
    retractions: list[TakenBack]


class Package(Shape):
    """A package with all its versions, newest first."""

    schema_: Literal["dayzero/catalog-package/v1"] = Field(alias="schema")
    name: str
    latest: str
    page: str
    editions: list[Summary]


class KitPin(Shape):
    """The kit that was published with a version."""

    archive: str
    sha256: str
    bytes: int


class Release(Shape):
    """What was published; these bytes never change."""

    schema_: Literal["dayzero/catalog-release/v1"] = Field(alias="schema")
    name: str
    version: str
    published_at: str
    definition: str
    definition_sha256: str
    recipe_sha256: str
    kit: KitPin | None


class Said(Shape):
    """Something that was said of a claim."""

    what: str
    at: str
    reason: str


class Event(Said):
    """One event in the history of a claim."""

    state: str | None
    value: str | None


class Claim(Shape):
    """Where a claim stands."""

    schema_: Literal["dayzero/catalog-claim/v1"] = Field(alias="schema")
    slug: str
    label: str
    state: str
    value: str | None
    unit: str
    reasons: list[Said]
    page: str
    document: str
    raw: list[str]
    derived: list[str]
    explanations: list[str]
    history: list[Event]


class SystemFit(Shape):
    """Whether a version runs on one system."""

    system: str
    label: str
    gpu: str | None
    gpus: int
    nodes: int
    state: Literal["fits", "does-not-fit", "unknown"]
    ground: Literal["measured", "computed"] | None
    why: str
    own: bool


class FitAnswer(SystemFit):
    """The answer for the system that was asked about."""

    schema_: Literal["dayzero/catalog-fit/v1"] = Field(alias="schema")
    name: str
    version: str


class DeployFile(Shape):
    """One file of one deploy target."""

    target: str
    file: str
    path: str
    sha256: str
    bytes: int
    parsed_back: Literal["proven", "refuted", "undecided", "companion"]
    why: str


class NotCarried(Shape):
    """A deploy target that cannot carry the launch."""

    target: str
    why: str


class Changed(Shape):
    """One thing that the definition says otherwise than the version before."""

    topic: str
    name: str
    before: str
    after: str


class ClaimChange(Shape):
    """One number in both versions."""

    id: str
    label: str
    load: str
    before: str | None
    after: str | None
    why_not_comparable: str | None
    ratio: str | None


class Difference(Shape):
    """A version beside the one before it."""

    before: str
    same_recipe: bool
    same_grid: bool
    grid: str
    changed: list[Changed]
    claims: list[ClaimChange]


class Terms(Shape):
    """Under which terms a version may be used."""

    name: str
    sha256: str
    text: str
    maintenance: str


class Floor(Shape):
    """What a machine has to have."""

    sentence: str
    fit: str
    fit_in_words: str
    why: str


class Gate(Shape):
    """What one gate says; ``skipped`` is no verdict."""

    gate: str
    verdict: str
    why: str


class Unmeasured(Shape):
    """A topic about which no number exists."""

    topic: str
    why: str


class Kit(Shape):
    """The kit, verified when the catalog was read."""

    archive: str
    bytes: int
    weight_bytes: int
    key_fingerprint: str
    demo_key: bool
    verify_command: str


class Change(Shape):
    """One entry of the changelog."""

    version: str
    date: str
    kind: str
    text: str


class Edition(Shape):
    """A version as it is now; docs/reference/catalog.md has the members of what is open here."""

    schema_: Literal["dayzero/catalog-edition/v1"] = Field(alias="schema")
    name: str
    version: str
    title: str
    summary: str
    tier: str
    technique: str
    recipe_sha256: str
    model: dict[str, object]
    engine: dict[str, object]
    kernels: list[dict[str, str]]
    launch: dict[str, object]
    floor: Floor
    status: list[Step]
    gates: list[Gate]
    headline: str | None
    measurements: list[Measurement]
    not_measured: list[Unmeasured]
    workload: dict[str, object]
    walls: list[dict[str, object]]
    kit: Kit | None
    changes: list[Change]
    page: str
    released: str | None
    release: str | None
    yanked: Yank | None
    definition: str
    definition_sha256: str
    deploy: list[DeployFile]
    not_carried: list[NotCarried]
    fits: list[SystemFit]
    difference: Difference | None
    terms: Terms | None


class Health(Shape):
    """The catalog can be read."""

    status: Literal["ok"]
    packages: int
    as_of: str
    ledger_head: str
    release_head: str
