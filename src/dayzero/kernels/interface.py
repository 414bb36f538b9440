"""What a kernel library plug-in offers. ``tests/contracts/test_kernels.py`` is the suite that each one passes."""

from typing import Protocol

from dayzero.audit.ports import KernelFacts


class KernelLibrary(KernelFacts, Protocol):
    """One kernel library."""

    @property
    def name(self) -> str:
        """Name of the entry point."""
        ...

    @property
    def distribution(self) -> str:
        """The distribution that carries it beside an engine; ``""`` where it is always built into one."""
        ...
