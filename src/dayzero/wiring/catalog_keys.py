"""The public keys that sign what a catalog hands out, for ``.well-known/dayzero-keys.json``."""

from dayzero.attestation.ports import Signer
from dayzero.wiring.catalog_source import Offer
from dayzero_verify.inputs import read_key
from dayzero_verify.keys import PublicKey

SCHEMA = "dayzero/keys/v1"


def keys_document(offer: Offer, signer: Signer | None) -> dict[str, object]:
    """Write which keys sign what. A key that is read here proves nothing by itself: get it from a second source, too."""
    roles: dict[str, tuple[bytes, bool, set[str]]] = {}
    if signer is not None:
        _note(roles, signer.public_key, demo=signer.kind == "demo", role="index")
    for files in offer.kits.values():
        key = read_key(files.key)
        _note(roles, key.raw, demo=key.demo, role="kit")
    return {
        "schema": SCHEMA,
        "keys": [
            {"keyid": keyid, "algorithm": "ed25519", "public": raw.hex(), "demo": demo, "signs": sorted(signs)}
            for keyid, (raw, demo, signs) in sorted(roles.items())
        ],
    }


def _note(roles: dict[str, tuple[bytes, bool, set[str]]], raw: bytes, *, demo: bool, role: str) -> None:
    roles.setdefault(PublicKey(raw).keyid, (raw, demo, set()))[2].add(role)
