"""Make trust documents, logs and their proofs for small kits, right ones and wrong ones, without dayzero."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from verifier.tests.kits import OWNER, Made, digest, dump, envelope, line, public, statement

from dayzero_verify.canonical_json import canonical_json
from dayzero_verify.keys import PublicKey
from dayzero_verify.log_head import Checkpoint
from dayzero_verify.log_tree import inclusion_proof, leaf_hash, over_leaves, root_hash, tiles
from dayzero_verify.retraction import RETRACTION_TYPE
from dayzero_verify.signed_note import NoteKey, note_bytes
from dayzero_verify.times import format_time

NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)


def seeded(number: int) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)


ROOTS = (seeded(10), seeded(11), seeded(12))
RETRACTOR, SNAPSHOT, TIMESTAMP, LOG, SECOND = seeded(13), seeded(14), seeded(15), seeded(16), seeded(17)
LOG_KEY = NoteKey("example.org/log", LOG.public_key().public_bytes_raw())


def metadata(signed: dict[str, object], *keys: Ed25519PrivateKey) -> dict[str, object]:
    canonical = canonical_json(signed)  # type: ignore[arg-type]
    return {
        "signatures": [{"keyid": public(key).keyid, "sig": key.sign(canonical).hex()} for key in keys],
        "signed": signed,
    }


def entry(key: PublicKey) -> dict[str, object]:
    return {"keytype": "ed25519", "scheme": "ed25519", "keyval": {"public": key.raw.hex()}}


def role(*keys: Ed25519PrivateKey, threshold: int = 1) -> dict[str, object]:
    return {"keyids": [public(key).keyid for key in keys], "threshold": threshold}


def head(kind: str, version: int, expires: datetime, **more: object) -> dict[str, object]:
    return {"_type": kind, "spec_version": "1.0.31", "version": version, "expires": format_time(expires), **more}


def root(version: int, release: Sequence[Ed25519PrivateKey] = (OWNER,), **more: object) -> dict[str, object]:
    """Make what a root signs: the three root keys, two of whom are enough, and who signs what."""
    everyone = (*ROOTS, *release, SNAPSHOT, TIMESTAMP)
    signed = head(
        "root",
        version,
        NOW + 365 * DAY,
        consistent_snapshot=False,
        keys={public(key).keyid: entry(public(key)) for key in everyone},
        roles={
            "root": role(*ROOTS, threshold=2),
            "targets": role(*release),
            "snapshot": role(SNAPSHOT),
            "timestamp": role(TIMESTAMP),
        },
    )
    return {**signed, "x-dayzero-log": LOG_KEY.vkey, **more}


def retraction(digests: Sequence[str], what: str = "kit", *keys: Ed25519PrivateKey, **changes: object) -> bytes:
    """Make a signed retraction, as one line without its newline."""
    predicate = {
        "what": what,
        "kind": "retract",
        "reason": "the timer was broken",
        "effective": format_time(NOW - DAY),
        "replacedBy": "",
        "signer": {"kind": "release"},
        **changes,
    }
    made = statement(RETRACTION_TYPE, [("x", value) for value in digests], predicate)
    return line(envelope(dump(made), *(keys or (RETRACTOR,)))).rstrip(b"\n")


@dataclass(frozen=True, kw_only=True)
class TrustMade:
    """A trust document, right but for what is changed.

    Attributes:
        kit: The kit that is released.
        roots: What the roots sign.
        signers: Who signs each root.
        takers: Who signs the roots after the first, where that is somebody else.
        changed: Members of the signed parts to be replaced, by role.
        by: Who signs a role's metadata, where it is not who should.
        lines: Signed retractions.
        listed: Whether the retractions are listed, or only there.
    """

    kit: Made
    roots: tuple[dict[str, object], ...] = field(default_factory=lambda: (root(1),))
    signers: tuple[Ed25519PrivateKey, ...] = ROOTS[:2]
    takers: tuple[Ed25519PrivateKey, ...] = ()
    changed: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    by: Mapping[str, tuple[Ed25519PrivateKey, ...]] = field(default_factory=dict)
    lines: tuple[bytes, ...] = ()
    listed: bool = True
    version: int = 1
    issued: datetime = NOW

    @property
    def fingerprint(self) -> str:
        return digest(canonical_json(self.roots[0]))  # type: ignore[arg-type]

    def target(self, **custom: object) -> dict[str, object]:
        attestation = self.kit.attestation()
        return {
            "length": len(self.kit.archive),
            "hashes": {"sha256": digest(self.kit.archive)},
            "custom": {
                "kit": "a",
                "version": "1.0.0",
                "attestation": {"length": len(attestation), "sha256": digest(attestation)},
                **custom,
            },
        }

    def document(self) -> dict[str, object]:
        delegated = {
            "keys": {public(RETRACTOR).keyid: entry(public(RETRACTOR))},
            "roles": [{"name": "retractions", **role(RETRACTOR), "terminating": True, "paths": ["retractions/*"]}],
        }
        names = {
            f"retractions/{digest(text)}.intoto.jsonl": {"length": len(text), "hashes": {"sha256": digest(text)}}
            for text in (self.lines if self.listed else ())
        }
        meta = {"version": self.version}
        parts: dict[str, tuple[dict[str, object], Ed25519PrivateKey]] = {
            "timestamp": (
                head("timestamp", self.version, NOW + 2 * DAY, meta={"snapshot.json": meta})
                | {"x-dayzero-issued": format_time(self.issued)},
                TIMESTAMP,
            ),
            "snapshot": (
                head("snapshot", self.version, NOW + 7 * DAY, meta={"targets.json": meta, "retractions.json": meta}),
                SNAPSHOT,
            ),
            "targets": (
                head(
                    "targets",
                    self.version,
                    NOW + 90 * DAY,
                    targets={"a-1.0.0.kit.zip": self.target()},
                    delegations=delegated,
                ),
                OWNER,
            ),
            "retractions": (head("targets", self.version, NOW + 90 * DAY, targets=names), RETRACTOR),
        }
        return {
            "schema": "dayzero/trust/v1",
            "root": [
                metadata(signed, *(self.takers if place and self.takers else self.signers))
                for place, signed in enumerate(self.roots)
            ],
            **{
                name: metadata({**signed, **self.changed.get(name, {})}, *self.by.get(name, (key,)))
                for name, (signed, key) in parts.items()
            },
            "statements": [text.decode() for text in self.lines],
        }

    def but(self, **changes: object) -> "TrustMade":
        return replace(self, **changes)  # type: ignore[arg-type]

    def bytes(self) -> bytes:
        return json.dumps(self.document()).encode()


@dataclass(frozen=True)
class LogMade:
    """A log of these records."""

    records: tuple[bytes, ...]
    key: NoteKey = LOG_KEY
    private: Ed25519PrivateKey = LOG
    origin: str = LOG_KEY.name

    def checkpoint(self, size: int | None = None) -> bytes:
        leaves = [leaf_hash(record) for record in self.records[: len(self.records) if size is None else size]]
        text = Checkpoint(self.origin, len(leaves), root_hash(leaves)).text
        return note_bytes(text, self.key, self.private.sign(text.encode()))

    def proof(self, index: int) -> bytes:
        leaves = [leaf_hash(record) for record in self.records]
        path = inclusion_proof(over_leaves(leaves), index, len(leaves))
        lines = ["c2sp.org/tlog-proof@v1", f"extra {base64.b64encode(self.records[index]).decode()}", f"index {index}"]
        lines += [base64.b64encode(value).decode() for value in path]
        return "\n".join(lines).encode() + b"\n\n" + self.checkpoint()

    def write(self, folder: Path) -> None:
        leaves = [leaf_hash(record) for record in self.records]
        for tile in tiles(len(leaves)):
            if tile.level == 0:
                first = tile.index * 256
                span = slice(first, first + tile.width)
                bundle = b"".join(len(text).to_bytes(2, "big") + text for text in self.records[span])
                for path, content in ((tile.path, b"".join(leaves[span])), (tile.entries_path, bundle)):
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / path).write_bytes(content)
        (folder / "checkpoint").write_bytes(self.checkpoint())


def record(
    seq: int, kit: Made | None = None, *, kind: str = "release", time: datetime = NOW - 10 * DAY, **changes: object
) -> bytes:
    named = {"kit": "a", "version": "1.0.0"} if kit else {"kit": "b", "version": "2"}
    digests = digest(dump(kit.kit)) if kit else "0" * 64
    return dump({"seq": seq, "type": kind, "statement": digests, **named, "time": format_time(time), **changes})
