"""What a kit is in a container registry: one artifact manifest, and a referrer for each signed statement.

Image specification 1.1: manifest.md ("Guidelines for Artifact Usage") and descriptor.md. Nothing here talks to a registry.

The kit's manifest carries the digest of the whole attestation, and each referrer the number of its line, so the statements come
back as they were, in their order, whoever adds referrers of their own. All of it only moves bytes; the signatures are inside.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from dayzero.adapters.kit_files import MAX_PROOF_BYTES, KitFiles, stem_of
from dayzero.core.errors import InputError, IntegrityError
from dayzero_verify.canonical_zip import MAX_ARCHIVE_BYTES
from dayzero_verify.kit import MAX_ATTESTATION_BYTES, MAX_LINES
from dayzero_verify.strict_json import Json, StrictJsonError, loads

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
MAX_MANIFEST_BYTES = 4 * 1024 * 1024  # what the distribution specification asks registries to take at least
KIT = "application/vnd.dayzero.kit.v1"
STATEMENT = "application/vnd.in-toto+json"
PROOF = "application/vnd.dayzero.tlog-proof.v1"
EMPTY = b"{}"

_EMPTY_TYPE = "application/vnd.oci.empty.v1+json"
_ZIP, _ENVELOPE, _TEXT = "application/zip", "application/vnd.dsse.envelope.v1+json", "text/plain"
_TITLE = "org.opencontainers.image.title"
_ATTESTATION, _LINES, _LINE = "dayzero.attestation.digest", "dayzero.attestation.lines", "dayzero.attestation.line"
_PROOF_DIGEST = "dayzero.tlog-proof.digest"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NUMBER = re.compile(r"[1-9][0-9]{0,2}")


def digest_of_bytes(content: bytes) -> str:
    """Name bytes as registries do."""
    return f"sha256:{sha256(content).hexdigest()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """Points to bytes: their type, digest and size; annotations and artifact type are the target's own."""

    media_type: str
    digest: str
    size: int
    artifact_type: str = ""
    annotations: tuple[tuple[str, str], ...] = ()

    def document(self) -> dict[str, object]:
        """Give its JSON members."""
        members: dict[str, object] = {"mediaType": self.media_type, "digest": self.digest, "size": self.size}
        if self.artifact_type:
            members["artifactType"] = self.artifact_type
        if self.annotations:
            members["annotations"] = dict(self.annotations)
        return members


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest as it is sent, its descriptor, and the blobs that it needs."""

    content: bytes
    descriptor: Descriptor
    blobs: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KitManifest:
    """What a kit's manifest says.

    Attributes:
        digest: Its own.
        stem: Name and version, out of the archive's title.
        archive: Where the archive is.
        attestation: Digest of the whole attestation.
        lines: How many lines that has.
        proof: Digest of the log proof, ``""`` where the kit has none.
    """

    digest: str
    stem: str
    archive: Descriptor
    attestation: str
    lines: int
    proof: str


@dataclass(frozen=True, slots=True)
class Referrer:
    """One statement (line 1 is the kit statement) or, as line 0, the log proof."""

    line: int
    layer: Descriptor


def kit_manifest(files: KitFiles) -> Manifest:
    """Write the manifest of a kit; the same files give the same bytes."""
    notes = {_ATTESTATION: digest_of_bytes(files.attestation), _LINES: str(len(_lines(files.attestation)))}
    if files.proof is not None:
        notes[_PROOF_DIGEST] = digest_of_bytes(files.proof)
    layer = _descriptor(files.archive, _ZIP, {_TITLE: files.archive_name})
    return _manifest(KIT, files.archive, layer, notes)


def referrers_of(files: KitFiles, subject: Descriptor) -> tuple[Manifest, ...]:
    """Write the referrers of a kit: its statements in order, then the log proof if it has one."""
    whole = digest_of_bytes(files.attestation)
    made = [
        _manifest(STATEMENT, line, _descriptor(line, _ENVELOPE), {_ATTESTATION: whole, _LINE: str(number)}, subject)
        for number, line in enumerate(_lines(files.attestation), start=1)
    ]
    if files.proof is not None:
        made.append(_manifest(PROOF, files.proof, _descriptor(files.proof, _TEXT), {_ATTESTATION: whole}, subject))
    return tuple(made)


def index_of(entries: Iterable[Descriptor]) -> bytes:
    """Write an image index, as the list of referrers is kept where the registry keeps none."""
    return _dump({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry.document() for entry in entries]})


def read_kit_manifest(content: bytes) -> KitManifest:
    """Read the manifest of a kit.

    Raises:
        InputError: It is the manifest of something else.
        IntegrityError: It is a kit's, but not as kits are pushed: another layer, no title, no attestation.
    """
    members = _object(content)
    if members.get("mediaType") != MANIFEST or members.get("artifactType") != KIT:
        raise InputError("there is something else than a kit", hint="Check repository and tag.")
    layer = _one_layer(members, _ZIP, MAX_ARCHIVE_BYTES)
    notes, title = _annotations(members), dict(layer.annotations).get(_TITLE, "")
    attestation, lines, proof = notes.get(_ATTESTATION, ""), notes.get(_LINES, ""), notes.get(_PROOF_DIGEST, "")
    if not _DIGEST.fullmatch(attestation) or not _NUMBER.fullmatch(lines) or int(lines) > MAX_LINES:
        raise _malformed("it does not say which statements belong to it")
    if proof and not _DIGEST.fullmatch(proof):
        raise _malformed("it does not name its log proof")
    try:
        stem = stem_of(title)
    except InputError as error:
        raise _malformed(error.message) from error
    return KitManifest(
        digest=digest_of_bytes(content),
        stem=stem,
        archive=layer,
        attestation=attestation,
        lines=int(lines),
        proof=proof,
    )


def read_referrer(content: bytes, kit: KitManifest) -> Referrer:
    """Read a referrer that :func:`belongs` has picked.

    Raises:
        IntegrityError: It refers to another kit, or is not as kits are pushed.
    """
    members = _object(content)
    subject = members.get("subject")
    if not isinstance(subject, dict) or subject.get("digest") != kit.digest:
        raise _malformed(f"{digest_of_bytes(content)}, listed as a referrer, refers to another kit")
    notes = _annotations(members)
    if members.get("artifactType") == PROOF:
        return Referrer(0, _one_layer(members, _TEXT, MAX_PROOF_BYTES))
    number = notes.get(_LINE, "")
    if members.get("artifactType") != STATEMENT or not _NUMBER.fullmatch(number) or int(number) > kit.lines:
        raise _malformed(f"the referrer {digest_of_bytes(content)} is no line of the attestation")
    return Referrer(int(number), _one_layer(members, _ENVELOPE, MAX_ATTESTATION_BYTES))


def belongs(entry: Descriptor, kit: KitManifest) -> bool:
    """Tell whether a referrer is one that was pushed with the kit, by its descriptor; others add their own."""
    return entry.artifact_type in {STATEMENT, PROOF} and dict(entry.annotations).get(_ATTESTATION) == kit.attestation


def read_index(content: bytes) -> tuple[Descriptor, ...]:
    """Read a list of referrers.

    Raises:
        IntegrityError: It is no image index.
    """
    members = _object(content)
    entries = members.get("manifests")
    if members.get("mediaType", INDEX) != INDEX or not isinstance(entries, list):
        raise _malformed("the list of referrers is no image index")
    return tuple(_read_descriptor(entry) for entry in entries)


def _lines(attestation: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+\Z", attestation)


def _manifest(
    kind: str, blob: bytes, layer: Descriptor, annotations: Mapping[str, str], subject: Descriptor | None = None
) -> Manifest:
    members: dict[str, object] = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": kind,
        "config": _descriptor(EMPTY, _EMPTY_TYPE).document(),
        "layers": [layer.document()],
        "annotations": dict(annotations),
    }
    if subject is not None:
        pointer = Descriptor(media_type=subject.media_type, digest=subject.digest, size=subject.size)
        members["subject"] = pointer.document()
    content = _dump(members)
    descriptor = Descriptor(
        media_type=MANIFEST,
        digest=digest_of_bytes(content),
        size=len(content),
        artifact_type=kind,
        annotations=tuple(annotations.items()),
    )
    return Manifest(content, descriptor, (EMPTY, blob))


def _descriptor(content: bytes, media_type: str, annotations: Mapping[str, str] | None = None) -> Descriptor:
    return Descriptor(
        media_type=media_type,
        digest=digest_of_bytes(content),
        size=len(content),
        annotations=tuple((annotations or {}).items()),
    )


def _dump(members: Mapping[str, object]) -> bytes:
    return json.dumps(members, separators=(",", ":")).encode("utf-8")


def _object(content: bytes) -> dict[str, Json]:
    try:
        members = loads(content)
    except StrictJsonError as error:
        raise _malformed(str(error)) from error
    if not isinstance(members, dict):
        raise _malformed("it is no JSON object")
    return members


def _one_layer(members: Mapping[str, Json], media_type: str, limit: int) -> Descriptor:
    layers = members.get("layers")
    if not isinstance(layers, list) or len(layers) != 1:
        raise _malformed("it has not exactly one layer")
    layer = _read_descriptor(layers[0])
    if layer.media_type != media_type:
        raise _malformed(f"its layer is not of type {media_type}")
    if layer.size > limit:
        raise _malformed(f"its layer is larger than {limit} bytes")
    return layer


def _read_descriptor(entry: Json) -> Descriptor:
    members = entry if isinstance(entry, dict) else {}
    kind, digest, size = members.get("mediaType"), members.get("digest"), members.get("size")
    artifact = members.get("artifactType", "")
    if not isinstance(kind, str) or not isinstance(digest, str) or not isinstance(artifact, str):
        raise _malformed("a descriptor lacks type or digest")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise _malformed("a descriptor has no size")
    if not _DIGEST.fullmatch(digest):
        raise _malformed(f"not a sha256 digest: {digest[:80]!a}")
    return Descriptor(
        media_type=kind,
        digest=digest,
        size=size,
        artifact_type=artifact,
        annotations=tuple(_annotations(members).items()),
    )


def _annotations(members: Mapping[str, Json]) -> dict[str, str]:
    notes = members.get("annotations")
    return {key: value for key, value in notes.items() if isinstance(value, str)} if isinstance(notes, dict) else {}


def _malformed(reason: str) -> IntegrityError:
    return IntegrityError(f"the registry holds no whole kit there: {reason}", hint="Have it pushed again by its owner.")
