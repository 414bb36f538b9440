"""Make small kits and attestations, right ones and wrong ones, without dayzero."""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dayzero_verify.canonical_zip import ArchivedFile, build
from dayzero_verify.dsse import PAYLOAD_TYPE, pae
from dayzero_verify.keys import PublicKey
from dayzero_verify.kit import Examination, examine
from dayzero_verify.report import Report, Status
from dayzero_verify.statement import KIT_TYPE, RECEIPT_TYPE, STATEMENT_TYPE

OWNER = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32)
STRANGER = Ed25519PrivateKey.from_private_bytes(b"\x02" * 32)
RAW = b'{"cell":"c1"}\n'
FILES = {
    "README.md": b"# a kit\n",
    "serve.sh": b"#!/usr/bin/env bash\nexec engine\n",
    "evidence/ledger.jsonl": b'{"seq":0}\n',
    f"evidence/raw/{sha256(RAW).hexdigest()}": RAW,
}


def public(key: Ed25519PrivateKey) -> PublicKey:
    return PublicKey(key.public_key().public_bytes_raw())


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def archived(contents: Mapping[str, bytes]) -> list[ArchivedFile]:
    return [ArchivedFile(path, content, content.startswith(b"#!")) for path, content in contents.items()]


def listing(files: list[ArchivedFile]) -> list[dict[str, object]]:
    return [{"path": f.path, "size": len(f.content), "sha256": digest(f.content), "mode": f.mode} for f in files]


def with_manifest(contents: Mapping[str, bytes]) -> dict[str, bytes]:
    manifest = {"schema": "dayzero/kit-manifest/v1", "files": listing(archived(contents))}
    return {**contents, "manifest.json": json.dumps(manifest).encode()}


def envelope(payload: bytes, /, *keys: Ed25519PrivateKey, **changes: object) -> dict[str, object]:
    signatures = [
        {"keyid": public(key).keyid, "sig": base64.b64encode(key.sign(pae(payload))).decode()}
        for key in keys or (OWNER,)
    ]
    return {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": signatures,
        **changes,
    }


def line(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def statement(kind: str, subjects: list[tuple[str, str]], predicate: Mapping[str, object]) -> dict[str, object]:
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": value}} for name, value in subjects],
        "predicateType": kind,
        "predicate": dict(predicate),
    }


@dataclass(frozen=True)
class Made:
    """A kit and what was said about it, before it is signed."""

    archive: bytes
    kit: dict[str, object]
    receipt: dict[str, object]
    trusted: tuple[PublicKey, ...] = field(default_factory=lambda: (public(OWNER),))

    def attestation(self, *keys: Ed25519PrivateKey) -> bytes:
        return line(envelope(dump(self.kit), *keys)) + line(envelope(dump(self.receipt), *keys))

    def examine(self, attestation: bytes | None = None, archive: bytes | None = None) -> Examination:
        signed = self.attestation() if attestation is None else attestation
        return examine(self.archive if archive is None else archive, signed, self.trusted)


def dump(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":"), sort_keys=True).encode()


def make(
    contents: Mapping[str, bytes] | None = None,
    *,
    archive: bytes | None = None,
    change: Callable[[dict[str, object]], object] = dict,
    signer: str = "release",
) -> Made:
    """Make a kit whose every part is right, but for ``change``, which edits the kit's predicate in place before it is signed.

    Args:
        contents: The files without the manifest.
        archive: Other bytes than the canonical archive of the files, to be signed in its place.
        change: An edit of the predicate.
        signer: Kind of the key, as the statement says it.
    """
    files = archived(with_manifest(FILES if contents is None else contents))
    archive = build(files) if archive is None else archive
    raw = [(file.path, digest(file.content)) for file in files if file.path.startswith("evidence/raw/")]
    receipt = statement(
        RECEIPT_TYPE, [("a.kit.zip", digest(archive)), *raw], {"claims": [], "signer": {"kind": signer}}
    )
    predicate: dict[str, object] = {
        "kit": {"name": "a", "version": "1.0.0"},
        "ledger": {"sha256": digest(FILES["evidence/ledger.jsonl"])},
        "files": listing(files),
        "receipts": [{"predicateType": RECEIPT_TYPE, "sha256": digest(dump(receipt))}],
        "weightBytes": 0,
        "signer": {"kind": signer},
    }
    change(predicate)
    return Made(archive, statement(KIT_TYPE, [("a.kit.zip", digest(archive))], predicate), receipt)


def failed(report: Report) -> tuple[str, str]:
    """Give the one failed check and its reason."""
    (row,) = [row for row in report.rows if row.status is Status.FAIL]
    return row.check, row.reason


def status(report: Report, check: str) -> Status:
    """Give the answer of one check."""
    return next(row.status for row in report.rows if row.check == check)
