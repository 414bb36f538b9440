"""What an engine plug-in offers. ``tests/contracts/test_engines.py`` is the suite that each one passes."""

from typing import Protocol

from dayzero.audit.ports import EngineFacts
from dayzero.engines.endpoint import EndpointDialect
from dayzero.fit.ports import HostMemoryModel, MemoryModel
from dayzero.serve.ports import Launcher


class Engine(EngineFacts, Launcher, HostMemoryModel, MemoryModel, Protocol):
    """One engine: its facts, its launch, its memory and its endpoint's dialect."""

    @property
    def name(self) -> str:
        """Name of the entry point."""
        ...

    @property
    def dialect(self) -> EndpointDialect:
        """How its endpoint speaks."""
        ...
