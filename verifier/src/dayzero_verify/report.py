"""What the verifier answers: one row for each check, and one exit code."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, IntEnum

SCHEMA = "dayzero/verify/v1"


class ExitCode(IntEnum):
    """One meaning each; 11 and 16 to 22 belong to checks that this version does not make."""

    VERIFIED = 0
    USAGE = 2
    UNREADABLE = 3
    SIGNATURE = 10
    DIGEST = 12
    FILE_SET = 13
    ARCHIVE = 14
    STATEMENT = 15
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


# Every check, in the order in which it is made.
CHECKS = (
    "size",
    "envelope",
    "key",
    "signature",
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
    "key_status",
    "deploy_files",
    "claims",
    "downgrade",
    "retraction",
    "trust_age",
    "weights",
)

# Checks that this version never makes, and why; each will get the exit code that README.md reserves for it.
UNMADE: Mapping[str, str] = {
    "key_status": "no list of revoked or expired keys is read",
    "deploy_files": "the deploy files are not rendered again from launch.json",
    "claims": "the measured values are not extracted again from the raw files",
    "downgrade": "versions seen earlier are not remembered",
    "retraction": "no list of retracted kits is read",
    "trust_age": "the key is trusted as given, whatever its age",
    "weights": "the model files are not in the kit and were not looked at; see model.sha256 in the kit",
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
    reason = f"not reached: {stopped} failed" if stopped else "not reached"
    return tuple(made.get(check) or Row(check, Status.NOT_CHECKED, UNMADE.get(check, reason)) for check in CHECKS)


def demand(report: Report, required: tuple[str, ...]) -> Report:
    """Turn a verified report into an undecided one where a required check was not made."""
    unmade = {row.check for row in report.rows if row.status is Status.NOT_CHECKED} & set(required)
    if not unmade or report.exit_code is not ExitCode.VERIFIED:
        return report
    rows = tuple(
        replace(row, reason=f"required, but {row.reason}") if row.check in unmade else row for row in report.rows
    )
    return replace(report, rows=rows, exit_code=ExitCode.UNREADABLE)
