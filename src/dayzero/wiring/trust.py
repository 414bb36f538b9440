"""Keep the folder that a seller publishes: read it, change it in memory, have the verifier read that, and only then write."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from dayzero.adapters.keys import load_key, load_public_key
from dayzero.adapters.trust_files import DRAFT, LOG, TRUST, TrustFolder
from dayzero.attestation.log_writer import KEY_EVENT, RETRACTION, Growth, Log, LogEvent, grow, read_log
from dayzero.attestation.ports import Signer
from dayzero.attestation.trust_document import (
    draft_bytes,
    parse_draft,
    parse_trust,
    payloads_of,
    refreshed,
    trust_bytes,
)
from dayzero.attestation.trust_model import Holders, Lifetimes, RootDraft, TrustDocument
from dayzero.attestation.trust_roles import instant, issued_at, keyid_of, kits_of, known_keyids
from dayzero.attestation.trust_root import (
    RootChange,
    Shortage,
    co_signed,
    draft_keyids,
    first_root,
    founded,
    log_key,
    next_root,
    shortages,
    succeeded,
    to_sign,
)
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero_verify.anchor import TrustAnchor
from dayzero_verify.keys import PublicKey
from dayzero_verify.statement import parse_statement
from dayzero_verify.trust import Trust, TrustError, read_trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A folder as it stands.

    Attributes:
        document: The trust document, as it is written.
        trust: What the verifier reads in it.
        log: The log beside it.
    """

    document: TrustDocument
    trust: Trust
    log: Log


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A root that is not in force yet.

    Attributes:
        draft: It.
        shortages: Which signatures of root keys it lacks.
        keys: The roles that are signed when it comes into force, and the keys of which one is needed for each then.
    """

    draft: RootDraft
    shortages: tuple[Shortage, ...]
    keys: Mapping[str, tuple[PublicKey, ...]]


def found(  # noqa: PLR0913  (each is an option of its own)
    folder: Path, holders: Holders, log: str, lifetimes: Lifetimes, *, sign: Sequence[Path], now: str
) -> Published | Waiting:
    """Found the folder: root 1, empty lists, the log's first record; without enough signatures, only a draft of the root.

    Raises:
        InputError: The folder is not new or empty, a key cannot be used, or one was given that signs nothing here.
        RemoteError: The disk refused.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is there already", hint="Name a new folder; what is published is never replaced.")
    draft = first_root(holders, log, lifetimes, now)
    return _put_into_force(TrustFolder(folder), None, draft, sign, now)


def rotate(folder: Path, change: RootChange, *, sign: Sequence[Path], now: str) -> Published | Waiting:
    """Make the next root; without enough signatures, only a draft of it.

    Raises:
        InputError: A draft waits already, a key cannot be used, or one was given that signs nothing here.
        IntegrityError: The folder is damaged.
        RemoteError: The disk refused.
    """
    with _opened(folder) as (place, published):
        if place.read(DRAFT) is not None:
            raise InputError(
                f"{folder / DRAFT} waits for signatures already",
                hint="Sign it with 'dayzero keys cosign', or remove it to begin again.",
            )
        draft = next_root(published.document, change, now)
        return _put_into_force(place, published, draft, sign, now)


def cosign(folder: Path, *, sign: Sequence[Path], now: str) -> Published | Waiting:
    """Add signatures to the root that waits; with the last one it comes into force.

    Raises:
        InputError: No root waits, or a key was given that signs nothing here.
        IntegrityError: The folder is damaged.
        RemoteError: The disk refused.
    """
    place = TrustFolder(folder)
    with place.held():
        waiting = place.read(DRAFT)
        if waiting is None:
            raise InputError(f"no root waits for signatures in {folder}", hint="Make one with: dayzero keys rotate")
        published = None if place.read(TRUST) is None else _published(place)
        return _put_into_force(place, published, parse_draft(waiting), sign, now)


def refresh(folder: Path, *, sign: Sequence[Path], now: str) -> Published:
    """Say again that all this is the newest; lists whose keys are given as well get their full time again.

    Raises:
        InputError: The online key is missing, or a key was given that signs nothing here.
        IntegrityError: The folder is damaged.
        RemoteError: The disk refused.
    """
    return change(folder, lambda before, signers: (refreshed(before.document, signers, now), ()), sign=sign, now=now)


Change: TypeAlias = Callable[[Published, tuple[Signer, ...]], tuple[TrustDocument, tuple[LogEvent, ...]]]
Accept: TypeAlias = Callable[[Published], None]


def _anything(_: Published) -> None:
    pass


def change(folder: Path, make: Change, accept: Accept = _anything, *, sign: Sequence[Path], now: str) -> Published:
    """Change the folder under its lock.

    Args:
        folder: The folder.
        make: Gives the changed document, and what the log has to record.
        accept: Looks at the folder as it would be, and raises where that must not be.
        sign: Private keys.
        now: The time.

    Raises:
        InputError: A key was given that signs nothing here.
        IntegrityError: The folder is damaged, or the verifier refuses what would be written.
        RemoteError: The disk refused.
    """
    with _opened(folder) as (place, published):
        signers = _signers(sign, known_keyids(published.document), published.trust, now)
        document, events = make(published, signers)
        plan = _plan(published, document, events, signers, now)
        accept(plan.result)
        return _write(place, plan)


def published_in(folder: Path) -> Published:
    """Read the folder.

    Raises:
        InputError: There is no such folder, or nothing published in it.
        IntegrityError: It is damaged.
    """
    return _published(TrustFolder(folder))


def alone(file: Path) -> Published:
    """Read a trust document without the log that it belongs to.

    Raises:
        InputError: It cannot be read.
        IntegrityError: It is damaged.
    """
    content = TrustFolder(file.parent).read(file.name)
    if content is None:
        raise InputError(f"there is no {file}", hint="Give a trust.json, or the folder that holds one.")
    document, trust = read_document(content)
    return Published(document=document, trust=trust, log=Log())


def waiting_in(folder: Path, published: Published | None) -> Waiting | None:
    """Read which root waits in a folder.

    Raises:
        IntegrityError: Its draft is damaged.
    """
    content = TrustFolder(folder).read(DRAFT)
    if content is None:
        return None
    return _waiting(parse_draft(content), published.document if published else None, frozenset())


def read_document(content: bytes, now: str = "") -> tuple[TrustDocument, Trust]:
    """Read a trust document with the verifier, which follows its chain from its first root.

    Args:
        content: The document.
        now: The time at which its keys have to be good; ``""`` for the time at which it was issued.

    Raises:
        IntegrityError: The verifier refuses it.
    """
    document = parse_trust(content)
    anchor = TrustAnchor(document=content, root=document.roots[0].fingerprint)
    try:
        return document, read_trust(anchor, instant(now or issued_at(document)))
    except TrustError as error:
        raise IntegrityError(
            f"the verifier refuses this trust document: {error.reason}",
            hint="Put back the last one that was whole; where a key has ended, give the one that follows it with --sign.",
        ) from error


def public_keys(paths: Sequence[Path]) -> tuple[PublicKey, ...]:
    """Read public keys.

    Raises:
        InputError: A file is none.
    """
    return tuple(load_public_key(path) for path in paths)


@contextmanager
def _opened(folder: Path) -> Iterator[tuple[TrustFolder, Published]]:
    place = TrustFolder(folder)
    with place.held():
        yield place, _published(place)


def _published(place: TrustFolder) -> Published:
    content = place.read(TRUST)
    if content is None:
        waits = place.read(DRAFT) is not None
        raise InputError(
            f"there is no {TRUST} in {place.path}",
            hint="Its first root waits: dayzero keys cosign" if waits else "Make one with: dayzero keys found",
        )
    document, trust = read_document(content)
    log = read_log(place.read_log, tuple(dict.fromkeys(log_key(root) for root in reversed(document.roots))))
    if log.head_at(document.log_head.size) != document.log_head:
        raise IntegrityError(
            f"the log in {place.path / LOG} is not the one that {TRUST} was issued with",
            hint="Put back the newest copy of both; a log that forgets is found out by every buyer who keeps its head.",
        )
    return Published(document=replace(document, log_head=log.head), trust=trust, log=log)


def _decide(
    document: TrustDocument | None, draft: RootDraft, signers: Sequence[Signer], now: str
) -> TrustDocument | Waiting:
    """Put a root into force in memory, or say what it waits for."""
    previous = document.root if document else None
    draft = co_signed(draft, previous, signers)
    waiting = _waiting(draft, document, frozenset(map(keyid_of, signers)))
    if waiting.shortages or waiting.keys:
        return waiting
    return succeeded(document, draft, signers, now) if document else founded(draft, signers, now)


def _waiting(draft: RootDraft, document: TrustDocument | None, given: frozenset[str]) -> Waiting:
    needed = to_sign(document, draft)
    missing = {role: keys for role, keys in needed.items() if given.isdisjoint(key.keyid for key in keys)}
    return Waiting(draft=draft, shortages=shortages(draft, document.root if document else None), keys=missing)


def _put_into_force(
    place: TrustFolder, published: Published | None, draft: RootDraft, sign: Sequence[Path], now: str
) -> Published | Waiting:
    document = published.document if published else None
    keyids = draft_keyids(draft) | (known_keyids(document) if document else frozenset())
    signers = _signers(sign, keyids, published.trust if published else None, now)
    decided = _decide(document, draft, signers, now)
    if isinstance(decided, Waiting):
        place.write(DRAFT, draft_bytes(decided.draft))
        return decided
    result = _write(place, _plan(published, decided, (), signers, now))
    place.remove(DRAFT)
    return result


@dataclass(frozen=True, slots=True)
class _Plan:
    """A folder as it will be, the files to write for that, in order, and what can go at the end."""

    result: Published
    files: tuple[tuple[str, bytes], ...]
    obsolete: tuple[str, ...]


def _plan(
    before: Published | None, document: TrustDocument, events: Sequence[LogEvent], signers: Sequence[Signer], now: str
) -> _Plan:
    """Work out what to write, and have the verifier read the document as it would be.

    The document is written before what the log has to record of it: a command that is killed between the two leaves roots and
    retractions without their records, and the next one that has the log's key adds them. Only at the founding the log comes
    first: without a document there is nothing yet that it could be missing from.
    """
    content = trust_bytes(document)
    _, trust = read_document(content, now)
    log = before.log if before else Log()
    key = log_key(document.root)
    holder = next((signer for signer in signers if signer.public_key == key.raw), None)
    owed = [event for event in (*_owed(document), *events) if log.find(event) is None]
    growth = grow(log, owed, key, holder, now) if owed and holder else Growth(log, (), ())
    logged = tuple((f"{LOG}/{name}", written) for name, written in growth.files)
    changed = ((TRUST, content),) if before is None or content != trust_bytes(before.document) else ()
    return _Plan(
        Published(document=document, trust=trust, log=growth.log),
        (*changed, *logged) if before else (*logged, *changed),
        tuple(f"{LOG}/{name}" for name in growth.obsolete),
    )


def _write(place: TrustFolder, plan: _Plan) -> Published:
    for name, content in plan.files:
        place.write(name, content)
    for name in plan.obsolete:
        place.remove(name)
    return plan.result


def _owed(document: TrustDocument) -> Iterator[LogEvent]:
    """Give what the log has to record whatever command comes: every root, and every retraction."""
    for root in document.roots:
        yield LogEvent(KEY_EVENT, root.fingerprint, "", str(root.version))
    listed = {entry.sha256: (entry.kit, entry.version) for entry in kits_of(document)}
    for payload in payloads_of(document):
        subject = parse_statement(payload).subjects[0].sha256
        yield LogEvent(RETRACTION, Sha256.of(payload).hex, *listed.get(subject, ("", "")))


def _signers(paths: Sequence[Path], keyids: frozenset[str], trust: Trust | None, now: str) -> tuple[Signer, ...]:
    """Load private keys; one that could sign nothing here is a mistake, and is said."""
    keys = tuple(load_key(path) for path in paths)
    for path, key in zip(paths, keys, strict=True):
        keyid = keyid_of(key)
        if keyid not in keyids:
            raise InputError(f"{path} holds the key {keyid}, which has no role here", hint="Leave it out.")
        end = trust.ends.get(keyid) if trust else None
        if end is not None and end.at <= instant(now):
            raise InputError(
                f"{path} holds a key that has ended: {end.reason}", hint="Sign with the one that follows it."
            )
    return keys
