"""What a buyer trusts who trusts a root: a document, the root that it has to follow from, and how strictly it is read."""

from dataclasses import dataclass
from enum import Enum

MAX_TRUST_BYTES = 16 * 1024 * 1024
DEFAULT_MAX_AGE_DAYS = 30


class Policy(Enum):
    """What a signature by a key is worth that was revoked or expired since."""

    NOW = "now"
    AT_SIGNING = "at-signing"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustAnchor:
    """What a buyer trusts who trusts a root.

    Attributes:
        document: The trust document, whole; nothing in it is believed unless it follows from the root.
        root: SHA-256, in hexadecimal, of the signed bytes of any root in it, from somewhere else.
        policy: What a revoked key's signature is worth.
        max_age_days: From which age on the document is stale.
        online_expiry: True to hold it against the document when its snapshot or timestamp has expired, too.
    """

    document: bytes
    root: str
    policy: Policy = Policy.NOW
    max_age_days: int = DEFAULT_MAX_AGE_DAYS
    online_expiry: bool = False
