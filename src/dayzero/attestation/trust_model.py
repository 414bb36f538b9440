"""What a seller's trust document is made of: signed roles, the roots' chain, and who holds which key."""

from dataclasses import dataclass

from dayzero_verify.keys import PublicKey
from dayzero_verify.tuf import Metadata


@dataclass(frozen=True, slots=True)
class LogHead:
    """How many records a log has, and their root hash in hexadecimal digits."""

    size: int
    root: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustDocument:
    """A trust document.

    Attributes:
        roots: The chain, from the first root to the newest.
        statements: The retractions' envelopes, each the text of one line.
        log_head: The log as it was when the timestamp was issued; the log that lies beside it has to begin with it.
    """

    roots: tuple[Metadata, ...]
    timestamp: Metadata
    snapshot: Metadata
    targets: Metadata
    retractions: Metadata
    statements: tuple[str, ...] = ()
    log_head: LogHead

    @property
    def root(self) -> Metadata:
        """The newest root."""
        return self.roots[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetimes:
    """Days until each role expires; the root itself says them, so that no command has to."""

    root: int = 365
    targets: int = 90
    retractions: int = 90
    snapshot: int = 7
    timestamp: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Holders:
    """Whose key does what; no key has two roles.

    Attributes:
        root: Say who the others are; ``threshold`` of them have to sign.
        release: Sign kits, and the list of them.
        retraction: Take back.
        online: Signs how fresh all this is, and the log.
    """

    root: tuple[PublicKey, ...]
    threshold: int
    release: tuple[PublicKey, ...]
    retraction: tuple[PublicKey, ...]
    online: PublicKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Revocation:
    """A key that is trusted no more, since when and why."""

    keyid: str
    at: str
    reason: str


@dataclass(frozen=True, slots=True)
class RootDraft:
    """A root that waits for signatures.

    Attributes:
        root: It, with the signatures that it has.
        retraction: The retraction keys that come with it; the release key signs those, in targets.
    """

    root: Metadata
    retraction: tuple[PublicKey, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedKit:
    """A kit, as targets lists it.

    Attributes:
        archive: Name of its file.
        sha256: Digest of its file.
        kit: The kit's name.
        version: Its version.
        minimum: The oldest version of this kit that may still be served, ``""`` where none is said.
    """

    archive: str
    sha256: str
    kit: str
    version: str
    minimum: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KitListing:
    """A signed kit that is to be listed.

    Attributes:
        archive: Name of its file.
        size: Its bytes.
        sha256: Its digest.
        kit: The kit's name.
        version: Its version.
        minimum: The oldest version of this kit that may still be served, ``""`` where none is said.
        attestation_size: Bytes of the statements beside it.
        attestation_sha256: Their digest.
        statement: Digest of the kit statement's payload; the log records it.
    """

    archive: str
    size: int
    sha256: str
    kit: str
    version: str
    minimum: str
    attestation_size: int
    attestation_sha256: str
    statement: str
