"""Check a site against its signed index: every file is there, none is other, and none was added."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dayzero.adapters.file_digest import digest_of
from dayzero.adapters.keys import load_public_key
from dayzero.attestation.envelope import unseal
from dayzero.catalog.index import IndexedFile, faults, need_stated, read_index
from dayzero.catalog.paths import INDEX, INDEX_ENVELOPE
from dayzero.core.errors import InputError, IntegrityError
from dayzero_verify.keys import PublicKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What held.

    Attributes:
        files: How many files the index names.
        as_of: The newest instant that the catalog knew: UTC, RFC 3339; ``""`` for none.
        keyid: Fingerprint of the key that signed the index.
        demo: That key was made on the spot and vouches for nobody.
    """

    files: int
    as_of: str
    keyid: str
    demo: bool


def verify_site(site: Path, keys: Sequence[Path]) -> Verified:
    """Verify a site.

    Args:
        site: Its folder.
        keys: Public keys that are trusted.

    Raises:
        InputError: There is no signed site in the folder, or no key is given.
        IntegrityError: No trusted key signed the index, or a file is not as it says; the first one is named.
    """
    if not keys:
        raise InputError("a site is checked against a public key that you trust", hint="Give --key KEY.pub.pem.")
    index, envelope = (_read(site, name) for name in (INDEX, INDEX_ENVELOPE))
    trusted = tuple(load_public_key(path) for path in keys)
    need_stated(unseal(envelope, trusted), index)
    signer = next(key for key in trusted if _signed_by(key, envelope))
    told = read_index(index)
    first = next(faults(told, _files(site)), None)
    if first is not None:
        raise IntegrityError(f"{site}: {first}", hint="Get the site again; do not use what was changed.")
    return Verified(files=len(told.files), as_of=told.as_of, keyid=signer.keyid, demo=signer.demo)


def _signed_by(key: PublicKey, envelope: bytes) -> bool:
    try:
        unseal(envelope, (key,))
    except IntegrityError:
        return False
    return True


def _read(site: Path, name: str) -> bytes:
    try:
        return (site / name).read_bytes()
    except OSError as error:
        raise InputError(
            f"no signed site in {site}: {name} is missing",
            hint="Build one with: dayzero catalog build -o SITE --sign KEY.key.pem",
        ) from error


def _files(site: Path) -> Iterator[IndexedFile]:
    for file in site.rglob("*"):
        path = file.relative_to(site).as_posix()
        if (file.is_dir() and not file.is_symlink()) or path in {INDEX, INDEX_ENVELOPE}:
            continue
        if file.is_symlink() or not file.is_file():
            raise IntegrityError(f"{site}: {path} is no plain file", hint="Get the site again.")
        yield IndexedFile(path=path, sha256=digest_of(file), size=file.stat().st_size)
