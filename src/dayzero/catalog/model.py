"""What a card shows. A number is shown with its claim, or it is gone or absent with the reason; there is no blank."""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from dayzero.core.package import ClaimRef, Package
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.model import RETRACT, Claim, RawFile

STEPS = ("resolves", "starts", "serves", "measured", "quality-gated")
"""The status ladder, in the order in which a package climbs it. Each is its own statement: none implies another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that has to be shown beside a value.

    Attributes:
        word: What it says: ``under concern``, ``not reproducible``.
        slug: Of which claim it was said; a number is marked where one that it rests on is.
        reason: Why, in the ledger's words.
        at: Since when: UTC, RFC 3339.
    """

    word: str
    slug: str
    reason: str
    at: str


@dataclass(frozen=True, slots=True)
class Shown:
    """The claim stands: its value may be printed, and ``raw`` is the file that the reader can open.

    Attributes:
        claim: The claim.
        raw: The file under it.
        marks: What has to be shown beside the value; empty as a rule.
    """

    claim: Claim
    raw: RawFile
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The claim was made once and is made no longer; its value is not printed.

    Attributes:
        kind: ``retract`` (it should not have been published) or ``withdraw`` (it is no longer asserted).
        reason: Why, in the ledger's words.
        at: Since when: UTC, RFC 3339.
    """

    kind: str
    reason: str
    at: str

    @property
    def word(self) -> str:
        """The state as a participle: ``retracted`` or ``withdrawn``."""
        return "retracted" if self.kind == RETRACT else "withdrawn"


@dataclass(frozen=True, slots=True)
class Absent:
    """The definition names the claim and the ledger has nothing that may be printed for it."""

    why: str


Figure: TypeAlias = Shown | Gone | Absent


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One number that the definition asks for, and what the ledger has for it.

    Attributes:
        slug: Handle in the ledger: ``<package>/<id>``.
        ref: What the definition asks for.
        statistic: Which statistic of the sample it is, in words; ``""`` where it is a single reading.
        load: The load it was taken under, in words; ``""`` where it belongs to no cell of the grid.
        figure: The answer.
    """

    slug: str
    ref: ClaimRef
    statistic: str
    load: str
    figure: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A step of the status ladder that was shown.

    Attributes:
        step: One of :data:`STEPS`.
        date: UTC day, ``2026-11-29``.
        pin: What it was shown on: the engine build, ``xllamacpp==2026.10.11549``.
    """

    step: str
    date: str
    pin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotYet:
    """A step of the status ladder that was not shown, and why."""

    step: str
    why: str


StatusStep: TypeAlias = Reached | NotYet


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSaid:
    """What one gate says of the package: its verdict, or ``skipped`` where it was not run, which is no verdict.

    Attributes:
        gate: What it is called.
        word: The verdict as the ledger has it, or :data:`~dayzero.core.package.SKIPPED`.
        why: Why it was skipped, or what stands under the verdict.
    """

    gate: str
    word: str
    why: str


class FitState(Enum):
    """How it is known whether the recipe fits its system."""

    MEASURED_FITS = "measured-fits"
    COMPUTED_FITS = "computed-fits"
    MEASURED_DOES_NOT_FIT = "measured-does-not-fit"
    COMPUTED_DOES_NOT_FIT = "computed-does-not-fit"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Fit:
    """The fit state of the hardware floor, and what shows it."""

    state: FitState
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KitFacts:
    """What the card says about the kit.

    Attributes:
        archive: File name of the archive.
        size: Size of the archive.
        weight_bytes: How many bytes of weights it carries.
        key_fingerprint: Fingerprint of the key that signed it.
        demo_key: True when the key was made on the spot and vouches for nobody.
        verify_command: What a stranger types to check it.
    """

    archive: str
    size: Bytes
    weight_bytes: Bytes
    key_fingerprint: str
    demo_key: bool
    verify_command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One package as it is shown.

    Attributes:
        package: The definition; what is pinned, promised and withheld is read from it.
        recipe: Digest of its recipe: numbers that were measured on another one are not shown.
        floor: The hardware floor as a sentence.
        fit: Whether the recipe fits that floor, and how that is known.
        ladder: One entry for each of :data:`STEPS`, in that order.
        gates: One entry for each of :data:`~dayzero.core.package.GATES`, in that order.
        measurements: The numbers, in the order of the definition.
        kit: The kit, ``None`` where none was packed when the page was built.
    """

    package: Package
    recipe: Sha256
    floor: str
    fit: Fit
    ladder: tuple[StatusStep, ...]
    gates: tuple[GateSaid, ...]
    measurements: tuple[Measurement, ...]
    kit: KitFacts | None

    @property
    def headline(self) -> Measurement | None:
        """The number at the top; ``None`` where the definition claims none."""
        return next((m for m in self.measurements if m.ref.headline), None)

    @property
    def gone(self) -> tuple[Measurement, ...]:
        """Numbers that were published once and are no longer."""
        return tuple(m for m in self.measurements if isinstance(m.figure, Gone))

    @property
    def absent(self) -> tuple[Measurement, ...]:
        """Numbers that the definition asks for and the ledger cannot give."""
        return tuple(m for m in self.measurements if isinstance(m.figure, Absent))

    @property
    def raws(self) -> tuple[RawFile, ...]:
        """The raw files under the numbers that are shown, each once, in the order of first use."""
        files = {m.figure.raw.sha256: m.figure.raw for m in self.measurements if isinstance(m.figure, Shown)}
        return tuple(files.values())

    @property
    def highest(self) -> Reached | None:
        """The highest step of the ladder that was shown."""
        return next((step for step in reversed(self.ladder) if isinstance(step, Reached)), None)
