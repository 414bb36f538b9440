"""The checks and works that follow on a verified kit; each is imported only where it is asked for."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dayzero_verify.kit import Content, Examination
from dayzero_verify.report import ExitCode, Outcome, Report, Status, demand, extended


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole answer, and what would put another program in this one's place, ``None`` where that is not asked."""

    report: Report
    hand_over: Callable[[], Outcome] | None = None


def answer(examination: Examination, options: argparse.Namespace) -> Answer:
    """Make the further checks of a verified kit, and judge what was required."""
    report, content = examination.report, examination.content
    if content is None:
        return Answer(report)
    report = extended(report, _rechecks(content))
    hand_over = None
    if options.weights is not None and report.exit_code is ExitCode.VERIFIED:
        outcome, hand_over = _weights(report.sha256, content, options)
        report = extended(report, (outcome,))
    if options.live is not None and report.exit_code is ExitCode.VERIFIED:
        from dayzero_verify import live  # noqa: PLC0415  (the one module that knows how to connect)

        report = extended(
            report, (live.outcome(content, options.live, api_key=os.environ.get(options.api_key_env or "", "")),)
        )
    report = demand(_asked(report, options), tuple(options.require))
    return Answer(report, hand_over if report.exit_code is ExitCode.VERIFIED else None)


def _rechecks(content: Content) -> Sequence[Outcome]:
    if sys.flags.no_site:
        return ()  # nothing is installed that could be looked for
    from dayzero_verify import rechecks  # noqa: PLC0415  (looks for what is installed, which takes a while)

    return rechecks.outcomes(content)


def _weights(kit: str, content: Content, options: argparse.Namespace) -> tuple[Outcome, Callable[[], Outcome] | None]:
    from dayzero_verify import weights  # noqa: PLC0415  (threads and hashing of terabytes are for those who ask)

    how = weights.Options(resume=options.resume, fresh=options.fresh, threads=options.threads, say=_say)
    examined = weights.examine(content.model_files, options.model, options.weights, how)
    if options.exec is None:
        return examined.outcome, None

    def hand_over() -> Outcome:
        from dayzero_verify import handover  # noqa: PLC0415  (same)

        seen = handover.SeenKit(options.kit, kit)
        return handover.hand_over(options.exec, seen, options.model, examined.seen)

    return examined.outcome, hand_over


def _asked(report: Report, options: argparse.Namespace) -> Report:
    """Keep a check that was asked for and could not be made from passing as done."""
    asked = {"weights": options.weights, "live": options.live, "log": options.log}
    unmade = {row.check for row in report.rows if row.status is Status.NOT_CHECKED and asked.get(row.check)}
    if not unmade or report.exit_code is not ExitCode.VERIFIED:
        return report
    return replace(report, exit_code=ExitCode.UNREADABLE)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
