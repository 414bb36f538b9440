"""The command ``dayzero-verify``: read the files, examine, print every check, give the exit code."""

import argparse
import gc
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn, TextIO

from dayzero_verify.further import Answer, answer
from dayzero_verify.inputs import Beside, TrustFile, UnreadableError, examine_files
from dayzero_verify.kit import DEMO_WARNING, Examination
from dayzero_verify.options import parse
from dayzero_verify.report import ExitCode, Report, Status, extended


def run(argv: Sequence[str], *, program: str = "dayzero-verify") -> int:
    """Run one command line and give its exit code; whatever goes wrong inside is 30, never 0.

    Args:
        argv: The words after the program's name.
        program: The name to print in usage messages.
    """
    try:
        options = parse(program, list(argv))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.USAGE
    try:
        return _verify(options)
    except UnreadableError as error:
        sys.stderr.write(f"error: {error.message}\nhint: {error.hint}\n")
        return ExitCode.UNREADABLE
    except Exception as error:  # noqa: BLE001  (a fault of the verifier must not look like any answer)
        sys.stderr.write(
            f"error: the verifier failed: {type(error).__name__}: {error}\nhint: the kit is not verified\n"
        )
        return ExitCode.INTERNAL


def _verify(options: argparse.Namespace) -> int:
    places = Beside(attestation=options.attestation, proof=options.proof, log=options.log, state=options.state)
    examination = examine_files(options.kit, places, _authority(options))
    full = answer(examination, options)
    explained = _write(examination, full, options)
    # The program that takes this one's place owns standard output.
    out = sys.stderr if options.exec is not None else sys.stdout
    _print(full.report, options, explained, out)
    if full.hand_over is None:
        return full.report.exit_code
    refused = extended(full.report, (full.hand_over(),))
    _print(refused, options, "", out)
    return refused.exit_code


def _authority(options: argparse.Namespace) -> Sequence[Path] | TrustFile:
    if options.trust is None:
        return tuple(options.key)
    return TrustFile(
        path=options.trust,
        root=options.root,
        policy=options.policy,
        max_age_days=options.max_trust_age,
        online_expiry=options.online_expiry,
    )


def _write(examination: Examination, full: Answer, options: argparse.Namespace) -> str:
    """Write what is to be written about a verified kit, the state last; give the text of the explanation."""
    content, memory, report = examination.content, examination.memory, full.report
    if content is None or memory is None or report.exit_code is not ExitCode.VERIFIED:
        return ""
    text = ""
    if options.explain is not None:
        from dayzero_verify import explain  # noqa: PLC0415  (most runs do not ask)

        text = explain.explain(content, kit=options.kit, folder=options.explain, model=options.model)
    if options.emit_svr is not None:
        from dayzero_verify import state, svr  # noqa: PLC0415  (same)

        hashed = options.weights == "full"
        result = svr.result_statement(report, content.statement, datetime.now(UTC), hashed=hashed)
        state.write_whole(options.emit_svr, result, "statement")
    if options.state is not None:
        from dayzero_verify import state  # noqa: PLC0415  (same)

        state.write_memory(options.state, memory)
    return text


def _print(report: Report, options: argparse.Namespace, explained: str, out: TextIO) -> None:
    if options.json:
        out.write(report_json(report))
        sys.stderr.write(explained)
    else:
        text = report_text(report, options.kit) + (f"\n{explained}" if explained else "")
        # A letter that the terminal's encoding lacks must not keep the answer back.
        encoding = out.encoding or "utf-8"
        out.write(text.encode(encoding, "backslashreplace").decode(encoding))
    out.flush()


def main() -> NoReturn:
    """Run the command line of this process, and end it at once.

    What stands in a stream that cannot be written was an answer of 30 already; the interpreter would try again and choose an exit
    code of its own. Nor is it asked to take itself apart, which takes a tenth of the time of checking a kit.
    """
    gc.disable()  # nothing here lives in cycles, and looking for them takes a twelfth of the quick look at a large model
    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, AttributeError):  # a closed stream is None
            stream.flush()
    os._exit(code)


def report_json(report: Report) -> str:
    """Write the report as one JSON document."""
    return json.dumps(report.document(), indent=2) + "\n"


def report_text(report: Report, kit: Path) -> str:
    """Write the report for people: one line a check, the answer last."""
    marks = {Status.PASS: "pass", Status.FAIL: "FAIL", Status.NOT_CHECKED: "not checked"}
    lines = [f"{marks[row.status]:<12} {row.check:<13} {row.reason}" for row in report.rows]
    if report.demo:
        lines += ["", DEMO_WARNING]
    return "\n".join([*lines, "", f"{_conclusion(report, kit)} (exit {int(report.exit_code)})", ""])


def _conclusion(report: Report, kit: Path) -> str:
    """Name what decided: in a window that shows the last lines only, the row that matters has scrolled away."""
    failed = [row.check for row in report.rows if row.status is Status.FAIL]
    because = f", {failed[0]} failed" if failed else ""
    match report.exit_code:
        case ExitCode.VERIFIED:
            unmade = sum(row.status is Status.NOT_CHECKED for row in report.rows)
            said = f", {unmade} {'check' if unmade == 1 else 'checks'} not made" if unmade else ""
            return f"verified {report.kit}: {str(kit)!a}{said}"
        case ExitCode.UNREADABLE:
            return f"NOT DECIDED: {str(kit)!a}{because}"
        case _:
            return f"REFUSED: {str(kit)!a}{because}"
