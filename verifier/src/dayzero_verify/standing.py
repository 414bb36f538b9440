"""Whom to believe what about a kit, and the checks of a kit that need nothing more: versions seen, and retractions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from dayzero_verify.case import Case, RefusedError, some
from dayzero_verify.dsse import Signed
from dayzero_verify.keys import PublicKey, Role
from dayzero_verify.log_head import Checkpoint
from dayzero_verify.memory import Memory
from dayzero_verify.report import ExitCode
from dayzero_verify.retraction import (
    RETRACTION_TYPE,
    ClaimName,
    Retraction,
    hits,
    parse_retraction,
    stated_claims,
    taken_back,
)
from dayzero_verify.statement import RECEIPT_TYPE, KitStatement, Statement, StatementError
from dayzero_verify.strict_json import StrictJsonError
from dayzero_verify.times import format_time
from dayzero_verify.versions import is_older

_NO_VERSIONS: Mapping[str, int] = {}


class Standing(Protocol):
    """What a buyer's trust says: of keys alone, or of a root and the document that follows from it."""

    @property
    def keys(self) -> tuple[PublicKey, ...]:
        """Every key whose signatures are looked for."""

    @property
    def former(self) -> tuple[PublicKey, ...]:
        """Whose signatures are recognised, though they count for nothing any more."""

    @property
    def retractions(self) -> tuple[Retraction, ...]:
        """What is taken back."""

    @property
    def versions(self) -> Mapping[str, int]:
        """Version of each part of the document, to be remembered."""

    def role(self, predicate_type: str) -> Role:
        """Say who signs statements of a type."""

    def oldest(self, kit: str) -> frozenset[str]:
        """Give the oldest versions of a kit that may still be used."""

    def identity(self, keyid: str) -> str:
        """Say whose key it is."""

    def check_key_status(self, case: Case, signed: Sequence[Signed]) -> None:
        """Check that each line is signed by enough keys that are good."""

    def note_retractions(self, case: Case, coming: str) -> None:
        """Note that nothing is retracted; ``coming`` says what will be."""

    def check_age(self, case: Case) -> None:
        """Check that what is trusted is current."""

    def check_listed(self, case: Case, statement: KitStatement, size: int, attestation: bytes) -> None:
        """Check that the kit is among what is released, with this archive and this attestation."""

    def check_log(self, case: Case, statement: KitStatement, payload: bytes) -> Checkpoint | None:
        """Check that the release is in the log; give the largest head that agrees with all seen before."""


@dataclass(frozen=True, slots=True)
class KeyStanding:
    """Believe each of these keys everything; members as in :class:`Standing`."""

    keys: tuple[PublicKey, ...]

    @property
    def former(self) -> tuple[PublicKey, ...]:
        """None."""
        return ()

    @property
    def retractions(self) -> tuple[Retraction, ...]:
        """None."""
        return ()

    @property
    def versions(self) -> Mapping[str, int]:
        """None."""
        return _NO_VERSIONS

    def role(self, _: str) -> Role:
        """Let each of them sign everything."""
        return Role(self.keys, 1)

    def oldest(self, _: str) -> frozenset[str]:
        """Set none."""
        return frozenset()

    def identity(self, keyid: str) -> str:
        """Say that the buyer trusts it."""
        return f"signed by the key you trust, {keyid}"

    def check_key_status(self, case: Case, _: Sequence[Signed]) -> None:
        """Say what is missing for it."""
        case.not_checked("key_status", "a key that is trusted by itself has no status; give --trust")

    def note_retractions(self, case: Case, _: str) -> None:
        """Say that no list was read."""
        case.not_checked("retraction", "no list of retractions is read, only the kit's own ledger; give --trust")

    def check_age(self, case: Case) -> None:
        """Say what is missing for it."""
        case.not_checked("trust_age", "the key is trusted as given, whatever its age; give --trust")

    def check_listed(self, case: Case, *_: object) -> None:
        """Say what is missing for it."""
        case.not_checked("listed", "no list of what is released is read; give --trust")

    def check_log(self, case: Case, *_: object) -> Checkpoint | None:
        """Say what is missing for it."""
        case.not_checked("log", "no key of a log is known; give --trust")
        return case.given.memory.checkpoint if case.given.memory is not None else None


def check_downgrade(case: Case, standing: Standing, statement: KitStatement) -> None:
    """Check that the version is not older than the oldest that is still good, nor than one seen before.

    Raises:
        RefusedError: It is.
    """
    version, notes = statement.version, []
    for least in sorted(standing.oldest(statement.kit)):
        if is_older(version, least):
            raise RefusedError(
                "downgrade", ExitCode.DOWNGRADE, f"{version} is older than {least}, the oldest still good"
            )
        notes.append(f"not older than {least}, the oldest still good")
    memory = case.given.memory
    if memory is not None:
        seen = memory.kits.get(statement.kit)
        if seen is not None and is_older(version, seen):
            raise RefusedError(
                "downgrade", ExitCode.DOWNGRADE, f"{version} is older than {seen}, which was seen before"
            )
        notes.append(f"not older than {seen}, seen before" if seen else "the first version of this kit that is seen")
    if notes:
        case.passed("downgrade", f"{version}: {some(notes)}")
    else:
        case.not_checked(
            "downgrade", "no oldest version is set, and versions seen earlier are not remembered; give --state"
        )


def check_retraction(
    case: Case, standing: Standing, statement: KitStatement, lines: Sequence[Statement], ledger: bytes
) -> None:
    """Check that nothing in the kit is retracted or withdrawn: by the trust document, by a line beside it, or by its own ledger.

    Args:
        case: The examination.
        standing: Whom to believe.
        statement: What was signed about the kit.
        lines: Every statement of the attestation.
        ledger: The kit's own.

    Raises:
        RefusedError: Something is.
    """
    try:
        receipts = [line for line in lines if line.predicate_type == RECEIPT_TYPE]
        claims = tuple(claim for receipt in receipts for claim in stated_claims(receipt.predicate))
        beside = tuple(parse_retraction(line) for line in lines if line.predicate_type == RETRACTION_TYPE)
    except StatementError as error:
        raise RefusedError("retraction", ExitCode.STATEMENT, str(error)) from error
    coming = _refuse_retracted(case, statement, claims, (*standing.retractions, *beside))
    _refuse_taken_back(claims, ledger)
    standing.note_retractions(case, coming)


def _refuse_retracted(
    case: Case, statement: KitStatement, claims: tuple[ClaimName, ...], retractions: tuple[Retraction, ...]
) -> str:
    coming = ""
    for retraction in retractions:
        if not hits(retraction, kit=case.sha256, receipts=statement.named, claims=claims):
            continue
        what = f"the claim {retraction.slug}" if retraction.slug else f"the {retraction.what}"
        text = f"{what} is {retraction.word} from {format_time(retraction.effective)} on: {retraction.reason}"
        text += f"; replaced by {retraction.replaced_by}" if retraction.replaced_by else ""
        if retraction.effective <= case.given.now:
            raise RefusedError("retraction", ExitCode.RETRACTED, text)
        coming += f"; but {text}"
    return coming


def _refuse_taken_back(claims: tuple[ClaimName, ...], ledger: bytes) -> None:
    try:
        gone: Mapping[ClaimName, str] = taken_back(ledger)
    except StrictJsonError as error:
        raise RefusedError("retraction", ExitCode.STATEMENT, f"the kit's ledger: {error}") from error
    for claim in claims:
        why = gone.get(claim) or gone.get(replace(claim, raw=""))
        if why is not None:
            raise RefusedError(
                "retraction", ExitCode.RETRACTED, f"the kit's own ledger takes back {claim.slug!a}, which a receipt states: {why}"
            )  # fmt: skip


def check_trust_age(case: Case, standing: Standing) -> None:
    """Check that what is trusted is current, by the buyer's clock and by what was seen before.

    Raises:
        RefusedError: It is stale, or the clock is wrong.
    """
    now, memory = case.given.now, case.given.memory
    if memory is not None and now < memory.time:
        raise stale(f"the clock says {format_time(now)}, and has said {format_time(memory.time)} before")
    for role, version in memory.metadata.items() if memory is not None else ():
        found = standing.versions.get(role, version)
        if found < version:
            raise stale(f"{role} has version {found}, and version {version} was seen before")
    standing.check_age(case)


def stale(reason: str) -> RefusedError:
    """Refuse a trust document for its age."""
    return RefusedError("trust_age", ExitCode.STALE, f"the trust document is stale: {reason}")


def remembered(case: Case, standing: Standing, statement: KitStatement, head: Checkpoint | None) -> Memory:
    """Say what to remember from a kit that is verified."""
    memory = case.given.memory or Memory()
    return Memory(
        kits={**memory.kits, statement.kit: statement.version},
        metadata={**memory.metadata, **standing.versions},
        checkpoint=head,
        time=max(memory.time, case.given.now),
    )
