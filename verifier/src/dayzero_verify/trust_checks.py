"""Whether what was signed still stands by a trust document: keys, its age, what it lists, and the log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from dayzero_verify.anchor import Policy, TrustAnchor
from dayzero_verify.case import Case, RefusedError, count, some
from dayzero_verify.dsse import Signed
from dayzero_verify.keys import PublicKey, Role
from dayzero_verify.log_head import Checkpoint
from dayzero_verify.log_proof import Logged, LogProofError, Record, agree, records, signed_checkpoint, verify_proof
from dayzero_verify.report import ExitCode
from dayzero_verify.retraction import RETRACTION_TYPE, Retraction
from dayzero_verify.signed_note import NoteKey
from dayzero_verify.standing import stale
from dayzero_verify.statement import KitStatement
from dayzero_verify.times import format_time
from dayzero_verify.trust import Trust, read_trust

CLOCKS_DIFFER = timedelta(minutes=5)
_OFFLINE = ("root", "targets", "retractions")
_ONLINE = ("snapshot", "timestamp")


@dataclass(frozen=True, slots=True)
class TrustStanding:
    """Believe each role what is its own; members as in :class:`dayzero_verify.standing.Standing`.

    Attributes:
        anchor: What the buyer trusts.
        trust: What follows from it.
        logged: What the log says about the kit statement, or why that does not hold; ``None`` where it was not asked.
    """

    anchor: TrustAnchor
    trust: Trust
    logged: Logged | LogProofError | None = None

    @property
    def keys(self) -> tuple[PublicKey, ...]:
        """Those of release and retractions, and the former ones."""
        trust = self.trust
        return tuple(dict.fromkeys((*trust.release.keys, *trust.former, *trust.retractors.keys)))

    @property
    def former(self) -> tuple[PublicKey, ...]:
        """Release keys of older roots."""
        return self.trust.former

    @property
    def retractions(self) -> tuple[Retraction, ...]:
        """Those that are listed."""
        return self.trust.retractions

    @property
    def versions(self) -> Mapping[str, int]:
        """Those of the roles."""
        return self.trust.versions

    def role(self, predicate_type: str) -> Role:
        """Let retractions be signed by their own keys, and all else by the release keys."""
        if predicate_type == RETRACTION_TYPE:
            return self.trust.retractors
        return Role((*self.trust.release.keys, *self.trust.former), self.trust.release.threshold)

    def oldest(self, kit: str) -> frozenset[str]:
        """Give those that the list sets."""
        targets = self.trust.targets.values()
        return frozenset(entry.min_version for entry in targets if entry.kit == kit and entry.min_version)

    def identity(self, keyid: str) -> str:
        """Say that the root names it."""
        return f"signed by {keyid}, a release key of the root you trust"

    def check_key_status(self, case: Case, signed: Sequence[Signed]) -> None:
        """Check that each line is signed by enough keys that are, or by the policy were, good.

        Raises:
            RefusedError: Revoked, expired, or no release key any more.
        """
        logged, moment = self.logged, case.given.now
        note = f"as of {format_time(moment)}"
        if self.anchor.policy is Policy.AT_SIGNING and _is_about(logged, signed[0].payload):
            moment = min(moment, logged.record.time) if isinstance(logged, Logged) else moment
            note = f"when the kit was logged, {format_time(moment)}"
        for number, line in enumerate(signed, start=1):
            faults = [fault for entry in line.signatures if (fault := _fault(self.trust, entry.key, moment))]
            if len(line.signatures) - len(faults) < self._signing(line).threshold:
                raise RefusedError("key_status", ExitCode.KEY_STATUS, f"line {number}: {some(faults)}")
        case.passed("key_status", f"neither revoked nor expired {note}")

    def _signing(self, line: Signed) -> Role:
        """Say as whom the signers of a line signed; a line that release keys did not sign passed as a retraction."""
        retracting = all(entry.key in self.trust.retractors.keys for entry in line.signatures)
        return self.trust.retractors if retracting else self.trust.release

    def note_retractions(self, case: Case, coming: str) -> None:
        """Say how many were looked at."""
        listed, date = self.trust.retractions, format_time(self.trust.issued)
        found = f"none of {count(len(listed), 'retraction')} is about this kit" if listed else "nothing is retracted"
        case.passed("retraction", f"{found}, as of {date}{coming}")

    def check_age(self, case: Case) -> None:
        """Check that the trust document is current by its own dates.

        Raises:
            RefusedError: It is stale, or from the future.
        """
        now, trust, anchor = case.given.now, self.trust, self.anchor
        if trust.issued > now + CLOCKS_DIFFER:
            raise stale(f"it was issued at {format_time(trust.issued)}, and the clock says {format_time(now)}")
        expired = [role for role in (*_OFFLINE, *_ONLINE) if trust.expires[role] <= now]
        if not set(_OFFLINE).isdisjoint(expired) or (expired and anchor.online_expiry):
            raise stale("; ".join(f"{role} expired at {format_time(trust.expires[role])}" for role in expired))
        age = now - trust.issued
        as_of = f"as of {format_time(trust.issued)}, {count(max(age.days, 0), 'day')} old"
        if age > timedelta(days=anchor.max_age_days):
            raise stale(f"{as_of}; at most {anchor.max_age_days} are allowed")
        names = " and ".join(expired)
        said = f"; {names} expired, as they do in days, so ask for a newer one where you can" if expired else ""
        case.passed("trust_age", f"{as_of}{said}")

    def check_listed(self, case: Case, statement: KitStatement, size: int, attestation: bytes) -> None:
        """Check that the kit is among what is released, with this archive and this attestation.

        Raises:
            RefusedError: It is not.
        """
        name = f"{statement.kit}-{statement.version}.kit.zip"
        target = self.trust.targets.get(name)
        if target is None or (target.kit, target.version) != (statement.kit, statement.version):
            raise RefusedError("listed", ExitCode.STATEMENT, f"{name} is not among what is released")
        if (target.length, target.sha256) != (size, case.sha256):
            raise RefusedError("listed", ExitCode.STATEMENT, f"{name} was released with other bytes, {target.sha256}")
        if target.attestation != (len(attestation), sha256(attestation).hexdigest()):
            raise RefusedError("listed", ExitCode.STATEMENT, f"{name} was released with another attestation")
        case.passed("listed", f"{name} is released, with this attestation")

    def check_log(self, case: Case, statement: KitStatement, payload: bytes) -> Checkpoint | None:
        """Check that the release is in the log, and that the log is the one that was seen before.

        Returns:
            The largest head that agrees with all seen before, to be remembered.

        Raises:
            RefusedError: The proof does not hold, is about another statement, or shows another log.
        """
        before = case.given.memory.checkpoint if case.given.memory is not None else None
        trust = self.trust
        if trust.log is None or self.logged is None:
            case.not_checked("log", "the root names no log" if trust.log is None else "no proof is there; give --proof")
            return before
        try:
            record, head = _recorded(self.logged, statement, payload)
            published = _published(case, trust.log)
            heads = [head] if published is None else [head, published]
            newest = max(heads, key=lambda entry: entry.size)
            # Every pair is looked at, whether or not another one could be told: a split view must not hide behind a missing tile.
            told = [_agrees(case, entry, newest) for entry in (*heads, *([before] if before is not None else []))]
            known = "" if published is None else _refuse_logged_retraction(case, trust, published, statement)
        except LogProofError as error:
            raise RefusedError("log", error.code, error.reason) from error
        found = f"record {record.seq} of {head.origin}, {format_time(record.time)}{known}"
        if all(told):
            case.passed(
                "log", f"{found}; {'the log that was seen before' if before else 'no earlier head is remembered'}"
            )
            return newest
        case.not_checked(
            "log", f"{found}; but not compared with every head that is known; give --log, with all its tiles"
        )
        return before


def of_trust(anchor: TrustAnchor, now: datetime, proof: bytes | None) -> TrustStanding:
    """Read what follows from the root, and ask the log's proof.

    Raises:
        TrustError: The trust document cannot be relied on.
    """
    trust = read_trust(anchor, now)
    logged: Logged | LogProofError | None = None
    if trust.log is not None and proof is not None:
        try:
            logged = verify_proof(proof, trust.log)
        except LogProofError as error:
            logged = error
    return TrustStanding(anchor, trust, logged)


def _is_about(logged: Logged | LogProofError | None, payload: bytes) -> bool:
    return isinstance(logged, Logged) and logged.record.statement == sha256(payload).hexdigest()


def _fault(trust: Trust, key: PublicKey, moment: datetime) -> str:
    """Say why a key was not good at a moment, ``""`` where it was."""
    end = trust.ends.get(key.keyid)
    if end is not None and moment < end.at:
        return ""
    if end is not None:
        return f"key {key.keyid}: {end.reason}"
    return f"key {key.keyid}: no release key any more" if key in trust.former else ""


def _recorded(logged: Logged | LogProofError, statement: KitStatement, payload: bytes) -> tuple[Record, Checkpoint]:
    if isinstance(logged, LogProofError):
        raise logged
    record = logged.record
    if not _is_about(logged, payload) or (record.type, record.kit, record.version) != (
        "release",
        statement.kit,
        statement.version,
    ):
        raise LogProofError(ExitCode.STATEMENT, "the log's proof is about another statement")
    return record, logged.checkpoint


def _published(case: Case, key: NoteKey) -> Checkpoint | None:
    """Read the head in the log's folder, where there is one; it may not be older than what was seen."""
    note = case.given.log("checkpoint")
    if note is None:
        return None
    published = signed_checkpoint(note, key)
    before = case.given.memory.checkpoint if case.given.memory is not None else None
    if before is not None and published.size < before.size:
        reason = f"the log's folder has {published.size} records, and {before.size} were seen before"
        raise LogProofError(ExitCode.STALE, reason)
    return published


def _refuse_logged_retraction(case: Case, trust: Trust, head: Checkpoint, statement: KitStatement) -> str:
    """Look for a retraction of this version in the log that the trust document keeps back."""
    found = records(head, case.given.log)
    if found is None:
        return ""
    for record in found:
        about = (record.type, record.kit, record.version) == ("retraction", statement.kit, statement.version)
        if about and record.statement not in trust.retraction_statements:
            reason = (
                f"the log holds a retraction of this version, {record.statement}, that the trust document does not have"
            )
            raise RefusedError("log", ExitCode.RETRACTED, reason)
    return f"; its {count(len(found), 'record')} hold no retraction of this version that the trust document lacks"


def _agrees(case: Case, head: Checkpoint, newest: Checkpoint) -> bool:
    if head.origin != newest.origin:
        raise LogProofError(ExitCode.STALE, f"another log was seen before, {head.origin!a}")
    return head.size <= newest.size and agree(head, newest, case.given.log)
