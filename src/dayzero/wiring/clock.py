"""The clock, as evidence writes it: UTC, RFC 3339, to the second."""

from datetime import UTC, datetime
from pathlib import Path


def now() -> str:
    """Read the time."""
    return _stamp(datetime.now(UTC))


def written_at(file: Path) -> str:
    """Read when a file was last written."""
    return _stamp(datetime.fromtimestamp(file.stat().st_mtime, UTC))


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
