"""``dayzero evidence``: what raw line stands under this number?"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.main import FINDINGS, PROVEN, exit_code
from dayzero.cli.output import OutputFormat, print_json, stderr_console
from dayzero.core.errors import InputError
from dayzero.core.verdict import Place
from dayzero.evidence.check import check, cited_at
from dayzero.evidence.document import check_document, claim_document, retraction_document, state_word
from dayzero.evidence.explain import Backed, Explanation, explain
from dayzero.evidence.ledger import ClaimState, Ledger, Retracted, Standing, Superseded, Withdrawn, file_records
from dayzero.evidence.model import RETRACT, WITHDRAW, Retraction
from dayzero.evidence.pages import read_page
from dayzero.evidence.report import Report
from dayzero.evidence.retract import retract
from dayzero.wiring import plugins, store

APP = cyclopts.App(name="evidence", help="What raw line stands under this number?")

_FOLDER = "evidence"


@APP.command(name="check")
def check_tree(
    root: Path = Path(),
    *,
    page: Annotated[tuple[Path, ...], cyclopts.Parameter(name="--page", negative=())] = (),
    output_format: OutputFormat = "text",
) -> int:
    """Check that every published number still comes out of its raw file.

    The ledger is ROOT/evidence; the pages are README.md, docs/**/*.md and site/**/*.html under ROOT. Exit 0: every number
    is backed; 1: findings; 3: there was nothing to check; 4: the ledger was tampered with.

    Args:
        root: Folder that holds evidence/ and the published pages.
        page: A further Markdown or HTML page to check; can be given again.
        output_format: How the result is written to stdout.
    """
    _need_folder(root)
    ledger = store.open_ledger(root / _FOLDER)
    started = bool(ledger.entries or ledger.torn)
    pages = store.pages(root, page) if started else ()
    folder = str(root / _FOLDER)
    report = check(ledger, store.raw_store(root / _FOLDER), plugins.extractors(), pages, folder=folder)
    if not started:
        stderr_console().print(f"There is no evidence in {folder}, so its pages were not read.", style=None)
    if output_format == "json":
        print_json(check_document(report))
    else:
        _print_report(report)
    return exit_code(report.verdict)


@APP.command(name="show")
def show_claim(slug: str, root: Path = Path(), *, output_format: OutputFormat = "text") -> int:
    """Show a claim: its value, the raw line under it, and what became of it.

    Exit 0: the claim stands and comes out of its raw file; 1: it does not, or was taken back.

    Args:
        slug: Handle of the claim (PACKAGE/ID).
        root: Folder that holds evidence/.
        output_format: How the result is written to stdout.
    """
    ledger, folder = _open(root), root / _FOLDER
    explanation = explain(ledger, store.raw_store(folder), plugins.extractors(), slug, folder=str(folder))
    if output_format == "json":
        print_json(claim_document(explanation))
    else:
        _print_claim(explanation, f"{folder}/ledger.jsonl")
    proven = isinstance(explanation.last, Standing) and isinstance(explanation.backing, Backed)
    return PROVEN if proven else FINDINGS


@APP.command(name="retract")
def retract_claim(
    slug: str,
    root: Path = Path(),
    *,
    why: str,
    withdraw: Annotated[bool, cyclopts.Parameter(negative=())] = False,
    output_format: OutputFormat = "text",
) -> int:
    """Take a claim back, for good and on the record, and list the pages that still cite it.

    Nothing is deleted: the retraction is appended to the ledger, and the next build of cards and site shows it.

    Args:
        slug: Handle of the claim (PACKAGE/ID).
        root: Folder that holds evidence/ and the published pages.
        why: The reason; it is published.
        withdraw: We no longer assert it, instead of: it should not have been published.
        output_format: How the result is written to stdout.
    """
    _open(root)
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    wanted = Retraction(slug=slug, kind=WITHDRAW if withdraw else RETRACT, reason=why.strip(), at=at)
    folder = store.evidence_folder(root / _FOLDER)
    filed = file_records(folder.ledger, lambda ledger: (retract(ledger, wanted),))
    cited = cited_at(tuple(read_page(page) for page in store.pages(root)), slug)
    for path in filed.moved_aside:
        stderr_console().print(f"A half line at the end of the ledger was moved to {path}.")
    if output_format == "json":
        print_json(retraction_document(wanted, cited, filed.moved_aside))
    else:
        _print_retraction(wanted, f"{folder.ledger.path}:{len(filed.ledger.entries)}", cited)
    return PROVEN


def _need_folder(root: Path) -> None:
    if not root.is_dir():
        raise InputError(
            f"{root} is not a folder", hint="Name the folder that holds evidence/ and the published pages."
        )


def _open(root: Path) -> Ledger:
    _need_folder(root)
    ledger = store.open_ledger(root / _FOLDER)
    if not ledger.entries:
        raise InputError(f"there is no evidence in {root / _FOLDER}", hint="Name the folder that holds evidence/.")
    return ledger


def _print_report(report: Report) -> None:
    for finding in report.findings:
        print(f"{finding.places[0]}: {finding.reason} [{finding.kind.value}]")
        for place in finding.places[1:]:
            print(f"    see {place}")
    checked = ", ".join(
        _count(number, noun)
        for number, noun in (
            (report.standing, "standing claim"),
            (report.raw_files, "raw file"),
            (report.pages, "page"),
            (report.citations, "citation"),
            (report.quotes, "quoted block"),
        )
    )
    word = {0: "proven", 1: "refuted", 3: "undecided"}[exit_code(report.verdict)]
    print(f"{word}: {report.verdict.reason}\nchecked: {checked}")


def _print_claim(explanation: Explanation, ledger: str) -> None:
    last = explanation.last
    claim = last.claim
    parameters = "".join(f", {name} = {value}" for name, value in claim.extraction.parameters)
    print(f"{claim.slug}: {claim.text}\n  {claim.label}\n  state      {_state_line(last, ledger)}")
    match explanation.backing:
        case Backed(raw_file=raw_file, place=place):
            print(f"  raw file   {place}")
            if place.quote:
                print(f"  there      {place.quote}")
            print(f"  captured   {raw_file.captured_at}, {raw_file.size}, by: {raw_file.command}")
        case unbacked:
            print(f"  raw file   NOT BACKED: {unbacked.reason}")
    print(f"  extractor  {claim.extraction.extractor}{parameters}\n  subject    {claim.subject}")
    for state in explanation.history[:-1]:
        print(f"  before     {state.claim.text}, {_state_line(state, ledger)}")


def _state_line(state: ClaimState, ledger: str) -> str:
    made = f"claimed at {ledger}:{state.line}"
    match state:
        case Standing():
            return f"standing, {made}"
        case Superseded(by_line=by_line):
            return f"superseded by line {by_line}, {made}"
        case Withdrawn(retraction=retraction) | Retracted(retraction=retraction):
            return (
                f"{state_word(state)} {retraction.at} at {ledger}:{state.retraction_line}: {retraction.reason} ({made})"
            )


def _print_retraction(retraction: Retraction, where: str, cited: tuple[Place, ...]) -> None:
    print(f"{retraction.slug} is {retraction.word}: {retraction.reason} ({where})")
    for place in cited:
        print(f"{place}: cites it and has to change")
    print("Rebuild cards and site, then run 'dayzero evidence check'." if cited else "No published page here cites it.")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
