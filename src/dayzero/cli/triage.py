"""``dayzero triage``: what killed this start, and what resolves it?"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import cyclopts

from dayzero.audit.model import Check
from dayzero.cli.audit_package import check_document
from dayzero.cli.main import FINDINGS, PROVEN, UNDECIDED
from dayzero.cli.output import print_json
from dayzero.cli.triage_text import answer_rows, audit_rows, print_rows, print_table
from dayzero.core.errors import InputError
from dayzero.triage import document
from dayzero.triage.groups import grouped, of_group
from dayzero.triage.markdown import paste
from dayzero.triage.model import CauseNotInLog, Diagnosis, RootFound, Started
from dayzero.wiring import triage as wiring
from dayzero.wiring.triage_audit import audit_claim, open_builds

_PIPE = "-"
_FOLDER_SCHEMA = "dayzero/triage-folder/v1"


def triage(
    log: Annotated[Path, cyclopts.Parameter(allow_leading_hyphen=True)],
    /,
    *,
    audit: Annotated[
        tuple[Path, ...],
        cyclopts.Parameter(
            consume_multiple=True,
            negative="",
            show_default=False,
            help="Wheels, folders of wheels, or a site-packages: do their files bear out what the log says of them?",
        ),
    ] = (),
    output_format: Annotated[
        Literal["text", "json", "markdown"],
        cyclopts.Parameter(help="How the answer is written to stdout; markdown is short, to be pasted into an issue."),
    ] = "text",
) -> int:
    """Name the line that killed a start, the chain from it to the last error, the wall, and what resolves it.

    Nothing is guessed: a log that does not hold the cause is answered with what to collect. Exit code 0: the engine came
    up. 1: a root cause was found. 3: the cause is not in the log.

    Args:
        log: A log file; a folder, for a table of all logs in it; or - to follow a pipe (journalctl -f | dayzero triage -).
        audit: The builds that the log speaks of.
        output_format: How the answer is written.
    """
    if str(log) != _PIPE and log.is_dir():
        if audit:
            raise InputError("--audit asks about one log", hint="Name a log of the folder.")
        return _folder(log, output_format)
    builds = open_builds(audit)  # before a pipe is followed for an hour
    name, diagnosis = _one(log)
    checks = audit_claim(diagnosis, builds) if builds else ()
    match output_format:
        case "json":
            print_json(_document(name, diagnosis, checks))
        case "markdown":
            print(paste(diagnosis, Path(name).name))
        case _:
            print_rows([*answer_rows(name, diagnosis), *audit_rows(checks)], sys.stdout)
    return _code(diagnosis)


def _one(log: Path) -> tuple[str, Diagnosis]:
    if str(log) != _PIPE:
        return str(log), wiring.diagnose_file(log)

    def news(text: str) -> None:
        print(f"dayzero triage: {text}", file=sys.stderr, flush=True)

    return wiring.PIPE, wiring.follow(sys.stdin.fileno(), news)


def _code(diagnosis: Diagnosis) -> int:
    match diagnosis:
        case Started():
            return PROVEN
        case RootFound():
            return FINDINGS
        case CauseNotInLog():
            return UNDECIDED


def _document(name: str, diagnosis: Diagnosis, checks: Sequence[Check]) -> dict[str, object]:
    budget = wiring.memory_budget(diagnosis)
    return {
        **document.of_diagnosis(diagnosis, name),
        "budget": None if budget is None else {"reason": budget.verdict.reason},
        "audit": [check_document(check) for check in checks],
    }


def _folder(folder: Path, output_format: str) -> int:
    answers, unread = wiring.diagnose_folder(folder)
    for error in unread:
        print(f"error: {error}", file=sys.stderr)
    groups = grouped(answers)
    match output_format:
        case "json":
            print_json(
                {
                    "schema": _FOLDER_SCHEMA,
                    "groups": [of_group(group) for group in groups],
                    "logs": [_document(name, diagnosis, ()) for name, diagnosis in answers],
                    "unread": list(unread),
                }
            )
        case "markdown":
            print("\n\n".join(paste(diagnosis, name) for name, diagnosis in answers))
        case _:
            print_table(groups)
    codes = [_code(diagnosis) for _, diagnosis in answers] + [UNDECIDED] * bool(unread)
    return max(codes, key=(PROVEN, UNDECIDED, FINDINGS).index)
