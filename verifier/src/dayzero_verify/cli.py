"""The command ``dayzero-verify``: read the files, examine, print every check, give the exit code."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from dayzero_verify import __version__
from dayzero_verify.inputs import UnreadableError, examine_files
from dayzero_verify.kit import DEMO_WARNING
from dayzero_verify.report import CHECKS, ExitCode, Report, Status, demand

_EPILOG = """exit codes, one meaning each:
   0  verified: every check that this version makes passed
   2  the command line cannot be used
   3  undecided: an input cannot be read, or a check named in --require was not made
  10  no valid signature by a trusted key, or the key itself is unsound
  12  bytes differ from the signed ones
  13  a file or a receipt is extra or missing
  14  the archive is unsafe, too large or not canonical
  15  wrong or malformed statement, or a statement about another kit
  30  the verifier itself failed
Checks that were not made are printed with their reason. A copy of this program that came with the kit proves nothing:
take it, and the key, from somewhere else."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(ExitCode.USAGE, f"error: {message}\nhint: see {self.prog} --help\n")


def run(argv: Sequence[str], *, program: str = "dayzero-verify") -> int:
    """Run one command line and give its exit code; whatever goes wrong inside is 30, never 0.

    Args:
        argv: The words after the program's name.
        program: The name to print in usage messages.
    """
    try:
        arguments = _parser(program).parse_args(argv)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.USAGE
    try:
        examination = examine_files(arguments.kit, arguments.attestation, arguments.key)
        report = demand(examination.report, tuple(arguments.require))
        sys.stdout.write(report_json(report) if arguments.json else report_text(report, arguments.kit))
        sys.stdout.flush()
    except UnreadableError as error:
        sys.stderr.write(f"error: {error.message}\nhint: {error.hint}\n")
        return ExitCode.UNREADABLE
    except Exception as error:  # noqa: BLE001  (a fault of the verifier must not look like any answer)
        sys.stderr.write(
            f"error: the verifier failed: {type(error).__name__}: {error}\nhint: the kit is not verified\n"
        )
        return ExitCode.INTERNAL
    return report.exit_code


def main() -> NoReturn:
    """Run the command line of this process."""
    code = run(sys.argv[1:])
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        # The answer could not be written; the interpreter would try again at its end and choose its own exit code.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _parser(program: str) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=program,
        description="Check a dayzero kit: its signature, its archive and every byte in it. Nothing in the kit is run.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("kit", metavar="KIT.zip", type=Path, help="the kit")
    parser.add_argument(
        "--key",
        metavar="KEY.pub.pem",
        type=Path,
        action="append",
        required=True,
        help="a public key that you trust, from somewhere else than the kit; may be repeated, one valid signature is enough",
    )
    parser.add_argument(
        "--attestation",
        metavar="FILE",
        type=Path,
        help="the signed statements; default: KIT with .intoto.jsonl for .zip",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--require",
        metavar="CHECK",
        action="append",
        default=[],
        choices=CHECKS,
        help=f"fail where this check was not made; may be repeated; one of {', '.join(CHECKS)}",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    return parser


def report_json(report: Report) -> str:
    """Write the report as one JSON document."""
    return json.dumps(report.document(), indent=2) + "\n"


def report_text(report: Report, kit: Path) -> str:
    """Write the report for people: one line a check, the answer last."""
    marks = {Status.PASS: "pass", Status.FAIL: "FAIL", Status.NOT_CHECKED: "not checked"}
    lines = [f"{marks[row.status]:<12} {row.check:<13} {row.reason}" for row in report.rows]
    if report.demo:
        lines += ["", DEMO_WARNING]
    return "\n".join([*lines, "", f"{_conclusion(report)}: {str(kit)!a} (exit {int(report.exit_code)})", ""])


def _conclusion(report: Report) -> str:
    match report.exit_code:
        case ExitCode.VERIFIED:
            return f"verified {report.kit}"
        case ExitCode.UNREADABLE:
            return "NOT DECIDED"
        case _:
            return "REFUSED"
