"""What others need to know of a log: its head, and how its files are read."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

MAX_PROOF_BYTES = 256 * 1024

# Reads a file under the log's folder, None where there is none.
LogFolder: TypeAlias = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The head of a log: its name, how many records it has, and the root hash over them."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The text that the log signs."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"
