"""Say what stands under one slug, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dayzero.core.errors import EvidenceError, IntegrityError
from dayzero.core.verdict import Place
from dayzero.evidence.check import claim_place, located_place
from dayzero.evidence.claims import extract, read_raw
from dayzero.evidence.derive import RULES, derived_value
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Claim, Derived, Explanation, RawFile, Trial
from dayzero.evidence.ports import Extractors, RawStore
from dayzero.evidence.retract import no_such_claim
from dayzero.evidence.state import ClaimState, Missing, State, Withheld


@dataclass(frozen=True, slots=True)
class Backed:
    """The raw file is there, and the extractor finds the value at ``place``."""

    raw_file: RawFile
    place: Place


@dataclass(frozen=True, slots=True)
class Computed:
    """The rule gives the value for its inputs, each of which stands.

    Attributes:
        formula: What the rule computes, in words.
        inputs: (slug, where it stands), in the order that the rule takes them.
    """

    formula: str
    inputs: tuple[tuple[str, State], ...]


@dataclass(frozen=True, slots=True)
class Argued:
    """The facts that are explained stand, and the trials point into their raw files; that is no proof of the cause.

    Attributes:
        facts: (slug, where it stands).
        trials: Each trial and its place.
    """

    facts: tuple[tuple[str, State], ...]
    trials: tuple[tuple[Trial, Place], ...]


@dataclass(frozen=True, slots=True)
class Unbacked:
    """Nothing can be shown now, and why."""

    reason: str


Backing: TypeAlias = Backed | Computed | Argued | Unbacked


@dataclass(frozen=True, slots=True, kw_only=True)
class Dossier:
    """One slug.

    Attributes:
        history: What was said under it, oldest first; the last one is explained.
        backing: What stands under the last one.
    """

    history: tuple[ClaimState, ...]
    backing: Backing

    @property
    def last(self) -> ClaimState:
        """What is explained."""
        return self.history[-1]


def explain(ledger: Ledger, store: RawStore, extractors: Extractors, slug: str, *, folder: str) -> Dossier:
    """Explain a slug, whatever has become of what was said under it.

    Raises:
        InputError: Nothing was ever said under this slug.
    """
    history = ledger.history(slug)
    if not history:
        raise no_such_claim(ledger, slug)
    try:
        backing = _backing(ledger, store, extractors, history[-1], folder=folder)
    except (EvidenceError, IntegrityError) as error:
        backing = Unbacked(error.message)
    return Dossier(history=history, backing=backing)


def _backing(ledger: Ledger, store: RawStore, extractors: Extractors, last: ClaimState, *, folder: str) -> Backing:
    if isinstance(last, Withheld):
        return Unbacked(last.uncitable.why)
    match last.claim:
        case Claim() as claim:
            return _backed(ledger, store, extractors, claim, folder=folder)
        case Derived() as derived:
            return _computed(ledger.standings(), derived)
        case Explanation(facts=facts, trials=trials):
            standings = ledger.standings()
            shown = tuple((trial, _trial_place(ledger, store, trial, folder=folder)) for trial in trials)
            return Argued(_under(standings, facts), shown)


def _backed(ledger: Ledger, store: RawStore, extractors: Extractors, claim: Claim, *, folder: str) -> Backing:
    raw_file = ledger.raw_files().get(claim.raw)
    if raw_file is None:
        return Unbacked(f"its raw file is not in the ledger: {claim.raw}")
    content = read_raw(store, claim.raw)
    value = extract(content, claim.locator, claim.extraction, extractors)
    place = claim_place(claim, content, raw_file, folder=folder)
    return Backed(raw_file, place) if value == claim.value else Unbacked(f"its raw file gives {value!r}")


def _computed(standings: Mapping[str, State], derived: Derived) -> Backing:
    value = derived_value(standings, derived)
    if value != derived.value:
        return Unbacked(f"its inputs give {value!r}")
    return Computed(RULES[derived.rule].formula, _under(standings, derived.inputs))


def _trial_place(ledger: Ledger, store: RawStore, trial: Trial, *, folder: str) -> Place:
    raw_file = ledger.raw_files().get(trial.raw)
    if raw_file is None:
        raise EvidenceError(
            f"the raw file of the trial {trial.name} is not in the ledger: {trial.raw}", hint="File it first."
        )
    return located_place(trial.locator, read_raw(store, trial.raw), raw_file, folder=folder)


def _under(standings: Mapping[str, State], slugs: tuple[str, ...]) -> tuple[tuple[str, State], ...]:
    return tuple((slug, standings.get(slug, Missing(slug))) for slug in slugs)
