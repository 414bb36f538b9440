"""What evidence needs from outside: extractors, a place for raw files, and a place for the ledger."""

from typing import Protocol

from dayzero.core.pins import Sha256
from dayzero.evidence.model import Locator


class Extractor(Protocol):
    """Takes one value out of a raw file; pure."""

    def extract(self, raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...]) -> str:
        """Give the value as it is printed.

        Raises:
            EvidenceError: The locator misses, or the parameters ask for something that is not there.
        """
        ...


class RawStore(Protocol):
    """Keeps raw files under their digests."""

    def read(self, digest: Sha256) -> bytes:
        """Read a raw file whole.

        Raises:
            EvidenceError: There is none with this digest in the store.
        """
        ...

    def put(self, content: bytes) -> Sha256:
        """Keep the content, and give its digest."""
        ...


class LedgerFile(Protocol):
    """The file of the ledger."""

    def read(self) -> bytes:
        """Read it whole; empty when there is none yet."""
        ...

    def append(self, lines: bytes) -> None:
        """Add whole lines at the end and make them durable before returning."""
        ...
