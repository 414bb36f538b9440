"""Read a log with every dialect and wall that is installed, as the command does."""

from collections.abc import Iterable

from dayzero.triage.model import Diagnosis
from dayzero.wiring.triage import diagnose


def read(log: bytes | Iterable[bytes]) -> Diagnosis:
    """Diagnose it."""
    return diagnose(log)
