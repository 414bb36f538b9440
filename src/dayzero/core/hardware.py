"""The machine that a recipe was measured on, or is sized for."""

from dataclasses import dataclass

from dayzero.core.quantities import Bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """What the engine gets to run on.

    Attributes:
        name: How people call it (``cpu-2core``, ``8xb300``).
        accelerator: Kind of GPU, ``""`` for a CPU-only machine.
        accelerators: How many of them.
        memory: Memory that must be there for one engine: of each GPU, or of the host on a CPU-only machine.
    """

    name: str
    accelerator: str
    accelerators: int
    memory: Bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMemory:
    """What the operating system says about this machine's memory, read at one instant.

    Attributes:
        total: Installed memory.
        available: What a new program can take without swapping (``MemAvailable``, and the cgroup limit where lower).
        source: Which file says so.
    """

    total: Bytes
    available: Bytes
    source: str
