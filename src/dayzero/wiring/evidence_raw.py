"""Open the raw files of a folder of evidence, wherever they lie."""

from pathlib import Path

from dayzero.adapters.evidence_config import CONFIG_NAME
from dayzero.evidence.ports import RawStore
from dayzero.wiring import store


def raw_store(evidence: Path) -> RawStore:
    """Open the raw files of a folder of evidence, also those that its repository says lie elsewhere."""
    root = evidence.absolute().parent
    if (root / CONFIG_NAME).is_file():
        repository = store.open_repository(root)
        if repository.folder == evidence.absolute():
            return repository.raw
    return store.raw_store(evidence)
