"""Say who signs for what, and until when."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dayzero.attestation.trust_model import TrustDocument
from dayzero.attestation.trust_roles import instant, retraction_keys, role_of
from dayzero_verify.keys import PublicKey
from dayzero_verify.tuf import Metadata

_DAY_S = 24 * 60 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleSummary:
    """A role: who, how many of them, and until when.

    Attributes:
        days: Whole days until it expires; below 0 where it has.
    """

    role: str
    keyids: tuple[str, ...]
    threshold: int
    version: int
    expires: str
    days: int


def roles_of(trust: TrustDocument, now: str) -> tuple[RoleSummary, ...]:
    """Read who signs for each role, the root first."""
    root = role_of(trust.root, "root")
    online = role_of(trust.root, "timestamp").keys
    return (
        _role("root", trust.root, root.keys, now, root.threshold),
        _role("targets", trust.targets, role_of(trust.root, "targets").keys, now),
        _role("retractions", trust.retractions, retraction_keys(trust.targets), now),
        _role("snapshot", trust.snapshot, online, now),
        _role("timestamp", trust.timestamp, online, now),
    )


def _role(role: str, metadata: Metadata, keys: Sequence[PublicKey], now: str, threshold: int = 1) -> RoleSummary:
    return RoleSummary(
        role=role,
        keyids=tuple(key.keyid for key in keys),
        threshold=threshold,
        version=metadata.version,
        expires=str(metadata.signed["expires"]),
        days=math.floor((metadata.expires - instant(now)).total_seconds() / _DAY_S),
    )
