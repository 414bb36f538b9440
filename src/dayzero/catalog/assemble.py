"""Put versions into packages and packages into a catalog."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dayzero.catalog.difference import differ
from dayzero.catalog.edition import Catalog, Edition, Entry, TakenBack
from dayzero.catalog.page_model import ClaimPage
from dayzero.catalog.release import ReleaseLog, by_version
from dayzero.catalog.standing import read_slugs
from dayzero.catalog.told import Told
from dayzero.core.errors import InputError
from dayzero.evidence.model import Claim, Correction, Event, Explanation, RawFile, Retraction
from dayzero.evidence.state import Corrected, Missing, Retracted, Withdrawn, Withheld


def assemble(editions: Iterable[Edition], pages: tuple[ClaimPage, ...], *, told: Told, log: ReleaseLog) -> Catalog:
    """Order the versions, say what is other in each than in the one before it, and what was taken back.

    Args:
        editions: Every version, in any order, each without its difference.
        pages: The pages of the claims.
        told: The ledger.
        log: The release log.

    Raises:
        InputError: A package has two drafts.
    """
    by_name: dict[str, list[Edition]] = {}
    for edition in editions:
        by_name.setdefault(edition.name, []).append(edition)
    entries = tuple(_entry(name, by_name[name]) for name in sorted(by_name))
    return Catalog(
        entries=entries,
        pages=pages,
        retractions=_taken_back(told, entries),
        as_of=_newest(told, log),
        release_head=log.head,
        ledger_head=told.ledger.head,
    )


def _entry(name: str, editions: list[Edition]) -> Entry:
    drafts = [edition for edition in editions if edition.release is None]
    if len(drafts) > 1:
        raise InputError(f"two definitions of {name} are not released", hint="Give each package its own name.")
    released = sorted((edition for edition in editions if edition.release is not None), key=_version)
    before: Edition | None = None
    ordered: list[Edition] = []
    for edition in (*released, *drafts):
        ordered.append(replace(edition, difference=differ(before.card, edition.card) if before else None))
        before = edition
    return Entry(name, (*reversed(ordered[: len(released)]), *ordered[len(released) :]))


def _version(edition: Edition) -> tuple[int, ...]:
    return by_version(edition.release) if edition.release else ()


@dataclass(frozen=True, slots=True)
class _Event:
    """What was taken back, and the statement that it took back."""

    word: str
    label: str
    claim: Claim | None


def _taken_back(told: Told, entries: tuple[Entry, ...]) -> tuple[TakenBack, ...]:
    lines = _statements_by_event(told)
    readers = _readers(entries)
    found = []
    for entry in told.ledger.entries:
        if not isinstance(entry.record, Retraction | Correction):
            continue
        record, line = entry.record, entry.seq + 1
        event = lines.get(line) or _Event(_word(record), _label(record.slug, told), None)
        cards = tuple(
            (edition.name, edition.handle)
            for edition in readers.get(record.slug, ())
            if event.claim is None or edition.recipe_sha256 == event.claim.subject
        )
        found.append(
            TakenBack(
                slug=record.slug,
                label=event.label,
                kind=event.word,
                reason=record.reason,
                at=record.at,
                line=line,
                cards=cards,
            )
        )
    return tuple(sorted(found, key=lambda back: (back.at, back.line), reverse=True))


def _word(record: Retraction | Correction) -> str:
    return record.word if isinstance(record, Retraction) else "corrected"


def _statements_by_event(told: Told) -> Mapping[int, _Event]:
    """Give what each line that takes something back took back."""
    lines: dict[int, _Event] = {}
    for states in told.histories.values():
        for state in states:
            match state:
                case (
                    Withdrawn(claim=claim, retraction=retraction, retraction_line=line)
                    | Retracted(claim=claim, retraction=retraction, retraction_line=line)
                ):
                    word = retraction.word
                case Corrected(claim=claim, correction_line=line):
                    word = "corrected"
                case _:
                    continue
            label = claim.statement if isinstance(claim, Explanation) else claim.label
            lines[line] = _Event(word, label, claim if isinstance(claim, Claim) else None)
    return lines


def _label(slug: str, told: Told) -> str:
    match told.standing(slug):
        case Missing():
            return slug
        case Withheld(uncitable=uncitable):
            return uncitable.topic
        case state:
            return state.claim.statement if isinstance(state.claim, Explanation) else state.claim.label


def _readers(entries: tuple[Entry, ...]) -> Mapping[str, tuple[Edition, ...]]:
    """Say for each slug which versions' cards read it."""
    readers: dict[str, list[Edition]] = {}
    for entry in entries:
        for edition in entry.editions:
            for slug in read_slugs(edition.card.package):
                readers.setdefault(slug, []).append(edition)
    return {slug: tuple(editions) for slug, editions in readers.items()}


def _newest(told: Told, log: ReleaseLog) -> str:
    """Find the newest instant that the ledger and the release log name."""
    instants = [record.at for record in log.records]
    for entry in told.ledger.entries:
        match entry.record:
            case Event(at=at) | RawFile(captured_at=at):
                instants.append(at)
            case _:
                pass
    return max(instants, default="")
