"""Where kits are put and got: a repository in a container registry, a file on a web server, a folder."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from dayzero.adapters import oci_manifest as oci
from dayzero.adapters.kit_files import (
    MAX_PROOF_BYTES,
    KitFiles,
    attestation_name,
    mismatch,
    proof_name,
    read_kit,
    stem_of,
    write_kit,
)
from dayzero.adapters.oci_registry import NOT_FOUND, OK, Registry
from dayzero.adapters.registry_login import login_for
from dayzero.adapters.web_client import WebClient, is_loopback
from dayzero.core.errors import InputError, IntegrityError, RemoteError
from dayzero_verify.canonical_zip import MAX_ARCHIVE_BYTES
from dayzero_verify.kit import MAX_ATTESTATION_BYTES

# Distribution specification 1.1, "Pulling manifests": <name> and <reference>.
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_OCI = re.compile(
    rf"oci://(?P<host>(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\])(?::[0-9]{{1,5}})?)/(?P<repository>{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127})|@(?P<digest>sha256:[0-9a-f]{64}))"
)
_HINT = "Give oci://HOST/REPOSITORY:TAG, oci://HOST/REPOSITORY@sha256:..., https://.../NAME.kit.zip, or a folder."
_API_HOST = {"docker.io": "registry-1.docker.io"}
_MAX_REFERRERS = 256


@dataclass(frozen=True, slots=True)
class RegistryPlace:
    """A kit in a container registry: host and port, repository, and a tag or a digest."""

    host: str
    repository: str
    reference: str

    @property
    def by_digest(self) -> bool:
        """Whether it names bytes, and not a tag that may move."""
        return self.reference.startswith("sha256:")

    def at(self, digest: str) -> str:
        """Name the same repository, but bytes in it."""
        return f"oci://{self.host}/{self.repository}@{digest}"

    def __str__(self) -> str:
        return f"oci://{self.host}/{self.repository}{'@' if self.by_digest else ':'}{self.reference}"


@dataclass(frozen=True, slots=True)
class WebPlace:
    """The archive's address on a web server; what belongs to it lies beside it there."""

    url: str

    def __str__(self) -> str:
        return self.url


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """A folder on this machine."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


Place: TypeAlias = RegistryPlace | WebPlace | FolderPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """What a push did.

    Attributes:
        reference: The place by digest, for a registry; else the archive's path.
        uploaded, present: Blobs that were sent, and those that were there already.
        referrers: ``api`` where the registry lists referrers by itself, ``tag`` where a tag stands for that, ``""`` for a folder.
    """

    reference: str
    uploaded: int = 0
    present: int = 0
    referrers: str = ""


@dataclass(frozen=True, slots=True)
class Pulled:
    """Files of a kit, not verified, and the reference by digest that gives the same again (``""`` where there is none)."""

    files: KitFiles
    reference: str


def parse_place(text: str) -> Place:
    """Read a place as it is typed.

    Raises:
        InputError: It looks like a URL, but is not one of those that are known.
    """
    if (match := _OCI.fullmatch(text)) is not None:
        return RegistryPlace(match["host"], match["repository"], match["tag"] or match["digest"])
    scheme = text.partition("://")[0] if "://" in text else ""
    if scheme in {"https", "http"}:
        stem_of(_file_name(text))
        return WebPlace(text)
    if scheme or not text:
        raise InputError(f"not a place for kits: {text!a}", hint=_HINT)
    return FolderPlace(Path(text))


def push(
    files: KitFiles,
    place: Place,
    *,
    plain_http: bool = False,
    replace: bool = False,
    wait: Callable[[float], object] = time.sleep,
) -> Pushed:
    """Put a kit somewhere; bytes that are there already are not sent again.

    Args:
        files: The kit.
        place: Where; not a web server.
        plain_http: Whether a registry may be spoken to without TLS beyond this machine.
        replace: Whether a tag that names other bytes may be moved.
        wait: Sleeps for a number of seconds.

    Raises:
        InputError: The place takes no kits, or its tag names another one.
        RemoteError: The registry or the disk did not do its part.
        IntegrityError: Other bytes are there than were sent.
    """
    match place:
        case FolderPlace(path=folder):
            return Pushed(reference=str(write_kit(files, folder)[-1]))
        case WebPlace():
            raise InputError("a web server takes no kits", hint="Copy the files there, or push to oci:// or a folder.")
        case RegistryPlace():
            with WebClient(plain_http=plain_http, wait=wait) as web:
                return _push_to_registry(files, place, _registry(web, place), replace=replace)


def pull(place: Place, *, plain_http: bool = False, wait: Callable[[float], object] = time.sleep) -> Pulled:
    """Get a kit; every digest that the place names is compared, and no signature is looked at.

    Raises:
        InputError: There is no kit, or the place may not be used like that.
        RemoteError: The place did not deliver.
        IntegrityError: It delivered other bytes than it names, or not all that belong together.
    """
    match place:
        case FolderPlace(path=folder):
            return Pulled(_only_kit(folder), "")
        case WebPlace(url=url):
            with WebClient(plain_http=plain_http, wait=wait) as web:
                return Pulled(_pull_from_web(web, url), "")
        case RegistryPlace():
            with WebClient(plain_http=plain_http, wait=wait) as web:
                return _pull_from_registry(place, _registry(web, place))


def _registry(web: WebClient, place: RegistryPlace) -> Registry:
    """Reach a registry: with TLS, but on this machine without, and where ``--plain-http`` was given."""
    name = place.host.rpartition(":")[0] if place.host[-1:].isdigit() and ":" in place.host else place.host
    scheme = "http" if web.plain_http or is_loopback(name) else "https"
    host = _API_HOST.get(place.host, place.host)
    return Registry(web, f"{scheme}://{host}", place.repository, lambda: login_for(place.host))


def _push_to_registry(files: KitFiles, place: RegistryPlace, registry: Registry, *, replace: bool) -> Pushed:
    """Send blobs, then manifests, the tag last: who finds the tag finds everything."""
    manifest = oci.kit_manifest(files)
    digest = manifest.descriptor.digest
    _need_free(place, registry, digest, replace=replace)
    referrers = oci.referrers_of(files, manifest.descriptor)
    blobs = dict.fromkeys(blob for one in (manifest, *referrers) for blob in one.blobs)
    sent = sum([registry.put_blob(blob) for blob in blobs])
    registry.put_manifest(manifest)
    unlisted = [one.descriptor for one in referrers if not registry.put_manifest(one)]
    if unlisted:
        registry.note_referrers(digest, unlisted)
    if not place.by_digest:
        registry.put_manifest(manifest, place.reference)
    return Pushed(
        reference=place.at(digest),
        uploaded=sent,
        present=len(blobs) - sent,
        referrers="tag" if unlisted else "api",
    )


def _need_free(place: RegistryPlace, registry: Registry, digest: str, *, replace: bool) -> None:
    if place.by_digest:
        if place.reference != digest:
            raise InputError(f"this kit is not {place.reference} but {digest}", hint="Name a tag, or that digest.")
        return
    there = registry.manifest(place.reference)
    if there is not None and not replace and oci.digest_of_bytes(there) != digest:
        raise InputError(
            f"{place} names other bytes already, {oci.digest_of_bytes(there)}",
            hint="Choose another tag, or give --replace to move this one.",
        )


def _pull_from_registry(place: RegistryPlace, registry: Registry) -> Pulled:
    """Ask for the tag once; all that follows goes by digest, wherever the tag moves."""
    content = registry.manifest(place.reference)
    if content is None:
        raise RemoteError(f"there is no {place}", hint="Check host, repository and tag.")
    kit = oci.read_kit_manifest(content)
    listed = [entry for entry in registry.referrers(kit.digest) if oci.belongs(entry, kit)]
    if len(listed) > _MAX_REFERRERS:
        raise IntegrityError(f"{place} has over {_MAX_REFERRERS} statements", hint="Ask its owner.")
    found: dict[int, oci.Descriptor] = {}
    for entry in listed:
        manifest = registry.manifest(entry.digest)
        if manifest is None:
            raise RemoteError(f"{place} lists {entry.digest}, which is not there", hint="Have the kit pushed again.")
        referrer = oci.read_referrer(manifest, kit)
        if found.setdefault(referrer.line, referrer.layer) != referrer.layer:
            raise IntegrityError(f"{place} has two different lines {referrer.line}", hint="Have the kit pushed again.")
    files = KitFiles(
        stem=kit.stem,
        archive=registry.blob(kit.archive),
        attestation=_attestation(place, registry, kit, found),
        proof=_proof(place, registry, kit, found),
    )
    return Pulled(_need_match(files, str(place)), place.at(kit.digest))


def _attestation(
    place: RegistryPlace, registry: Registry, kit: oci.KitManifest, found: dict[int, oci.Descriptor]
) -> bytes:
    missing = [number for number in range(1, kit.lines + 1) if number not in found]
    if missing:
        raise IntegrityError(
            f"{place}: statement {missing[0]} of {kit.lines} is not there",
            hint="Have the kit pushed again; a registry or mirror that drops referrers loses signatures.",
        )
    lines = [found[number] for number in range(1, kit.lines + 1)]
    if sum(line.size for line in lines) > MAX_ATTESTATION_BYTES:
        raise IntegrityError(f"{place}: the statements are too large", hint="Ask the kit's owner.")
    attestation = b"".join(registry.blob(line) for line in lines)
    if oci.digest_of_bytes(attestation) != kit.attestation:
        raise IntegrityError(f"{place}: these are other statements than were pushed", hint="Have the kit pushed again.")
    return attestation


def _proof(
    place: RegistryPlace, registry: Registry, kit: oci.KitManifest, found: dict[int, oci.Descriptor]
) -> bytes | None:
    if not kit.proof:
        return None
    if 0 not in found or found[0].digest != kit.proof:
        raise IntegrityError(f"{place}: the log proof is not there", hint="Have the kit pushed again.")
    return registry.blob(found[0])


def _pull_from_web(web: WebClient, url: str) -> KitFiles:
    stem = stem_of(_file_name(url))
    proof = _get(web, _beside(url, proof_name(stem)), MAX_PROOF_BYTES)
    files = KitFiles(
        stem=stem,
        archive=_need_there(web, url, MAX_ARCHIVE_BYTES),
        attestation=_need_there(web, _beside(url, attestation_name(stem)), MAX_ATTESTATION_BYTES),
        proof=proof,
    )
    return _need_match(files, url)


def _need_there(web: WebClient, url: str, limit: int) -> bytes:
    content = _get(web, url, limit)
    if content is None:
        raise RemoteError(f"there is no {url}", hint="Check the address; the statements lie beside the archive.")
    return content


def _get(web: WebClient, url: str, limit: int) -> bytes | None:
    answer = web.ask("GET", url, limit=limit)
    if answer.status == NOT_FOUND:
        return None
    if answer.status != OK:
        raise RemoteError(f"GET {url}: status {answer.status}", hint="Check the address, and that it needs no log-in.")
    return answer.body


def _need_match(files: KitFiles, place: str) -> KitFiles:
    if (problem := mismatch(files)) is not None:
        raise IntegrityError(f"{place}: {problem}", hint="Get it from another place; nothing was written.")
    return files


def _only_kit(folder: Path) -> KitFiles:
    kits = sorted(folder.glob("*.kit.zip"))
    if len(kits) != 1:
        raise InputError(
            f"{folder} holds {len(kits) or 'no'} kits" if folder.is_dir() else f"{folder} is not a folder",
            hint="Name a folder that holds one kit.",
        )
    return read_kit(kits[0])


def _file_name(url: str) -> str:
    return unquote(urlsplit(url).path.rpartition("/")[2])


def _beside(url: str, name: str) -> str:
    parts = urlsplit(url)
    return parts._replace(path=f"{parts.path.rpartition('/')[0]}/{name}").geturl()
