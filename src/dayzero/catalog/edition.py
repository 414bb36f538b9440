"""One version of a package as it is listed, a package with all its versions, and the whole catalog."""

from collections.abc import Callable
from dataclasses import dataclass, field

from dayzero.catalog.difference import EditionDifference
from dayzero.catalog.model import Card
from dayzero.catalog.page_model import ClaimPage
from dayzero.catalog.performance import Performance
from dayzero.catalog.release import Release, Yank
from dayzero.core.pins import Sha256

DRAFT = "draft"
"""What stands in the place of a version in the paths of a definition that is not released."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployFile:
    """One file of one deploy target, as ``dayzero render`` writes it.

    Attributes:
        target: The target whose file it is; one that several targets need is there once for each.
        path: Where it stands beside the target's other files, with ``/``.
        content: Its bytes.
        sha256: Digest of those.
        proven: ``proven`` where the launch was read back out of it and is the recipe's, word for word; ``refuted``, or
            ``undecided`` otherwise; ``companion`` for a file that stands beside such a one and carries no launch.
        why: What that rests on, as a sentence.
    """

    target: str
    path: str
    content: bytes
    sha256: Sha256
    proven: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCarried:
    """A deploy target that cannot carry the launch, and why."""

    target: str
    why: str


@dataclass(frozen=True, slots=True)
class Deployment:
    """The deploy files of a version.

    Attributes:
        files: By target and path.
        not_carried: The deploy targets that have none.
    """

    files: tuple[DeployFile, ...] = ()
    not_carried: tuple[NotCarried, ...] = ()


FITS, DOES_NOT_FIT, UNKNOWN = "fits", "does-not-fit", "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFit:
    """Whether the model runs on one system.

    Attributes:
        system: Short name (``8xb200``, ``2x8xh200``); of a machine without GPUs the recipe's own name for it.
        label: The same in words (``8 x NVIDIA B200``).
        gpu: Kind of GPU (``b200``), ``""`` for a machine without.
        count: GPUs in all.
        nodes: Machines.
        state: ``fits``, ``does-not-fit`` or ``unknown``.
        ground: ``measured``, ``computed``, or ``""`` where it is unknown.
        sentence: Why, for who reads it.
        own: True for the system that the recipe names.
    """

    system: str
    label: str
    gpu: str
    count: int
    nodes: int
    state: str
    ground: str
    sentence: str
    own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Under which terms a version may be used.

    Attributes:
        name: What they are called.
        text: The whole text.
        sha256: Digest of the text.
        maintenance: Who gets later versions, as one sentence.
    """

    name: str
    text: str
    sha256: Sha256
    maintenance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """One version of one package as it is listed.

    Attributes:
        card: What its card shows: every number on it belongs to this version's recipe.
        release: When and as what it was published; ``None`` for a draft.
        yank: That nobody should take it any more, and why; ``None`` as a rule.
        definition: Text of its ``package.toml``, as published.
        definition_sha256: Digest of that file.
        rendering: Renders its deploy files; asked when they are shown, which a listing never does.
        fits: On which systems it runs, its own first, then the least memory first.
        difference: What is other than in the version before it; ``None`` for the first.
        terms: Under which terms it may be used; ``None`` where none are on record.
    """

    card: Card
    release: Release | None
    yank: Yank | None
    definition: str
    definition_sha256: Sha256
    rendering: Callable[[], Deployment] = field(compare=False)
    fits: tuple[SystemFit, ...]
    difference: EditionDifference | None
    terms: Terms | None

    @property
    def name(self) -> str:
        """Name of the package."""
        return self.card.package.name

    @property
    def version(self) -> str:
        """Version that the definition states; that of a draft may be one that is released."""
        return self.card.package.version

    @property
    def handle(self) -> str:
        """What names it in paths and beside its package's name: the version, or ``draft``."""
        return DRAFT if self.release is None else self.release.version

    @property
    def recipe_sha256(self) -> Sha256:
        """Digest of its recipe."""
        return self.card.recipe

    @property
    def published(self) -> str:
        """When it was published: UTC, RFC 3339; ``""`` for a draft."""
        return "" if self.release is None else self.release.at

    @property
    def deploy(self) -> tuple[DeployFile, ...]:
        """Its deploy files, by target and path.

        Raises:
            IntegrityError: A target's own parser does not read the launch back out of its file.
        """
        return self.rendering().files

    @property
    def not_carried(self) -> tuple[NotCarried, ...]:
        """The deploy targets that have none; raises what :attr:`deploy` does."""
        return self.rendering().not_carried

    @property
    def targets(self) -> tuple[str, ...]:
        """The deploy targets that have files, each once, in order."""
        return tuple(dict.fromkeys(file.target for file in self.deploy))


@dataclass(frozen=True, slots=True)
class Entry:
    """One package with all its versions.

    Attributes:
        name: Name of the package.
        editions: The releases, newest first, then the draft where there is one; at least one.
    """

    name: str
    editions: tuple[Edition, ...]

    @property
    def releases(self) -> tuple[Edition, ...]:
        """The published versions, newest first."""
        return tuple(edition for edition in self.editions if edition.release is not None)

    @property
    def draft(self) -> Edition | None:
        """The definition that is worked on, where it is not released."""
        return next((edition for edition in self.editions if edition.release is None), None)

    @property
    def latest(self) -> Edition:
        """The version to look at first: the newest that is not yanked, else the newest, else the draft."""
        whole = (edition for edition in self.releases if edition.yank is None)
        return next(whole, self.editions[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """Something that the ledger took back, and where it was shown.

    Attributes:
        slug: The claim.
        label: What it is, in words.
        kind: ``retracted``, ``withdrawn`` or ``corrected``.
        reason: Why, in the ledger's words.
        at: When: UTC, RFC 3339.
        line: 1-based line of the ledger that says so.
        cards: The editions whose cards ask for it or for what rests on it, as (name, handle), by name, newest first.
    """

    slug: str
    label: str
    kind: str
    reason: str
    at: str
    line: int
    cards: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Everything that is on offer.

    Attributes:
        entries: The packages, by name.
        pages: The pages of the claims, by slug.
        retractions: What was taken back, newest first.
        as_of: The newest instant in the ledger and the release log: UTC, RFC 3339; ``""`` where neither has one. It is the
            only "today" that a build knows.
        release_head: Digest of the last line of the release log.
        ledger_head: Digest of the last line of the ledger.
        performance: Operator latencies of others; ``None`` where none are shown.
    """

    entries: tuple[Entry, ...]
    pages: tuple[ClaimPage, ...]
    retractions: tuple[TakenBack, ...]
    as_of: str
    release_head: str
    ledger_head: str
    performance: Performance | None = None

    @property
    def editions(self) -> tuple[Edition, ...]:
        """Every version of every package, by package, newest first."""
        return tuple(edition for entry in self.entries for edition in entry.editions)

    @property
    def raws(self) -> tuple[Sha256, ...]:
        """The raw files that the pages link, each once, in the order of first use."""
        shown = [raw.sha256 for edition in self.editions for raw in edition.card.raws]
        linked = [digest for page in self.pages for digest in page.linked]
        return tuple(dict.fromkeys([*shown, *linked]))

    def entry(self, name: str) -> Entry | None:
        """Find a package by its name."""
        return next((entry for entry in self.entries if entry.name == name), None)
