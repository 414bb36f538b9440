"""What a buyer's verifier remembers from the kits it verified: versions, the log's head, and the latest time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dayzero_verify.log_head import Checkpoint

MAX_STATE_BYTES = 1024 * 1024
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What was seen.

    Attributes:
        kits: The newest version of each kit that was verified, by its name.
        metadata: The version of each role's metadata, by the role's name.
        checkpoint: The largest head of the log that was found consistent with all before it.
        time: The latest time at which something was verified.
    """

    kits: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, int] = field(default_factory=dict)
    checkpoint: Checkpoint | None = None
    time: datetime = LONG_AGO
