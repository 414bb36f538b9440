"""Make the next root: whose keys do what from now on, signed by enough holders of the old one and of the new."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dayzero.attestation.ports import Signer
from dayzero.attestation.trust_document import Freshness, fresh, issued, payloads_of, with_statements, with_targets_keys
from dayzero.attestation.trust_model import Holders, Lifetimes, LogHead, Revocation, RootDraft, TrustDocument
from dayzero.attestation.trust_roles import (
    RETRACTIONS,
    days_after,
    holders_of,
    instant,
    keyid_of,
    lifetimes_of,
    not_after_of,
    retractions_body,
    revocations_of,
    role_of,
    root_body,
    sign,
    sign_as,
    signed_by,
    targets_body,
    with_signatures,
)
from dayzero.core.errors import InputError
from dayzero_verify.ed25519 import WeakKeyError, check_key
from dayzero_verify.keys import PublicKey
from dayzero_verify.log_tree import root_hash
from dayzero_verify.signed_note import NoteError, NoteKey, parse_vkey
from dayzero_verify.strict_json import Json
from dayzero_verify.tuf import Metadata, parse_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class RootChange:
    """What the next root says otherwise; what is empty stays as it was.

    Attributes:
        root, release, retraction: The role's whole new set of keys.
        threshold: How many root keys have to sign; 0 to keep.
        online: The new online key, at most one.
        revoked: Keys that are trusted no more, whatever they signed; they lose their roles.
        not_after: Time after which a key's new signatures count no more, by key id.
    """

    root: tuple[PublicKey, ...] = ()
    threshold: int = 0
    release: tuple[PublicKey, ...] = ()
    retraction: tuple[PublicKey, ...] = ()
    online: tuple[PublicKey, ...] = ()
    revoked: tuple[Revocation, ...] = ()
    not_after: tuple[tuple[str, str], ...] = ()


def first_root(holders: Holders, log: str, lifetimes: Lifetimes, now: str) -> RootDraft:
    """Write root 1, not signed yet.

    Args:
        holders: Whose keys do what.
        log: Name of the log, best the address where it will lie, without ``https://``.
        lifetimes: Days until each role expires.
        now: The time.

    Raises:
        InputError: A key is unsound, of a demonstration or has two roles; the threshold cannot be met; no such name.
    """
    _check_holders(holders)
    said: dict[str, Json] = {
        "x-dayzero-log": _log_key(log, holders.online),
        "x-dayzero-revoked": [],
        "x-dayzero-not-after": {},
    }
    return RootDraft(with_signatures(root_body(1, holders, said, lifetimes, now), {}), holders.retraction)


def next_root(trust: TrustDocument, change: RootChange, now: str) -> RootDraft:
    """Write root N + 1, not signed yet; with no change it is the same root with its full time again.

    Raises:
        InputError: See :func:`first_root`; or a revoked key has nobody in its place, or is in no role and never was.
    """
    was, gone = holders_of(trust), {entry.keyid for entry in change.revoked}
    holders = Holders(
        root=_without(change.root or was.root, gone, "root"),
        threshold=change.threshold or was.threshold,
        release=_without(change.release or was.release, gone, "release"),
        retraction=_without(change.retraction or was.retraction, gone, "retraction"),
        online=_without(change.online or (was.online,), gone, "online")[0],
    )
    _check_holders(holders)
    _check_known(trust, gone, "revoked")
    _check_known(trust, {keyid for keyid, _ in change.not_after}, "ended", (*holders.release, *holders.retraction))
    revoked = {entry.keyid: entry for entry in (*change.revoked, *revocations_of(trust.root))}
    if returned := revoked.keys() & {key.keyid for key in _all(holders)}:
        raise InputError(f"the key {min(returned)} is revoked", hint="Make a new key; a revoked one has no way back.")
    said: dict[str, Json] = {
        "x-dayzero-log": _log_key(log_key(trust.root).name, holders.online),
        "x-dayzero-revoked": [
            {"keyid": entry.keyid, "at": entry.at, "reason": entry.reason} for entry in revoked.values()
        ],
        "x-dayzero-not-after": {**not_after_of(trust.root), **dict(change.not_after)},
    }
    for _, time in change.not_after:
        instant(time)
    body = root_body(trust.root.version + 1, holders, said, lifetimes_of(trust.root), now)
    return RootDraft(with_signatures(body, {}), holders.retraction)


def co_signed(draft: RootDraft, previous: Metadata | None, signers: Sequence[Signer]) -> RootDraft:
    """Add the signatures of those who hold a root key, of this root or of the one before."""
    holding = {key.keyid for key in _root_keys(draft, previous)}
    added = sign(draft.root.signed, [signer for signer in signers if keyid_of(signer) in holding])
    signatures = dict(draft.root.signatures) | dict(added.signatures)
    return replace(draft, root=with_signatures(draft.root.signed, signatures))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """A root that has not signed enough yet.

    Attributes:
        version: Whose holders have to sign.
        missing: How many more.
        able: Key ids of those who have not.
    """

    version: int
    missing: int
    able: tuple[str, ...]


def shortages(draft: RootDraft, previous: Metadata | None) -> tuple[Shortage, ...]:
    """Say which signatures a root still needs: enough of its own holders, and enough of the root's before it."""
    found = []
    for root in (draft.root, *((previous,) if previous else ())):
        keys = role_of(root, "root").keys
        signed = signed_by(draft.root, keys)
        missing = role_of(root, "root").threshold - len(signed)
        if missing > 0:
            able = tuple(key.keyid for key in keys if key.keyid not in signed)
            found.append(Shortage(version=root.version, missing=missing, able=able))
    return tuple(found)


def to_sign(trust: TrustDocument | None, draft: RootDraft) -> dict[str, tuple[PublicKey, ...]]:
    """Say which roles have to be signed when a root comes into force, and which keys can do that.

    At the founding that is every role. Later it is what the new keys have not signed, and then snapshot and timestamp with it.
    """
    release, online = role_of(draft.root, "targets").keys, role_of(draft.root, "timestamp").keys
    everything = {"targets": release, RETRACTIONS: draft.retraction, "snapshot and timestamp": online}
    if trust is None:
        return everything
    was = holders_of(trust)
    others = set(was.retraction) != set(draft.retraction)
    lists = others or not signed_by(trust.targets, release)
    needed = {"targets": lists, RETRACTIONS: others, "snapshot and timestamp": lists or was.online != online[0]}
    return {role: keys for role, keys in everything.items() if needed[role]}


def founded(draft: RootDraft, signers: Sequence[Signer], now: str) -> TrustDocument:
    """Make the first trust document: nothing released, nothing taken back.

    Raises:
        MissingKeyError: The private key of release, retraction or online is missing.
    """
    root, days = draft.root, lifetimes_of(draft.root)
    targets = targets_body(1, {}, draft.retraction, days_after(now, days.targets))
    retractions = retractions_body(1, {}, days_after(now, days.retractions))
    log = LogHead(0, root_hash(()).hex())
    snapshot, timestamp = fresh(Freshness(root=root, targets=1, retractions=1, version=1, log=log), signers, now)
    return TrustDocument(
        roots=(root,),
        timestamp=timestamp,
        snapshot=snapshot,
        targets=sign_as("targets", targets, role_of(root, "targets").keys, signers),
        retractions=sign_as(RETRACTIONS, retractions, draft.retraction, signers),
        log_head=log,
    )


def succeeded(trust: TrustDocument, draft: RootDraft, signers: Sequence[Signer], now: str) -> TrustDocument:
    """Put a root that is signed into force; what its keys have not signed yet is signed again, the statements too.

    Raises:
        MissingKeyError: A private key that is needed for that is missing.
        InputError: The root was made for an older one.
    """
    if draft.root.version != trust.root.version + 1:
        raise InputError(
            f"the draft is root {draft.root.version}, and root {trust.root.version} is in force",
            hint="Remove the draft, and make it again from this trust document.",
        )
    needed = to_sign(trust, draft)
    trust = replace(trust, roots=(*trust.roots, draft.root))
    if "targets" in needed:
        trust = with_targets_keys(trust, draft.retraction, signers, now)
    if RETRACTIONS in needed:
        trust = with_statements(trust, payloads_of(trust), signers, now)
    return issued(trust, signers, now) if needed else trust


def draft_keyids(draft: RootDraft) -> frozenset[str]:
    """Give the ids of every key that has a role in a root that waits."""
    named = {key.keyid for key in draft.retraction}
    return frozenset(named | parse_keys(draft.root.signed["keys"]).keys())


def log_key(root: Metadata) -> NoteKey:
    """Read the key that signs the log."""
    return parse_vkey(str(root.signed["x-dayzero-log"]))


def _check_holders(holders: Holders) -> None:
    keys = _all(holders)
    for key in keys:
        try:
            check_key(key.raw)
        except WeakKeyError as error:
            raise InputError(f"the key {key.keyid} is unsound: {error}", hint="Make another key.") from error
        if key.demo:
            raise InputError(
                f"the key {key.keyid} is a demo key, which proves no identity", hint="Make one: dayzero keys new NAME"
            )
    if len({key.raw for key in keys}) != len(keys):
        raise InputError("a key is named twice", hint="Make one key for each role and person: dayzero keys new NAME")
    if not 1 <= holders.threshold <= len(holders.root):
        raise InputError(
            f"{holders.threshold} of {len(holders.root)} root keys cannot be asked to sign",
            hint="Say --threshold 2 for three root keys.",
        )


def _check_known(trust: TrustDocument, keyids: set[str], word: str, more: Sequence[PublicKey] = ()) -> None:
    known = {keyid for root in trust.roots for keyid in parse_keys(root.signed["keys"])}
    known |= {key.keyid for key in (*holders_of(trust).retraction, *more)}
    if strange := keyids - known:
        raise InputError(
            f"the key {min(strange)} cannot be {word}: it never had a role here",
            hint="'dayzero keys show' prints the key ids.",
        )


def _without(keys: tuple[PublicKey, ...], gone: set[str], role: str) -> tuple[PublicKey, ...]:
    kept = tuple(key for key in keys if key.keyid not in gone)
    if not kept:
        raise InputError(
            f"nobody is left to hold the {role} key", hint=f"Name the key that takes its place with --{role}."
        )
    return kept


def _all(holders: Holders) -> tuple[PublicKey, ...]:
    return (*holders.root, *holders.release, *holders.retraction, holders.online)


def _root_keys(draft: RootDraft, previous: Metadata | None) -> tuple[PublicKey, ...]:
    return tuple(key for root in (draft.root, *((previous,) if previous else ())) for key in role_of(root, "root").keys)


def _log_key(name: str, online: PublicKey) -> str:
    key = NoteKey(name, online.raw)
    try:
        return parse_vkey(key.vkey).vkey
    except NoteError as error:
        raise InputError(
            f"{name!r} cannot name a log: {error}",
            hint="Name it after the address where it will lie, without spaces or +.",
        ) from error
