"""Write and sign the bodies of TUF's roles, and read back what they say."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from dayzero.attestation.ports import Signer
from dayzero.attestation.trust_model import Holders, Lifetimes, ListedKit, LogHead, Revocation, TrustDocument
from dayzero.core.errors import InputError, IntegrityError
from dayzero_verify import ed25519
from dayzero_verify.canonical_json import canonical_json
from dayzero_verify.keys import PublicKey, Role
from dayzero_verify.strict_json import Json
from dayzero_verify.times import TimeError, parse_time
from dayzero_verify.trust import RETRACTIONS_FOLDER
from dayzero_verify.tuf import Metadata, MetadataError, members, parse_keys, parse_metadata, parse_role, whole
from dayzero_verify.tuf import signers as signers_of

SPEC_VERSION = "1.0.31"  # the TUF specification whose form of metadata is written here
RETRACTIONS = "retractions"
_TIME = "%Y-%m-%dT%H:%M:%SZ"


class MissingKeyError(InputError):
    """A role has to be signed by a key that nobody gave."""


def days_after(now: str, days: int) -> str:
    """Give the time so many days later."""
    return (instant(now) + timedelta(days=days)).strftime(_TIME)


def instant(time: str) -> datetime:
    """Read a time as trust documents write it.

    Raises:
        InputError: It is none.
    """
    try:
        return parse_time(time)
    except TimeError as error:
        raise InputError(f"{time!r} is not a time: {error}", hint="Write it as 2026-11-30T12:00:00Z.") from error


def root_body(
    version: int, holders: Holders, said: Mapping[str, Json], lifetimes: Lifetimes, now: str
) -> dict[str, Json]:
    """Write a root.

    Args:
        version: Its place in the chain, from 1.
        holders: Whose keys do what; the retraction keys are not the root's to name, but targets'.
        said: The members of our own: ``x-dayzero-log``, ``x-dayzero-revoked``, ``x-dayzero-not-after``.
        lifetimes: Days until each role expires.
        now: The time.
    """
    online, release, root = (holders.online,), holders.release, holders.root
    days: dict[str, Json] = {
        "root": lifetimes.root,
        "targets": lifetimes.targets,
        RETRACTIONS: lifetimes.retractions,
        "snapshot": lifetimes.snapshot,
        "timestamp": lifetimes.timestamp,
    }
    return {
        "_type": "root",
        "spec_version": SPEC_VERSION,
        "consistent_snapshot": False,
        "version": version,
        "expires": days_after(now, lifetimes.root),
        "keys": _key_entries((*root, *release, *online)),
        "roles": {
            "root": _role(root, holders.threshold),
            "targets": _role(release, 1),
            "snapshot": _role(online, 1),
            "timestamp": _role(online, 1),
        },
        **said,
        "x-dayzero-lifetime-days": days,
    }


def targets_body(
    version: int, listed: Mapping[str, Json], retraction: Sequence[PublicKey], expires: str
) -> dict[str, Json]:
    """Write the list of kits, which also says who may take back."""
    delegated: dict[str, Json] = {
        "name": RETRACTIONS,
        **_role(retraction, 1),
        "terminating": True,
        "paths": [f"{RETRACTIONS_FOLDER}*"],
    }
    return {
        "_type": "targets",
        "spec_version": SPEC_VERSION,
        "version": version,
        "expires": expires,
        "targets": dict(listed),
        "delegations": {"keys": _key_entries(retraction), "roles": [delegated]},
    }


def retractions_body(version: int, listed: Mapping[str, Json], expires: str) -> dict[str, Json]:
    """Write the list of retraction statements."""
    return {
        "_type": "targets",
        "spec_version": SPEC_VERSION,
        "version": version,
        "expires": expires,
        "targets": dict(listed),
    }


def snapshot_body(version: int, *, targets: int, retractions: int, expires: str) -> dict[str, Json]:
    """Write which versions of the lists belong together."""
    return {
        "_type": "snapshot",
        "spec_version": SPEC_VERSION,
        "version": version,
        "expires": expires,
        "meta": {"targets.json": {"version": targets}, f"{RETRACTIONS}.json": {"version": retractions}},
    }


def timestamp_body(version: int, *, snapshot: int, expires: str, now: str, log: LogHead) -> dict[str, Json]:
    """Write that this snapshot is the newest, when that was said, and how long the log was then."""
    return {
        "_type": "timestamp",
        "spec_version": SPEC_VERSION,
        "version": version,
        "expires": expires,
        "meta": {"snapshot.json": {"version": snapshot}},
        "x-dayzero-issued": now,
        "x-dayzero-log-head": {"size": log.size, "root": log.root},
    }


def sign(body: dict[str, Json], signers: Iterable[Signer]) -> Metadata:
    """Sign a role.

    Raises:
        IntegrityError: A signer gave a signature that does not hold under its own public key.
    """
    message = canonical_json(body)
    signatures: dict[str, bytes] = {}
    for signer in signers:
        signature = signer.sign(message)
        if not ed25519.verify(signer.public_key, message, signature):
            raise IntegrityError(
                "the signer's signature does not hold under its own public key", hint="Do not use this key."
            )
        signatures[keyid_of(signer)] = signature
    return with_signatures(body, signatures)


def with_signatures(body: dict[str, Json], signatures: Mapping[str, bytes]) -> Metadata:
    """Put a body and its signatures together."""
    named: list[Json] = [{"keyid": keyid, "sig": value.hex()} for keyid, value in sorted(signatures.items())]
    return parse_metadata({"signatures": named, "signed": body}, str(body["_type"]))


def sign_as(role: str, body: dict[str, Json], keys: Sequence[PublicKey], signers: Iterable[Signer]) -> Metadata:
    """Sign a role of which one key is enough, with those of its keys that are there.

    Raises:
        MissingKeyError: None is there.
        IntegrityError: See :func:`sign`.
    """
    return sign(body, able(role, keys, signers))


def able(role: str, keys: Sequence[PublicKey], signers: Iterable[Signer]) -> tuple[Signer, ...]:
    """Choose those who hold a key of a role.

    Raises:
        MissingKeyError: Nobody does.
    """
    keyids = {key.keyid for key in keys}
    found = tuple(signer for signer in signers if keyid_of(signer) in keyids)
    if not found:
        raise MissingKeyError(
            f"{role} has to be signed by the key {' or '.join(sorted(keyids))}, and its private half was not given",
            hint="Give it with --sign NAME.key.pem.",
        )
    return found


def document_of(metadata: Metadata) -> dict[str, Json]:
    """Give a role's metadata as it is published."""
    signatures: list[Json] = [{"keyid": keyid, "sig": value.hex()} for keyid, value in metadata.signatures]
    return {"signatures": signatures, "signed": metadata.signed}


def signed_by(metadata: Metadata, keys: Sequence[PublicKey]) -> frozenset[str]:
    """Give the ids of those keys whose signature on the role holds."""
    return signers_of(metadata, Role(tuple(keys), 1))


def keyid_of(signer: Signer) -> str:
    """Name a signer by its public key."""
    return PublicKey(signer.public_key).keyid


def holders_of(trust: TrustDocument) -> Holders:
    """Read whose keys do what now."""
    root = role_of(trust.root, "root")
    return Holders(
        root=root.keys,
        threshold=root.threshold,
        release=role_of(trust.root, "targets").keys,
        retraction=retraction_keys(trust.targets),
        online=role_of(trust.root, "timestamp").keys[0],
    )


def role_of(root: Metadata, name: str) -> Role:
    """Read a role that the root names."""
    roles = members(root.signed["roles"], "roles")
    return parse_role(roles[name], parse_keys(root.signed["keys"]), name)


def retraction_keys(targets: Metadata) -> tuple[PublicKey, ...]:
    """Read the keys to which targets delegates retractions."""
    delegations = members(targets.signed["delegations"], "delegations")
    (role,) = entries(delegations["roles"], "roles")
    return parse_role(role, parse_keys(delegations["keys"]), RETRACTIONS).keys


def lifetimes_of(root: Metadata) -> Lifetimes:
    """Read how long each role lives."""
    days = members(root.signed.get("x-dayzero-lifetime-days", {}), "x-dayzero-lifetime-days")
    return Lifetimes(**{role: whole(value, role) for role, value in days.items()})


def revocations_of(root: Metadata) -> tuple[Revocation, ...]:
    """Read which keys are revoked."""
    listed = entries(root.signed.get("x-dayzero-revoked", []), "x-dayzero-revoked")
    revoked = (members(entry, "a revocation") for entry in listed)
    return tuple(
        Revocation(keyid=str(entry["keyid"]), at=str(entry["at"]), reason=str(entry["reason"])) for entry in revoked
    )


def not_after_of(root: Metadata) -> dict[str, Json]:
    """Read when keys end, by key id."""
    return members(root.signed.get("x-dayzero-not-after", {}), "x-dayzero-not-after")


def known_keyids(trust: TrustDocument) -> frozenset[str]:
    """Give the ids of every key that has a role now."""
    now = holders_of(trust)
    return frozenset(key.keyid for key in (*now.root, *now.release, *now.retraction, now.online))


def issued_at(trust: TrustDocument) -> str:
    """Read when the timestamp was issued."""
    return str(trust.timestamp.signed["x-dayzero-issued"])


def kits_of(trust: TrustDocument) -> tuple[ListedKit, ...]:
    """Read which kits are listed."""
    listed = members(trust.targets.signed["targets"], "targets")
    described = ((name, members(entry, name)) for name, entry in listed.items())
    return tuple(_kit(name, entry, members(entry["custom"], "custom")) for name, entry in described)


def log_head_of(timestamp: Metadata) -> LogHead:
    """Read how long the log was when the timestamp was issued."""
    head = members(timestamp.signed["x-dayzero-log-head"], "x-dayzero-log-head")
    return LogHead(whole(head["size"], "size"), str(head["root"]))


def entries(value: Json, what: str) -> list[Json]:
    """Take a value as a list.

    Raises:
        MetadataError: It is none.
    """
    if not isinstance(value, list):
        raise MetadataError(f"{what} is not a list")
    return value


def _kit(name: str, entry: Mapping[str, Json], custom: Mapping[str, Json]) -> ListedKit:
    return ListedKit(
        archive=name,
        sha256=str(members(entry["hashes"], "hashes")["sha256"]),
        kit=str(custom["kit"]),
        version=str(custom["version"]),
        minimum=str(custom.get("minVersion", "")),
    )


def _role(keys: Sequence[PublicKey], threshold: int) -> dict[str, Json]:
    return {"keyids": [key.keyid for key in keys], "threshold": threshold}


def _key_entries(keys: Sequence[PublicKey]) -> dict[str, Json]:
    return {key.keyid: {"keytype": "ed25519", "scheme": "ed25519", "keyval": {"public": key.raw.hex()}} for key in keys}
