"""``dayzero evidence``: what raw line stands under this number?"""

from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.console import stderr_console
from dayzero.cli.main import exit_code
from dayzero.cli.output import OutputFormat, print_json
from dayzero.evidence.document import check_document
from dayzero.evidence.report import Report
from dayzero.wiring.evidence_check import check_repository

APP = cyclopts.App(name="evidence", help="What raw line stands under this number?")

APP.command("dayzero.cli.evidence_claim:claim", name="claim")
APP.command("dayzero.cli.evidence_claim:not_measured", name="not-measured")
APP.command("dayzero.cli.evidence_package:package", name="package")
APP.command("dayzero.cli.evidence_show:show_claim", name="show")
APP.command("dayzero.cli.evidence_event:retract_claim", name="retract")
APP.command("dayzero.cli.evidence_event:concern", name="concern")
APP.command("dayzero.cli.evidence_event:reaffirm", name="reaffirm")
APP.command("dayzero.cli.evidence_event:expire", name="expire")
APP.command("dayzero.cli.evidence_explain:explain_cause", name="explain")
APP.command("dayzero.cli.evidence_trials:trials", name="trials")
APP.command("dayzero.cli.evidence_export:export", name="export")


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
