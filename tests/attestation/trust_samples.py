"""A small seller in memory: one fixed key a role, a clock that only goes forward, and kits to release."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dayzero.adapters.keys import Ed25519Key
from dayzero.attestation.trust_model import Holders, Lifetimes
from dayzero.attestation.trust_root import co_signed, first_root, founded
from dayzero_verify.keys import PublicKey

NOW = "2026-11-30T12:00:00Z"
LATER = "2026-12-01T12:00:00Z"
NAMES = (
    "alice",
    "bob",
    "carol",
    "release",
    "retraction",
    "online",
    "next-release",
    "next-retraction",
    "next-online",
    "dan",
)


def private(name: str) -> Ed25519Key:
    return Ed25519Key(Ed25519PrivateKey.from_private_bytes(bytes([NAMES.index(name) + 1]) * 32), "release")


def public(name: str) -> PublicKey:
    return PublicKey(private(name).public_key)


def keys(*names: str) -> tuple[Ed25519Key, ...]:
    return tuple(private(name) for name in names)


def holders() -> Holders:
    return Holders(
        root=(public("alice"), public("bob"), public("carol")),
        threshold=2,
        release=(public("release"),),
        retraction=(public("retraction"),),
        online=public("online"),
    )


def founded_document():
    draft = co_signed(first_root(holders(), "example.com/log", Lifetimes(), NOW), None, keys("alice", "bob"))
    return founded(draft, keys("release", "retraction", "online"), NOW)
