"""What the verifier answers: one row for each check, and one exit code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, IntEnum

SCHEMA = "dayzero/verify/v1"


class ExitCode(IntEnum):
    """One meaning each; whatever goes wrong, nothing but ``VERIFIED`` is 0."""

    VERIFIED = 0
    USAGE = 2
    UNREADABLE = 3
    SIGNATURE = 10
    KEY_STATUS = 11
    DIGEST = 12
    FILE_SET = 13
    ARCHIVE = 14
    STATEMENT = 15
    DOWNGRADE = 16
    RETRACTED = 17
    STALE = 18
    WEIGHTS_DIFFER = 19
    WEIGHTS_INCOMPLETE = 20
    DEPLOY_DRIFT = 21
    CLAIM = 22
    INTERNAL = 30


class Status(Enum):
    """The three answers; ``NOT_CHECKED`` is never a pass."""

    PASS = "pass"  # noqa: S105  (an answer, not a password)
    FAIL = "fail"
    NOT_CHECKED = "not_checked"


@dataclass(frozen=True, slots=True)
class Row:
    """The answer of one check, with its reason."""

    check: str
    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of one further check; the code only counts where the row says that it failed."""

    row: Row
    code: ExitCode


class DecidingError(ValueError):
    """Something that was read cannot be relied on, which decides the answer.

    Args:
        code: What the verifier ends with.
        reason: Why.
    """

    def __init__(self, code: ExitCode, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


# Every check, in the order in which it is made.
CHECKS = (
    "size",
    "envelope",
    "key",
    "signature",
    "key_status",
    "statement",
    "subject",
    "archive",
    "paths",
    "digests",
    "closed_world",
    "manifest",
    "receipts",
    "uncounted",
    "identity",
    "downgrade",
    "retraction",
    "trust_age",
    "listed",
    "log",
    "deploy_files",
    "claims",
    "weights",
    "live",
)

RECHECKS_ABSENT = "dayzero makes this check where it is installed beside this program, and it is not"

# Checks that are made only where what they need is there, and what to give for each.
UNASKED: Mapping[str, str] = {
    "deploy_files": RECHECKS_ABSENT,
    "claims": RECHECKS_ABSENT,
    "weights": "the model files are not in the kit; give --weights and --model",
    "live": "no running server was asked; give --live",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The answer about one kit.

    Attributes:
        rows: One a check, in the order of ``CHECKS``.
        exit_code: What the process ends with.
        kit: Name and version that the signed statement gives the kit, ``""`` until the signature holds.
        sha256: Digest of the archive as it was read.
        keyid: Key id of the trusted key that signed, ``""`` until the signature holds.
        demo: True where the signed statement, or the key's own file, says that it is a demo key.
    """

    rows: tuple[Row, ...]
    exit_code: ExitCode
    kit: str = ""
    sha256: str = ""
    keyid: str = ""
    demo: bool = False

    def document(self) -> dict[str, object]:
        """Give the report as JSON members, schema first."""
        return {
            "schema": SCHEMA,
            "exit_code": int(self.exit_code),
            "verified": self.exit_code is ExitCode.VERIFIED,
            "kit": self.kit,
            "sha256": self.sha256,
            "keyid": self.keyid,
            "demo_key": self.demo,
            "checks": [{"check": row.check, "status": row.status.value, "reason": row.reason} for row in self.rows],
        }


def complete(rows: tuple[Row, ...], *, stopped: str = "") -> tuple[Row, ...]:
    """Give every check its row, in order, so that what was not checked is always said.

    Args:
        rows: The answers so far.
        stopped: The check that failed, if one did.
    """
    made = {row.check: row for row in rows}

    def unmade(check: str) -> Row:
        reason = f"not reached: {stopped} failed" if stopped else UNASKED.get(check, "not reached")
        return Row(check, Status.NOT_CHECKED, reason)

    return tuple(made.get(check) or unmade(check) for check in CHECKS)


def extended(report: Report, outcomes: Sequence[Outcome]) -> Report:
    """Put further answers into a report; the first that failed decides the exit code of one that was verified.

    Args:
        report: The report so far, with a row for every check.
        outcomes: The answers, each taking the place of its check's row.
    """
    made = {outcome.row.check: outcome.row for outcome in outcomes}
    rows = tuple(made.get(row.check, row) for row in report.rows)
    failed = next((outcome.code for outcome in outcomes if outcome.row.status is Status.FAIL), report.exit_code)
    code = failed if report.exit_code is ExitCode.VERIFIED else report.exit_code
    return replace(report, rows=rows, exit_code=code)


def demand(report: Report, required: tuple[str, ...]) -> Report:
    """Turn a verified report into an undecided one where a required check was not made."""
    unmade = {row.check for row in report.rows if row.status is Status.NOT_CHECKED} & set(required)
    if not unmade or report.exit_code is not ExitCode.VERIFIED:
        return report
    rows = tuple(
        replace(row, reason=f"required, but {row.reason}") if row.check in unmade else row for row in report.rows
    )
    return replace(report, rows=rows, exit_code=ExitCode.UNREADABLE)
