"""Know a file by its digest."""

import hashlib
from pathlib import Path

from dayzero.core.pins import Sha256


def digest_of(file: Path) -> Sha256:
    """Hash a file without holding it in memory."""
    with file.open("rb") as stream:
        return Sha256(hashlib.file_digest(stream, "sha256").hexdigest())
