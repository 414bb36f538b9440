"""The trust document: a chain of TUF roots from one that the buyer knows, and what the newest one vouches for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from itertools import pairwise

from dayzero_verify.anchor import TrustAnchor
from dayzero_verify.dsse import EnvelopeError, SignatureError, parse_envelope, verify_envelope
from dayzero_verify.keys import PublicKey, Role
from dayzero_verify.report import DecidingError, ExitCode
from dayzero_verify.retraction import Retraction, parse_retraction, plain
from dayzero_verify.signed_note import NoteError, NoteKey, parse_vkey
from dayzero_verify.statement import StatementError, is_name, parse_statement
from dayzero_verify.strict_json import Json, StrictJsonError, loads
from dayzero_verify.times import TimeError, parse_time
from dayzero_verify.tuf import (
    MAX_KEYS,
    Metadata,
    MetadataError,
    check_keys,
    members,
    parse_keys,
    parse_metadata,
    parse_role,
    signers,
    text,
    whole,
)

SCHEMA = "dayzero/trust/v1"
MAX_ROOTS = 256
RETRACTIONS_FOLDER = "retractions/"

_MEMBERS = {"schema", "root", "timestamp", "snapshot", "targets", "retractions", "statements"}
_ONLINE = ("timestamp", "snapshot")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class TrustError(DecidingError):
    """The trust document cannot be relied on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """When and why a key stopped being good."""

    at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One file as the targets metadata lists it.

    Attributes:
        kit: Name of the kit.
        version: Version of the kit.
        min_version: The oldest version of the kit that may still be used; ``""`` where none is set.
        attestation: Length and SHA-256 of the attestation.
    """

    length: int
    sha256: str
    kit: str
    version: str
    min_version: str
    attestation: tuple[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What follows from the root.

    Attributes:
        root: Fingerprint of the newest root.
        release: Who signs kits and receipts.
        former: Release keys of older roots that the newest one no longer has, those of newer roots first.
        ends: When keys stopped or stop being good, by key id.
        retractors: Who signs retractions.
        log: The log's key, ``None`` where the root names none.
        versions: Version of each role's metadata.
        expires: When each role's metadata stops being current.
        issued: When the document was made.
        targets: What is released, by file name.
        retractions: What is taken back.
        retraction_statements: SHA-256 of the payload of each of them.
    """

    root: str
    release: Role
    former: tuple[PublicKey, ...]
    ends: Mapping[str, End]
    retractors: Role
    log: NoteKey | None
    versions: Mapping[str, int]
    expires: Mapping[str, datetime]
    issued: datetime
    targets: Mapping[str, Target]
    retractions: tuple[Retraction, ...]
    retraction_statements: frozenset[str]


def read_trust(anchor: TrustAnchor, now: datetime) -> Trust:
    """Follow the chain from the known root to the newest one, and take what its roles signed.

    Expiry and age are not judged here, only signatures, distinct keys, thresholds and that the parts belong together.

    Raises:
        TrustError: Something in the document is malformed (3), unsigned or not the part that is signed (10), or signed by too
            few keys that are neither revoked nor expired (11).
    """
    try:
        return _read(anchor, now)
    except (StrictJsonError, MetadataError, NoteError, TimeError) as error:
        raise TrustError(ExitCode.UNREADABLE, f"the trust document: {error}") from error


def _read(anchor: TrustAnchor, now: datetime) -> Trust:
    document = members(loads(anchor.document), "the trust document")
    if set(document) != _MEMBERS or document["schema"] != SCHEMA:
        raise MetadataError(f"not of schema {SCHEMA} with the members {', '.join(sorted(_MEMBERS))}")
    listed = document["root"]
    if not isinstance(listed, list) or not 1 <= len(listed) <= MAX_ROOTS:
        raise MetadataError(f"not 1 to {MAX_ROOTS} roots")
    roots = tuple(parse_metadata(entry, "root") for entry in listed)
    _follow(roots, anchor.root)
    newest = roots[-1]
    ends, release = _ends(newest), _role(newest, "targets")
    signed = {"root": newest} | {
        name: _vouched(parse_metadata(document[name], name), name, _role(newest, name), ends, now)
        for name in (*_ONLINE, "targets")
    }
    retractors = _delegated(signed["targets"])
    signed["retractions"] = _vouched(
        parse_metadata(document["retractions"], "targets"), "retractions", retractors, ends, now
    )
    _need_agreement(signed)
    withdrawals = _retractions(signed["retractions"], document["statements"], retractors, ends, now)
    check_keys(dict.fromkeys((*release.keys, *retractors.keys)))
    return Trust(
        root=newest.fingerprint,
        release=release,
        former=_former(roots, release),
        ends=ends,
        retractors=retractors,
        log=_log(newest),
        versions={name: metadata.version for name, metadata in signed.items()},
        expires={name: metadata.expires for name, metadata in signed.items()},
        issued=parse_time(signed["timestamp"].signed.get("x-dayzero-issued")),
        targets=_targets(signed["targets"]),
        retractions=tuple(withdrawals.values()),
        retraction_statements=frozenset(withdrawals),
    )


def _former(roots: tuple[Metadata, ...], current: Role) -> tuple[PublicKey, ...]:
    """Give the release keys that older roots had, those of newer roots first and few enough to be tried on every signature.

    Nothing vouches for a root older than the known one. Its keys may be recognised all the same: they count only for what was
    logged in time, and only where a release key of today lists this very attestation.
    """
    older = (key for root in reversed(roots[:-1]) for key in _role(root, "targets").keys)
    return tuple(dict.fromkeys(key for key in older if key not in current.keys))[:MAX_KEYS]


def _follow(roots: tuple[Metadata, ...], fingerprint: str) -> None:
    """Check that the newest root follows from the known one, each signed by enough keys of the one before and of its own."""
    known = next((place for place, root in enumerate(roots) if root.fingerprint == fingerprint), None)
    if known is None:
        raise TrustError(
            ExitCode.SIGNATURE, f"no root in the trust document has the fingerprint {fingerprint}; its newest has "
            f"{roots[-1].fingerprint}"
        )  # fmt: skip
    if any(later.version != earlier.version + 1 for earlier, later in pairwise(roots)):
        raise TrustError(ExitCode.SIGNATURE, "the versions of the roots do not follow each other")
    for root in roots[known:]:
        _need_signed(root, f"root {root.version}", _role(root, "root"), "itself")
    for earlier, later in pairwise(roots[known:]):
        _need_signed(later, f"root {later.version}", _role(earlier, "root"), f"root {earlier.version}")


def _need_signed(metadata: Metadata, name: str, role: Role, whose: str) -> None:
    check_keys(role.keys)
    found = len(signers(metadata, role))
    if found < role.threshold:
        raise TrustError(
            ExitCode.SIGNATURE, f"{name} is signed by {found} of the {role.threshold} keys that {whose} asks for"
        )


def _role(root: Metadata, name: str) -> Role:
    roles = members(root.signed.get("roles"), "roles")
    return parse_role(roles.get(name), parse_keys(root.signed.get("keys")), name)


def _delegated(targets: Metadata) -> Role:
    """Read the one role to which the release keys delegate."""
    delegations = members(targets.signed.get("delegations"), "delegations")
    roles = delegations.get("roles")
    entries = [members(entry, "a delegated role") for entry in roles] if isinstance(roles, list) else []
    if [entry.get("name") for entry in entries] != ["retractions"]:
        raise MetadataError("targets delegates to another role than retractions, and to that alone")
    if entries[0].get("paths") != [f"{RETRACTIONS_FOLDER}*"]:
        raise MetadataError(f"the role retractions is trusted with other paths than {RETRACTIONS_FOLDER}*")
    return parse_role(entries[0], parse_keys(delegations.get("keys")), "retractions")


def _vouched(metadata: Metadata, name: str, role: Role, ends: Mapping[str, End], now: datetime) -> Metadata:
    """Give the metadata back where enough keys signed it that are still good."""
    signed = signers(metadata, role)
    good = {keyid for keyid in signed if keyid not in ends or now < ends[keyid].at}
    if len(signed) < role.threshold:
        raise TrustError(
            ExitCode.SIGNATURE, f"{name} is signed by {len(signed)} of the {role.threshold} keys that the root asks for"
        )
    if len(good) < role.threshold:
        ended = next(iter(signed - good))
        raise TrustError(ExitCode.KEY_STATUS, f"{name} is signed by key {ended}: {ends[ended].reason}")
    return metadata


def _need_agreement(signed: Mapping[str, Metadata]) -> None:
    """Check that timestamp names this snapshot, and the snapshot these targets: parts of two documents do not mix."""
    for lists, listed in (("timestamp", "snapshot"), ("snapshot", "targets"), ("snapshot", "retractions")):
        meta = members(signed[lists].signed.get("meta"), f"meta of {lists}")
        version = whole(members(meta.get(f"{listed}.json"), f"{listed}.json in {lists}").get("version"), "version")
        if version != signed[listed].version:
            raise TrustError(
                ExitCode.SIGNATURE, f"{lists} names version {version} of {listed}, here is {signed[listed].version}"
            )


def _ends(root: Metadata) -> dict[str, End]:
    """Read when each key ends that the root gives an end; the earlier counts where it gives two."""
    ends: dict[str, End] = {}
    dates = members(root.signed.get("x-dayzero-not-after", {}), "x-dayzero-not-after")
    for keyid, value in dates.items():
        ends[keyid] = End(at=parse_time(value), reason=f"it was good until {value}")
    revoked = root.signed.get("x-dayzero-revoked", [])
    if not isinstance(revoked, list):
        raise MetadataError("x-dayzero-revoked is not a list")
    for entry in revoked:
        document = members(entry, "an entry of x-dayzero-revoked")
        keyid, at = text(document.get("keyid"), "keyid"), parse_time(document.get("at"))
        reason = f"it was revoked at {document['at']}: {plain(text(document.get('reason'), 'reason'))}"
        if keyid not in ends or at < ends[keyid].at:
            ends[keyid] = End(at=at, reason=reason)
    return ends


def _log(root: Metadata) -> NoteKey | None:
    vkey = root.signed.get("x-dayzero-log")
    return None if vkey is None else parse_vkey(text(vkey, "x-dayzero-log"))


def _targets(metadata: Metadata) -> dict[str, Target]:
    listed = members(metadata.signed.get("targets"), "targets")
    return {name: _target(name, members(entry, "a target")) for name, entry in listed.items()}


def _target(name: str, entry: dict[str, Json]) -> Target:
    custom = members(entry.get("custom"), f"custom of {name!a}")
    attestation = members(custom.get("attestation"), "attestation")
    least = text(custom.get("minVersion", ""), "minVersion")
    if least and not is_name(least):
        raise MetadataError(f"the minVersion of {name!a} is no version: {least!a:.80}")
    return Target(
        length=whole(entry.get("length"), "length"),
        sha256=_sha256(members(entry.get("hashes"), "hashes")),
        kit=text(custom.get("kit"), "kit"),
        version=text(custom.get("version"), "version"),
        min_version=least,
        attestation=(whole(attestation.get("length"), "length"), _sha256(attestation)),
    )


def _retractions(
    metadata: Metadata, statements: Json, role: Role, ends: Mapping[str, End], now: datetime
) -> dict[str, Retraction]:
    """Read the retractions by the digest of their payload: all that are listed and no others, each signed by their keys."""
    if not isinstance(statements, list):
        raise MetadataError("statements is not a list")
    lines = [text(line, "a statement").encode() for line in statements]
    listed = members(metadata.signed.get("targets"), "targets of retractions")
    names = {f"{RETRACTIONS_FOLDER}{sha256(line).hexdigest()}.intoto.jsonl": line for line in lines}
    if names.keys() != listed.keys() or len(names) != len(lines):
        odd = sorted(names.keys() ^ listed.keys())
        raise TrustError(
            ExitCode.SIGNATURE,
            f"the statements are not the listed retractions: {odd[0] if odd else 'one is there twice'}",
        )
    for name, line in names.items():
        entry = members(listed[name], "a retraction's target")
        digest = _sha256(members(entry.get("hashes"), "hashes"))
        if (whole(entry.get("length"), "length"), digest) != (len(line), sha256(line).hexdigest()):
            raise TrustError(ExitCode.SIGNATURE, f"{name} is listed with another length or digest")
    good = tuple(key for key in role.keys if key.keyid not in ends or now < ends[key.keyid].at)
    return dict(_retraction(line, Role(good, role.threshold)) for line in lines)


def _retraction(line: bytes, role: Role) -> tuple[str, Retraction]:
    try:
        signed = verify_envelope(parse_envelope(line), role.keys)
        if len(signed.signatures) < role.threshold:
            raise SignatureError(f"{len(signed.signatures)} of {role.threshold} keys signed")  # noqa: TRY301  (as below)
        return sha256(signed.payload).hexdigest(), parse_retraction(parse_statement(signed.payload))
    except SignatureError as error:
        raise TrustError(ExitCode.SIGNATURE, f"a retraction: {error}") from error
    except (EnvelopeError, StatementError) as error:
        raise TrustError(ExitCode.UNREADABLE, f"a retraction: {error}") from error


def _sha256(hashes: dict[str, Json]) -> str:
    value = text(hashes.get("sha256"), "sha256")
    if not _SHA256.fullmatch(value):
        raise MetadataError("a sha256 is not 64 lower-case hexadecimal digits")
    return value
