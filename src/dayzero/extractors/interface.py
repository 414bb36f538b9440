"""What an extractor offers. ``tests/contracts/test_extractors.py`` is the suite that each one passes."""

from typing import Protocol

from dayzero.evidence.ports import Extractor as EvidenceExtractor


class Extractor(EvidenceExtractor, Protocol):
    """A pure function from raw bytes, a locator and parameters to the value as it is printed."""

    @property
    def name(self) -> str:
        """Name of the entry point."""
        ...

    @property
    def version(self) -> int:
        """Version of its definition; a changed definition gets a new one."""
        ...
