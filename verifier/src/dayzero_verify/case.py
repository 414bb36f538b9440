"""One examination while it is made: the rows so far, and what is known."""

from dataclasses import dataclass, field
from datetime import datetime

from dayzero_verify.log_head import LogFolder
from dayzero_verify.memory import LONG_AGO, Memory
from dayzero_verify.report import ExitCode, Report, Row, Status, complete

_NAMED_AT_MOST = 3


def _no_folder(_: str) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known beside the kit and the keys.

    Attributes:
        now: The time; left out, it is so long ago that no trust document has been issued yet.
        memory: What was seen before, ``None`` where nothing is remembered.
        proof: The log's proof of the kit statement, ``None`` where there is none.
        log: Reads files of the log's folder.
    """

    now: datetime = LONG_AGO
    memory: Memory | None = None
    proof: bytes | None = None
    log: LogFolder = _no_folder


class RefusedError(Exception):
    """One check failed; nothing after it is looked at."""

    def __init__(self, check: str, code: ExitCode, reason: str) -> None:
        super().__init__(reason)
        self.check, self.code, self.reason = check, code, reason


@dataclass(slots=True)
class Case:
    """What is known so far."""

    given: Circumstances
    rows: list[Row] = field(default_factory=list)
    sha256: str = ""
    keyid: str = ""
    kit: str = ""
    demo: bool = False

    def passed(self, check: str, reason: str) -> None:
        """Note that a check passed."""
        self.rows.append(Row(check, Status.PASS, reason))

    def not_checked(self, check: str, reason: str) -> None:
        """Note that a check was not made."""
        self.rows.append(Row(check, Status.NOT_CHECKED, reason))

    def report(self, code: ExitCode, *, stopped: str = "") -> Report:
        """Give the report, with a row for every check."""
        rows = complete(tuple(self.rows), stopped=stopped)
        return Report(rows=rows, exit_code=code, kit=self.kit, sha256=self.sha256, keyid=self.keyid, demo=self.demo)


def some(findings: list[str]) -> str:
    """Name the first three findings, and how many more there are."""
    shown = "; ".join(findings[:_NAMED_AT_MOST])
    return shown if len(findings) <= _NAMED_AT_MOST else f"{shown}; and {len(findings) - _NAMED_AT_MOST} more"


def count(number: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
