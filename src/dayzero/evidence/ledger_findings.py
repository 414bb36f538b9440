"""Find what is wrong in the ledger itself, raw files and pages left aside."""

from collections.abc import Iterator

from dayzero.core.errors import EvidenceError
from dayzero.evidence.claims import typed_numbers
from dayzero.evidence.derive import derived_value
from dayzero.evidence.examination import Examination
from dayzero.evidence.model import Claim, Derived, Event, Explanation, Uncitable
from dayzero.evidence.report import Finding, Kind
from dayzero.evidence.state import Corrected, Missing, Standing, Unsupported
from dayzero.evidence.wire import to_wire


def ledger_findings(seen: Examination) -> Iterator[Finding]:
    """Find half lines, events on nothing, corrections that correct nothing, and claims that the claims under them do not carry."""
    if seen.ledger.torn:
        yield Finding(
            Kind.LEDGER_TORN,
            f"the last line was not written to its end and is set aside ({len(seen.ledger.torn)} bytes without a newline); "
            "the next record that is filed moves them out of the ledger",
            (seen.line(len(seen.ledger.entries) + 1),),
        )
    yield from _events_on_nothing(seen)
    yield from _corrections(seen)
    for slug, state in seen.standings.items():
        match state:
            case Standing(claim=Derived() as derived, line=line):
                yield from _derived_findings(seen, derived, line)
            case Standing(claim=Explanation() as explanation, line=line):
                yield from _explanation_findings(seen, explanation, line)
            case Unsupported(line=line, missing=missing):
                reason = (
                    f"{slug} rests on {' and '.join(missing)}, which {'does' if len(missing) == 1 else 'do'} not stand"
                )
                yield Finding(Kind.CLAIM_UNSUPPORTED, reason, (seen.line(line), *seen.cited_at(slug)))
            case _:
                pass
    yield from _withheld_findings(seen)


def _events_on_nothing(seen: Examination) -> Iterator[Finding]:
    made: set[str] = set()
    for entry in seen.ledger.entries:
        match entry.record:
            case Claim(slug=slug) | Derived(slug=slug) | Explanation(slug=slug):
                made.add(slug)
            case Event(slug=slug) as event if slug not in made:
                reason = f"here is a {to_wire(entry.record)[0]} of {event.slug}, which was never claimed before"
                yield Finding(Kind.RETRACTION_OF_NOTHING, reason, (seen.line(entry.seq + 1),))
            case _:
                pass


def _corrections(seen: Examination) -> Iterator[Finding]:
    histories = seen.ledger.histories()
    for slug, line in seen.ledger.pending_corrections().items():
        if slug in histories:
            reason = f"a correction of {slug} is announced, and no claim with its slug follows"
            yield Finding(Kind.CORRECTION_UNFULFILLED, reason, (seen.line(line), *seen.cited_at(slug)))
    for slug, states in histories.items():
        for before in states:
            if not isinstance(before, Corrected) or not isinstance(before.claim, Claim):
                continue
            now = seen.ledger.entries[before.by_line - 1].record
            if not isinstance(now, Claim) or now.raw != before.claim.raw:
                reason = f"{slug} is called corrected here, and rests on another raw file: it is a new claim, not a correction"
                yield Finding(Kind.CORRECTION_UNFULFILLED, reason, (seen.line(before.by_line), *seen.cited_at(slug)))


def _derived_findings(seen: Examination, derived: Derived, line: int) -> Iterator[Finding]:
    places = (seen.line(line), *seen.cited_at(derived.slug))
    try:
        value = derived_value(seen.standings, derived)
    except EvidenceError as error:
        reason = f"the claim {derived.slug} ({derived.text}) does not derive from its inputs: {error.message}"
        yield Finding(Kind.CLAIM_UNSUPPORTED, reason, places)
        return
    if value != derived.value:
        reason = f"the claim {derived.slug} says {derived.value!r}, {derived.rule} of {', '.join(derived.inputs)} gives {value!r}"
        yield Finding(Kind.CLAIM_DIFFERS, reason, places)


def _explanation_findings(seen: Examination, explanation: Explanation, line: int) -> Iterator[Finding]:
    slug = explanation.slug
    places = (seen.line(line), *seen.cited_at(slug))
    for fact in explanation.facts:
        state = seen.standings.get(fact, Missing(fact))
        if isinstance(state, Standing) and isinstance(state.claim, Explanation):
            reason = f"{slug} explains {fact}, which is an explanation itself and no fact"
            yield Finding(Kind.CLAIM_UNSUPPORTED, reason, places)
    for number in typed_numbers(explanation.statement):
        reason = f"the explanation {slug} types {number!r}; a number is cited as a fact, and never typed into a cause"
        yield Finding(Kind.NUMBER_BARE, reason, places)


def _withheld_findings(seen: Examination) -> Iterator[Finding]:
    for entry in seen.ledger.entries:
        match entry.record:
            case Uncitable(slug=slug, topic=topic, why=why):
                for number in (*typed_numbers(topic), *typed_numbers(why)):
                    reason = f"{slug} is withheld, and its record says {number!r} all the same"
                    yield Finding(Kind.NUMBER_BARE, reason, (seen.line(entry.seq + 1), *seen.cited_at(slug)))
            case _:
                pass
