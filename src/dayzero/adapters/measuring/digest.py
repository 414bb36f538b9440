"""Name the code that measures by the digest of its source."""

import hashlib
from functools import cache
from pathlib import Path

import dayzero

_PARTS = ("adapters/measuring", "adapters/openai_http.py", "adapters/openai_discovery.py", "bench")


@cache
def client_sha256() -> str:
    """Hash the source files that send, stamp, parse and compute, by name and content; once, when it is first asked for."""
    root = Path(dayzero.__file__).parent
    files = sorted(file for part in _PARTS for file in _files(root / part))
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _files(place: Path) -> tuple[Path, ...]:
    return (place,) if place.is_file() else tuple(place.rglob("*.py"))
