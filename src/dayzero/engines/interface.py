"""What an engine plug-in offers. ``tests/contracts/test_engines.py`` is the suite that each one passes."""

from typing import Protocol

from dayzero.audit.ports import BuildFiles, EngineFacts
from dayzero.engines.endpoint import EndpointDialect
from dayzero.fit.ports import HostMemoryModel, MemoryModel
from dayzero.serve.ports import Launcher


class Engine(EngineFacts, Launcher, HostMemoryModel, MemoryModel, Protocol):
    """One engine: its facts, its launch, its memory and its endpoint's dialect."""

    @property
    def name(self) -> str:
        """Name of the entry point."""
        ...

    def misused(self, words: tuple[str, ...], files: BuildFiles | None) -> tuple[str, ...]:
        """Say what is wrong with how a command line uses its flags: one set twice, a switch with a value.

        Args:
            words: The whole command line, as the launch has it.
            files: The build's own files; without them two spellings are told apart by their text alone.
        """
        ...

    @property
    def dialect(self) -> EndpointDialect:
        """How its endpoint speaks."""
        ...
