"""What evidence needs from outside: extractors, a place for raw files, and a place for the ledger."""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from dayzero.core.pins import Sha256
from dayzero.evidence.locator import Locator


class Extractor(Protocol):
    """Takes one value out of a raw file; pure."""

    def extract(self, raw: bytes, locator: Locator, parameters: tuple[tuple[str, str], ...]) -> str:
        """Give the value as it is printed.

        Raises:
            EvidenceError: The locator misses, or the parameters ask for something that is not there.
        """
        ...


Extractors: TypeAlias = Mapping[str, Extractor]
"""The installed extractors under the name and version that claims write (``text-line@1``)."""


class RawStore(Protocol):
    """Keeps raw files under their digests."""

    def read(self, digest: Sha256) -> bytes:
        """Read what stands under this digest now, whole, without comparing it; :func:`~dayzero.evidence.claims.read_raw` compares.

        Raises:
            EvidenceError: There is none with this digest in the store.
        """
        ...

    def put(self, content: bytes) -> Sha256:
        """Keep the content durably, and give its digest."""
        ...


class LedgerFile(Protocol):
    """The file of the ledger."""

    def read(self) -> bytes:
        """Read it whole; empty when there is none yet."""
        ...

    def transact(self, change: Callable[[bytes], bytes]) -> tuple[str, ...]:
        """Let ``change`` turn the ledger's bytes into the lines to append, while nobody else can append.

        A half line at the end, left by a writer that was killed, is moved aside before. The lines are durable on return.
        When ``change`` raises, nothing is appended. ``change`` must not use this file itself: it would wait for itself.

        Returns:
            Where half lines were moved to; empty when there was none.
        """
        ...
