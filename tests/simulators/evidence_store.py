"""Evidence in memory: raw files by digest, and a ledger's bytes."""

from collections.abc import Callable

from dayzero.core.errors import EvidenceError
from dayzero.core.pins import Sha256
from dayzero.evidence.ledger import split_torn


class MemoryRaw:
    """Implements ``evidence.ports.RawStore``; ``files`` may be tampered with."""

    def __init__(self) -> None:
        self.files: dict[Sha256, bytes] = {}

    def read(self, digest: Sha256) -> bytes:
        if digest not in self.files:
            raise EvidenceError("there is none", hint="Bring it back.")
        return self.files[digest]

    def put(self, content: bytes) -> Sha256:
        digest = Sha256.of(content)
        self.files[digest] = content
        return digest


class MemoryLedger:
    """Implements ``evidence.ports.LedgerFile``."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = content

    def read(self) -> bytes:
        return self.content

    def transact(self, change: Callable[[bytes], bytes]) -> tuple[str, ...]:
        whole, torn = split_torn(self.content)
        self.content = whole + change(whole)
        return ("ledger.torn-1",) if torn else ()
