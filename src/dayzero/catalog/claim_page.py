"""Build a page for each slug of the ledger: where it stands, what it rests on, and everything that was said under it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial

from dayzero.catalog.page_model import (
    Basis,
    CauseBasis,
    ClaimPage,
    DerivedBasis,
    NoBasis,
    PageState,
    Quote,
    RawBasis,
    Related,
    Said,
    TrialRow,
)
from dayzero.catalog.quote import quote
from dayzero.catalog.told import Told
from dayzero.catalog.words import extraction_words, place_words
from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero.evidence.derive import RULES
from dayzero.evidence.model import (
    Claim,
    Concern,
    Correction,
    Derived,
    Event,
    Expiry,
    Explanation,
    RawFile,
    Reaffirmation,
    Record,
    Retraction,
    Statement,
    Trial,
    Uncitable,
)
from dayzero.evidence.state import (
    ClaimState,
    Corrected,
    Missing,
    Retracted,
    Standing,
    State,
    Superseded,
    Unsupported,
    Withdrawn,
    Withheld,
)

_PAGE = "index.html"
_WORDS: Mapping[type[State | ClaimState], PageState] = {
    Standing: PageState.STANDING,
    Superseded: PageState.SUPERSEDED,
    Corrected: PageState.CORRECTED,
    Withdrawn: PageState.WITHDRAWN,
    Retracted: PageState.RETRACTED,
    Unsupported: PageState.UNSUPPORTED,
    Withheld: PageState.UNCITABLE,
    Missing: PageState.UNSUPPORTED,
}


def claim_pages(told: Told, contents: Mapping[Sha256, bytes]) -> tuple[ClaimPage, ...]:
    """Build the page of every slug, by slug.

    Args:
        told: The ledger.
        contents: The raw files that lie beside the site; another one is named and not linked.

    Raises:
        InputError: A slug would stand in the place of another one's page.
    """
    histories = told.histories
    for slug in histories:
        if _PAGE in slug.split("/") or any(part.endswith(".json") for part in slug.split("/")[:-1]):
            raise InputError(
                f"no page can be made for {slug}",
                hint=f"Call no part of a claim's slug {_PAGE}, and none but the last something.json.",
            )
    said: dict[str, list[tuple[int, Record]]] = {slug: [] for slug in histories}
    for entry in told.ledger.entries:
        slug = getattr(entry.record, "slug", "")
        if slug in said:
            said[slug].append((entry.seq + 1, entry.record))
    sources = _Sources(told=told, said=said, contents=contents, resting=_resting(told))
    return tuple(_page(slug, sources) for slug in sorted(histories))


def _resting(told: Told) -> Mapping[str, tuple[str, ...]]:
    """Say for each slug what is said now, or was until it was taken back, and rests right on it, by slug."""
    resting: dict[str, list[str]] = {}
    for slug in sorted(told.standings):
        match _statement(told.standings[slug]):
            case Derived(inputs=cited) | Explanation(facts=cited):
                for other in dict.fromkeys(cited):
                    resting.setdefault(other, []).append(slug)
            case _:
                pass
    return {slug: tuple(others) for slug, others in resting.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sources:
    """The ledger, read once, and the raw files."""

    told: Told
    said: Mapping[str, list[tuple[int, Record]]]
    contents: Mapping[Sha256, bytes]
    resting: Mapping[str, tuple[str, ...]]

    @property
    def raws(self) -> Mapping[Sha256, RawFile]:
        return self.told.raws

    def state(self, slug: str) -> State:
        return self.told.standing(slug)


def _page(slug: str, sources: _Sources) -> ClaimPage:
    state = sources.state(slug)
    statement = _statement(state)
    word = _word(state, sources)
    printed = word.citable and not isinstance(statement, Explanation)
    return ClaimPage(
        slug=slug,
        label=_label(state),
        state=word,
        value=statement.value if printed and isinstance(statement, Claim | Derived) else "",
        unit=statement.unit if isinstance(statement, Claim | Derived) else "",
        reasons=tuple(_reasons(slug, state, sources)),
        basis=_basis(state, word, sources),
        history=tuple(_history(slug, sources)),
        derived=tuple(_citing(slug, Derived, sources)),
        causes=tuple(_citing(slug, Explanation, sources)),
    )


def _statement(state: State | ClaimState) -> Statement | None:
    match state:
        case Missing() | Withheld():
            return None
        case told:
            return told.claim


def _label(state: State) -> str:
    match state:
        case Missing(slug=slug):
            return slug
        case Withheld(uncitable=uncitable):
            return uncitable.topic
        case told:
            return told.claim.statement if isinstance(told.claim, Explanation) else told.claim.label


def _word(state: State | ClaimState, sources: _Sources) -> PageState:
    match state:
        case Standing(claim=Claim(raw=raw)) if raw not in sources.raws:
            return PageState.UNSUPPORTED
        case Standing(flags=flags) if flags:
            return PageState.FLAGGED
        case _:
            return _WORDS[type(state)]


def _reasons(slug: str, state: State, sources: _Sources) -> Iterator[Said]:
    """Say why it does not stand, or what its flags say."""
    match state:
        case Standing(claim=Claim(raw=raw)) if raw not in sources.raws:
            yield _event("unsupported", f"The raw file {raw} under it was never filed.")
        case Standing(flags=flags):
            for flag in flags:
                whose = "" if flag.event.slug == slug else f", said of {flag.event.slug}"
                yield _event(f"{flag.word}{whose}", flag.event.reason, flag.event.at)
        case Withdrawn(retraction=retraction) | Retracted(retraction=retraction):
            yield _event(retraction.word, retraction.reason, retraction.at)
        case Unsupported(missing=missing):
            yield _event("unsupported", f"It rests on what does not stand: {', '.join(missing)}.")
        case Withheld(uncitable=uncitable):
            yield _event("withheld", uncitable.why)
        case Missing():
            pass


def _event(what: str, reason: str, at: str = "") -> Said:
    return Said(what=what, state=None, at=at, value="", text="", reason=reason)


def _basis(state: State, word: PageState, sources: _Sources) -> Basis:
    match _statement(state):
        case Claim() as claim:
            return _raw_basis(claim, word, sources)
        case Derived() as derived:
            inputs = tuple(_related(slug, sources) for slug in derived.inputs)
            formula = RULES[derived.rule].formula if derived.rule in RULES else ""
            return DerivedBasis(rule=derived.rule, formula=formula, inputs=inputs, decimals=derived.decimals)
        case Explanation() as cause:
            return CauseBasis(
                facts=tuple(_related(slug, sources) for slug in cause.facts),
                trials=tuple(_trial(trial, sources) for trial in cause.trials),
            )
        case None:
            return NoBasis("No raw file stands under it.")


def _raw_basis(claim: Claim, word: PageState, sources: _Sources) -> RawBasis:
    return RawBasis(
        sha256=claim.raw,
        raw=sources.raws.get(claim.raw),
        kept=claim.raw in sources.contents,
        place=place_words(claim.locator),
        how=extraction_words(claim.extraction),
        extraction=claim.extraction,
        subject=claim.subject,
        quoting=cache(partial(_quote, claim, word, sources.contents)),
    )


def _quote(claim: Claim, word: PageState, contents: Mapping[Sha256, bytes]) -> Quote:
    if word is PageState.RETRACTED:
        return Quote(
            lines=(), note="The lines are not quoted: they would print a value that should not have been published."
        )
    if claim.raw not in contents:
        return Quote(lines=(), note="The file does not lie beside this site, so nothing of it is quoted.")
    return quote(contents[claim.raw], claim.locator, cell=dict(claim.extraction.parameters).get("cell", ""))


def _trial(trial: Trial, sources: _Sources) -> TrialRow:
    return TrialRow(
        name=trial.name,
        conditions=trial.conditions,
        outcome=trial.outcome,
        raw=trial.raw,
        kept=trial.raw in sources.contents,
        place=place_words(trial.locator),
    )


def _related(slug: str, sources: _Sources) -> Related:
    state = sources.state(slug)
    if isinstance(state, Missing):
        return Related(slug=slug, label=slug, state=None)
    word, statement = _word(state, sources), _statement(state)
    number = statement if word.citable and isinstance(statement, Claim | Derived) else None
    return Related(
        slug=slug,
        label=_label(state),
        state=word,
        value=number.value if number else "",
        text=number.text if number else "",
    )


def _citing(slug: str, kind: type[Derived | Explanation], sources: _Sources) -> Iterator[Related]:
    """Name what is said now, or was until it was taken back, and rests right on the slug."""
    for other in sources.resting.get(slug, ()):
        if isinstance(_statement(sources.state(other)), kind):
            yield _related(other, sources)


def _history(slug: str, sources: _Sources) -> Iterator[Said]:
    states = {state.line: state for state in sources.told.histories[slug]}
    never = {state.claim.text for state in states.values() if isinstance(state, Retracted)}
    for line, record in reversed(sources.said[slug]):
        match record:
            case Claim() | Derived() | Explanation() as statement:
                word = _word(states[line], sources) if line in states else PageState.SUPERSEDED
                yield _claimed(statement, word, sources, hidden=statement.text in never and not word.citable)
            case Uncitable(why=why):
                yield _event("withheld", why)
            case Event() as event:
                yield _event(_event_word(event), event.reason, event.at)
            case _:
                pass


def _claimed(statement: Statement, word: PageState, sources: _Sources, *, hidden: bool) -> Said:
    raw = sources.raws.get(statement.raw) if isinstance(statement, Claim) else None
    value = "" if isinstance(statement, Explanation) else statement.value
    return Said(
        what="claimed",
        state=word,
        at=raw.captured_at if raw else "",
        value="" if hidden else value,
        text="" if hidden else statement.text,
        reason="",
    )


def _event_word(event: Event) -> str:
    match event:
        case Retraction() as retraction:
            return retraction.word
        case Correction():
            return "corrected"
        case Concern():
            return "under concern"
        case Reaffirmation():
            return "reaffirmed"
        case Expiry():
            return "not reproducible"
        case _:
            return type(event).__name__.lower()
