"""``dayzero evidence retract``, ``concern``, ``reaffirm``, ``expire``: say what became of a claim, and see what that changes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

import cyclopts

from dayzero.cli.console import stderr_console
from dayzero.cli.main import PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.verdict import Place
from dayzero.evidence.consequence import Change, changes
from dayzero.evidence.document import SCHEMA
from dayzero.evidence.events import admit
from dayzero.evidence.ledger import Filed, Ledger
from dayzero.evidence.model import RETRACT, WITHDRAW, Concern, Expiry, Reaffirmation, Retraction
from dayzero.evidence.pages import read_page
from dayzero.evidence.retract import retract
from dayzero.evidence.wire import to_wire
from dayzero.wiring import clock
from dayzero.wiring.definitions import cards_reading
from dayzero.wiring.store import open_filled

Said: TypeAlias = Retraction | Concern | Expiry | Reaffirmation
DryRun: TypeAlias = Annotated[
    bool, cyclopts.Parameter(name="--dry-run", negative=(), help="Only show what it would change.")
]

_THEN = "Change the pages, build cards and site again, then run 'dayzero evidence check'."
_NOWHERE = "No published page and no card here shows it."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What was said, or would be.

    Attributes:
        record: What.
        word: What the claim is now.
        where: Where that was written, ``""`` where it was not.
        changes: What stands otherwise.
        cards: Which cards read which slug, and where their definitions ask for it.
        moved_aside: Where half lines of killed writers were moved to.
    """

    record: Said
    word: str
    where: str
    changes: tuple[Change, ...]
    cards: tuple[tuple[str, Place], ...]
    moved_aside: tuple[str, ...]

    def cards_of(self, change: Change) -> tuple[Place, ...]:
        return tuple(place for slug, place in self.cards if slug == change.slug)


def retract_claim(  # noqa: PLR0913  (each is an option of its own)
    slug: str,
    root: Path = Path(),
    *,
    why: str,
    withdraw: Annotated[bool, cyclopts.Parameter(negative=())] = False,
    dry_run: DryRun = False,
    output_format: OutputFormat = "text",
) -> int:
    """Take a claim back, for good and on the record, and show what that changes: claims, pages and cards.

    Nothing is deleted: the retraction is appended to the ledger, and the next build of cards and site shows it.

    Args:
        slug: Handle of the claim (PACKAGE/ID).
        root: Folder that holds evidence/ and the published pages.
        why: The reason; it is published.
        withdraw: We no longer assert it, instead of: it should not have been published.
        dry_run: Only show what it would change.
        output_format: How the result is written to stdout.
    """
    wanted = Retraction(slug=slug, kind=WITHDRAW if withdraw else RETRACT, reason=why.strip(), at=clock.now())
    outcome = _say(root, wanted, wanted.word, lambda ledger: retract(ledger, wanted), dry_run=dry_run)
    return _show(outcome, output_format, must="has to change")


def concern(
    slug: str, root: Path = Path(), *, why: str, dry_run: DryRun = False, output_format: OutputFormat = "text"
) -> int:
    """Say that a claim is being tested again; it stands, and is shown with a flag until it is reaffirmed or taken back.

    Args:
        slug: Handle of the claim (PACKAGE/ID).
        root: Folder that holds evidence/ and the published pages.
        why: The reason; it is published.
        dry_run: Only show what it would change.
        output_format: How the result is written to stdout.
    """
    wanted = Concern(slug=slug, reason=why.strip(), at=clock.now())
    outcome = _say(root, wanted, "under concern", lambda ledger: admit(ledger, wanted), dry_run=dry_run)
    return _show(outcome, output_format)


def reaffirm(
    slug: str, root: Path = Path(), *, why: str, dry_run: DryRun = False, output_format: OutputFormat = "text"
) -> int:
    """Say that a claim held when it was tested again, which lifts the concern.

    Args:
        slug: Handle of the claim (PACKAGE/ID).
        root: Folder that holds evidence/ and the published pages.
        why: What shows it; it is published.
        dry_run: Only show what it would change.
        output_format: How the result is written to stdout.
    """
    wanted = Reaffirmation(slug=slug, reason=why.strip(), at=clock.now())
    outcome = _say(root, wanted, "reaffirmed", lambda ledger: admit(ledger, wanted), dry_run=dry_run)
    return _show(outcome, output_format)


def expire(
    slug: str, root: Path = Path(), *, why: str, dry_run: DryRun = False, output_format: OutputFormat = "text"
) -> int:
    """Say that a claim was right and can no longer be reproduced, because a pin is gone; it stands, with a flag.

    Args:
        slug: Handle of the claim (PACKAGE/ID).
        root: Folder that holds evidence/ and the published pages.
        why: What is gone; it is published.
        dry_run: Only show what it would change.
        output_format: How the result is written to stdout.
    """
    wanted = Expiry(slug=slug, reason=why.strip(), at=clock.now())
    outcome = _say(root, wanted, "not reproducible", lambda ledger: admit(ledger, wanted), dry_run=dry_run)
    return _show(outcome, output_format)


def _say(root: Path, record: Said, word: str, decide: Callable[[Ledger], Said], *, dry_run: bool) -> _Outcome:
    """Append the record; pages and cards are read before, so that one which cannot be read leaves the ledger as it was."""
    repository = open_filled(root)
    readings = tuple(read_page(page) for page in repository.pages())
    cards = cards_reading(root, set(repository.ledger.standings()))
    if dry_run:
        filed = Filed(repository.ledger.append((decide(repository.ledger),))[0], ())
    else:
        filed = repository.file(lambda ledger: (decide(ledger),))
    return _Outcome(
        record=record,
        word=word,
        where="" if dry_run else f"{repository.ledger_file}:{len(filed.ledger.entries)}",
        changes=changes(repository.ledger, filed.ledger, readings),
        cards=cards,
        moved_aside=filed.moved_aside,
    )


def _show(outcome: _Outcome, output_format: OutputFormat, *, must: str = "may say so") -> int:
    for path in outcome.moved_aside:
        stderr_console().print(f"A half line at the end of the ledger was moved to {path}.")
    if output_format == "json":
        print_json(_document(outcome))
        return PROVEN
    record, (verb, where) = outcome.record, ("is", f" ({outcome.where})") if outcome.where else ("would be", "")
    print(f"{record.slug} {verb} {outcome.word}: {record.reason}{where}")
    for change in outcome.changes:
        print(f"{change.slug}: {change.before} -> {change.after}")
        for cited in change.cited:
            print(f"    {cited.place}: prints {cited.text!r} and {must}")
        for place in outcome.cards_of(change):
            print(f"    {place}: the card reads it; its next build says so in its place")
    shown = any(change.cited or outcome.cards_of(change) for change in outcome.changes)
    print(_THEN if shown else _NOWHERE)
    return PROVEN


def _document(outcome: _Outcome) -> dict[str, object]:
    kind, body = to_wire(outcome.record)
    return {
        "schema": SCHEMA,
        "kind": kind,
        kind: body,
        "written_at": outcome.where,
        "changes": [
            {
                "slug": change.slug,
                "before": change.before,
                "after": change.after,
                "cited_at": [_place(cited.place) | {"prints": cited.text} for cited in change.cited],
                "cards": [_place(place) for place in outcome.cards_of(change)],
            }
            for change in outcome.changes
        ],
        "moved_aside": list(outcome.moved_aside),
    }


def _place(place: Place) -> dict[str, str]:
    return {"artifact": place.artifact, "file": place.file, "position": place.position, "quote": place.quote}
