"""Read and write ``trust.json``, and change it: list a kit, take something back, say again that all this is fresh."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from dayzero.attestation.envelope import seal_payload
from dayzero.attestation.ports import Signer
from dayzero.attestation.trust_model import KitListing, LogHead, RootDraft, TrustDocument
from dayzero.attestation.trust_roles import (
    RETRACTIONS,
    able,
    days_after,
    document_of,
    entries,
    holders_of,
    instant,
    issued_at,
    keyid_of,
    kits_of,
    lifetimes_of,
    log_head_of,
    retraction_keys,
    retractions_body,
    role_of,
    sign_as,
    snapshot_body,
    targets_body,
    timestamp_body,
)
from dayzero.core.errors import InputError, IntegrityError
from dayzero_verify.dsse import parse_envelope
from dayzero_verify.keys import PublicKey
from dayzero_verify.strict_json import Json, StrictJsonError, loads
from dayzero_verify.trust import RETRACTIONS_FOLDER, SCHEMA
from dayzero_verify.tuf import Metadata, MetadataError, members, parse_metadata

DRAFT_SCHEMA = "dayzero/root-draft/v1"


def trust_bytes(trust: TrustDocument) -> bytes:
    """Write a trust document, indented so that two versions compare line by line."""
    document = {
        "schema": SCHEMA,
        "root": [document_of(root) for root in trust.roots],
        "timestamp": document_of(trust.timestamp),
        "snapshot": document_of(trust.snapshot),
        "targets": document_of(trust.targets),
        RETRACTIONS: document_of(trust.retractions),
        "statements": list(trust.statements),
    }
    return _written(document)


def parse_trust(text: bytes) -> TrustDocument:
    """Take a trust document apart; whether its signatures hold is the verifier's question.

    Raises:
        IntegrityError: It has not the form.
    """
    document = _document(text, SCHEMA)
    try:
        timestamp = parse_metadata(document["timestamp"], "timestamp")
        return TrustDocument(
            roots=tuple(parse_metadata(root, "root") for root in entries(document["root"], "root")),
            timestamp=timestamp,
            snapshot=parse_metadata(document["snapshot"], "snapshot"),
            targets=parse_metadata(document["targets"], "targets"),
            retractions=parse_metadata(document[RETRACTIONS], "targets"),
            statements=tuple(str(line) for line in entries(document["statements"], "statements")),
            log_head=log_head_of(timestamp),
        )
    except (KeyError, MetadataError) as error:
        raise _malformed(SCHEMA, str(error)) from error


def draft_bytes(draft: RootDraft) -> bytes:
    """Write a root that waits for signatures."""
    keys = [key.raw.hex() for key in draft.retraction]
    return _written({"schema": DRAFT_SCHEMA, "root": document_of(draft.root), "retraction": keys})


def parse_draft(text: bytes) -> RootDraft:
    """Read a root that waits for signatures.

    Raises:
        IntegrityError: It has not the form.
    """
    document = _document(text, DRAFT_SCHEMA)
    try:
        keys = tuple(PublicKey(bytes.fromhex(str(key))) for key in entries(document["retraction"], "retraction"))
        return RootDraft(parse_metadata(document["root"], "root"), keys)
    except (KeyError, ValueError) as error:  # a MetadataError is one
        raise _malformed(DRAFT_SCHEMA, str(error)) from error


def with_kit(trust: TrustDocument, kit: KitListing, signers: Sequence[Signer], now: str) -> TrustDocument:
    """List a kit; one that is listed just so already stays as it is.

    Raises:
        InputError: Another archive has this name already, or a key is missing.
    """
    listed = kits_of(trust)
    if any(entry.archive == kit.archive and entry.sha256 != kit.sha256 for entry in listed):
        raise InputError(
            f"{kit.archive} is listed already with other bytes, and what is released does not change",
            hint="Give the package a new version and pack it again.",
        )
    custom: dict[str, Json] = {
        "kit": kit.kit,
        "version": kit.version,
        "attestation": {"length": kit.attestation_size, "sha256": kit.attestation_sha256},
    }
    entry: dict[str, Json] = {"length": kit.size, "hashes": {"sha256": kit.sha256}, "custom": custom}
    minimum = kit.minimum or next((entry.minimum for entry in listed if entry.archive == kit.archive), "")
    if minimum:
        custom["minVersion"] = minimum
    changed = {**_listed(trust), kit.archive: entry}
    if changed == _listed(trust):
        return trust
    return issued(_with_targets(trust, changed, retraction_keys(trust.targets), signers, now), signers, now)


def with_retraction(trust: TrustDocument, payload: bytes, signers: Sequence[Signer], now: str) -> TrustDocument:
    """Publish a retraction statement.

    Raises:
        MissingKeyError: The retraction key or the online key is missing.
    """
    return issued(with_statements(trust, (*payloads_of(trust), payload), signers, now), signers, now)


def payloads_of(trust: TrustDocument) -> tuple[bytes, ...]:
    """Give the signed bytes of the retraction statements."""
    return tuple(parse_envelope(line.encode("ascii")).payload for line in trust.statements)


def with_statements(
    trust: TrustDocument, payloads: Sequence[bytes], signers: Sequence[Signer], now: str
) -> TrustDocument:
    """Sign the retraction statements and their list, all by the key that is there; the snapshot still has to name the list.

    A statement that this key signed before comes out as it was: Ed25519 gives one signature.

    Raises:
        MissingKeyError: No retraction key is there.
    """
    keys = retraction_keys(trust.targets)
    lines = tuple(_sealed(payload, able(RETRACTIONS, keys, signers)[0]) for payload in payloads)
    listed: dict[str, Json] = {}
    for line in lines:
        digest = sha256(line.encode("ascii")).hexdigest()
        listed[f"{RETRACTIONS_FOLDER}{digest}.intoto.jsonl"] = {"length": len(line), "hashes": {"sha256": digest}}
    expires = days_after(now, lifetimes_of(trust.root).retractions)
    body = retractions_body(trust.retractions.version + 1, listed, expires)
    return replace(trust, retractions=sign_as(RETRACTIONS, body, keys, signers), statements=lines)


def with_targets_keys(
    trust: TrustDocument, retraction: Sequence[PublicKey], signers: Sequence[Signer], now: str
) -> TrustDocument:
    """Sign the list of kits again, with other retraction keys; the snapshot still has to name it.

    Raises:
        InputError: A key is missing.
    """
    return _with_targets(trust, _listed(trust), retraction, signers, now)


def refreshed(trust: TrustDocument, signers: Sequence[Signer], now: str) -> TrustDocument:
    """Say again that this is the newest; a list whose key is there as well gets its full time again.

    Raises:
        InputError: The online key is missing.
    """
    holders, given = holders_of(trust), {keyid_of(signer) for signer in signers}
    if given & {key.keyid for key in holders.release}:
        trust = with_targets_keys(trust, holders.retraction, signers, now)
    if given & {key.keyid for key in holders.retraction}:
        trust = with_statements(trust, payloads_of(trust), signers, now)
    return issued(trust, signers, now)


def issued(trust: TrustDocument, signers: Sequence[Signer], now: str) -> TrustDocument:
    """Sign which lists belong together, and that this is the newest snapshot.

    Raises:
        InputError: The online key is missing, or the clock is behind the last time that something was issued.
    """
    last = issued_at(trust)
    if instant(now) < instant(last):
        raise InputError(
            f"the clock says {now}, and the last timestamp was issued at {last}", hint="Set this machine's clock."
        )
    snapshot, timestamp = fresh(
        Freshness(
            root=trust.root,
            targets=trust.targets.version,
            retractions=trust.retractions.version,
            version=trust.timestamp.version + 1,
            log=trust.log_head,
        ),
        signers,
        now,
    )
    return replace(trust, snapshot=snapshot, timestamp=timestamp)


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """What snapshot and timestamp say.

    Attributes:
        root: The newest root.
        targets: Version of the list of kits.
        retractions: Version of the list of retractions.
        version: That of the snapshot and of the timestamp, which are always signed together.
        log: The log as it is now.
    """

    root: Metadata
    targets: int
    retractions: int
    version: int
    log: LogHead


def fresh(said: Freshness, signers: Sequence[Signer], now: str) -> tuple[Metadata, Metadata]:
    """Sign a snapshot and the timestamp over it.

    Raises:
        MissingKeyError: The online key is missing.
    """
    days, version = lifetimes_of(said.root), said.version
    snapshot = snapshot_body(
        version, targets=said.targets, retractions=said.retractions, expires=days_after(now, days.snapshot)
    )
    timestamp = timestamp_body(
        version, snapshot=version, expires=days_after(now, days.timestamp), now=now, log=said.log
    )
    online = role_of(said.root, "timestamp").keys
    return sign_as("snapshot", snapshot, online, signers), sign_as("timestamp", timestamp, online, signers)


def _with_targets(
    trust: TrustDocument, listed: dict[str, Json], retraction: Sequence[PublicKey], signers: Sequence[Signer], now: str
) -> TrustDocument:
    expires = days_after(now, lifetimes_of(trust.root).targets)
    body = targets_body(trust.targets.version + 1, listed, retraction, expires)
    return replace(trust, targets=sign_as("targets", body, role_of(trust.root, "targets").keys, signers))


def _sealed(payload: bytes, signer: Signer) -> str:
    return seal_payload(payload, signer).removesuffix(b"\n").decode("ascii")


def _listed(trust: TrustDocument) -> dict[str, Json]:
    return members(trust.targets.signed["targets"], "targets")


def _written(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, indent=1, ensure_ascii=False).encode("utf-8") + b"\n"


def _document(text: bytes, schema: str) -> dict[str, Json]:
    try:
        document = members(loads(text), "the document")
    except (StrictJsonError, MetadataError) as error:
        raise _malformed(schema, str(error)) from error
    if document.get("schema") != schema:
        raise _malformed(schema, f"its schema is {document.get('schema')!r}")
    return document


def _malformed(schema: str, reason: str) -> IntegrityError:
    return IntegrityError(f"no document of schema {schema}: {reason}", hint="Take the last one that was written whole.")
