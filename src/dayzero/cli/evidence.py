"""``dayzero evidence``: what raw line stands under this number?"""

from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.main import exit_code
from dayzero.cli.output import OutputFormat, print_json, stderr_console
from dayzero.evidence.document import check_document
from dayzero.evidence.report import Report
from dayzero.wiring.evidence_check import check_repository

APP = cyclopts.App(name="evidence", help="What raw line stands under this number?")

APP.command(
    "dayzero.cli.evidence_claim:claim",
    name="claim",
    help="Publish a number: keep its file, print the citation to paste.",
)
APP.command(
    "dayzero.cli.evidence_claim:not_measured",
    name="not-measured",
    help="Say that a topic has no number, and why.",
)
APP.command(
    "dayzero.cli.evidence_show:show_claim",
    name="show",
    help="Show what stands under a claim, and what became of it.",
)
APP.command(
    "dayzero.cli.evidence_event:retract_claim",
    name="retract",
    help="Take a claim back, and show what that changes.",
)
APP.command("dayzero.cli.evidence_event:concern", name="concern", help="Say that a claim is being tested again.")
APP.command("dayzero.cli.evidence_event:reaffirm", name="reaffirm", help="Say that it held, and lift the concern.")
APP.command("dayzero.cli.evidence_event:expire", name="expire", help="Say that a claim can no longer be reproduced.")
APP.command(
    "dayzero.cli.evidence_explain:explain_cause",
    name="explain",
    help="Assert a cause, with the trials made to settle it.",
)
APP.command("dayzero.cli.evidence_trials:trials", name="trials", help="Plan the repeats that settle a cause.")
APP.command("dayzero.cli.evidence_export:export", name="export", help="Write evidence in the form that others read.")


@APP.command(name="check")
def check_tree(
    root: Path = Path(),
    *,
    page: Annotated[tuple[Path, ...], cyclopts.Parameter(name="--page", negative=())] = (),
    output_format: OutputFormat = "text",
) -> int:
    """Check that every published number still comes out of its raw file.

    ROOT/evidence.toml says where evidence and pages are, and what they have to meet; without it the ledger is in
    ROOT/evidence, and the pages are README.md, docs/**/*.md and site/**/*.html. Exit 0: every number is backed;
    1: findings; 3: there was nothing to check; 4: the ledger was tampered with.

    Args:
        root: Repository to check, or any folder that holds evidence/ and the published pages.
        page: A further Markdown or HTML page to check; can be given again.
        output_format: How the result is written to stdout.
    """
    checked = check_repository(root, page)
    for note in checked.notes:
        stderr_console().print(note, style=None)
    if output_format == "json":
        print_json(check_document(checked.report))
    else:
        _print_report(checked.report)
    return exit_code(checked.report.verdict)


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


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
