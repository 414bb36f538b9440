"""The machine that a recipe was measured on, or is sized for."""

import re
from dataclasses import dataclass

from dayzero.core.accelerators import accelerator
from dayzero.core.errors import InputError
from dayzero.core.quantities import Bytes

_SYSTEM = re.compile(
    r"(?:(?P<nodes>[0-9]{1,4})x)?(?P<count>[0-9]{1,4})x(?P<kind>[a-z][\w\- ]*)", re.ASCII | re.IGNORECASE
)
_UNSTATED = Bytes(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """What the engine gets to run on.

    Attributes:
        name: How people call it (``cpu-2core``, ``8xb300``).
        accelerator: Kind of GPU, ``""`` for a CPU-only machine.
        accelerators: How many of them in one machine.
        memory: Memory that must be there for one engine: of each GPU, or of the host on a CPU-only machine.
        nodes: How many such machines serve one model together.
        host_memory: Memory of the host that one machine with GPUs needs; 0 where it is not stated, and then no deploy file can
            be written.
        shared_memory: Size of ``/dev/shm``; 0 leaves it to the engine.
    """

    name: str
    accelerator: str
    accelerators: int
    memory: Bytes
    nodes: int = 1
    host_memory: Bytes = _UNSTATED
    shared_memory: Bytes = _UNSTATED

    @property
    def memory_of_host(self) -> Bytes:
        """Memory of the host that one machine needs, which becomes the limit in each deploy file.

        Raises:
            InputError: A machine with GPUs does not state it. A guess would be a limit at which an engine is killed that runs
                well, and without a limit no scheduler knows where the engine has room.
        """
        if self.accelerators and not self.host_memory.count:
            raise InputError(
                f"the system {self.name} has GPUs and does not say how much memory of the host the engine needs",
                hint="Give host_memory_bytes in [system]: the most that the engine held on the machine that was measured.",
            )
        return self.host_memory if self.accelerators else self.memory

    @property
    def gpus(self) -> int:
        """GPUs of all its machines together."""
        return self.accelerators * self.nodes


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


def parse_system(text: str) -> System:
    """Read ``8xb300``, or ``2x8xh200`` for two nodes of eight.

    Raises:
        InputError: The text has another form, or names a kind of GPU that is not known.
    """
    found = _SYSTEM.fullmatch(text.strip())
    nodes, count = (int(found["nodes"] or 1), int(found["count"])) if found else (0, 0)
    if not found or nodes < 1 or count < 1:
        raise InputError(
            f"not a system: {text!r}", hint="Write how many GPUs of which kind, as 8xb300, or 2x8xh200 for two nodes."
        )
    kind = accelerator(found["kind"])
    return System(
        name=f"{nodes}x{count}x{kind.name}" if nodes > 1 else f"{count}x{kind.name}",
        accelerator=kind.name,
        accelerators=count,
        memory=kind.total.size,
        nodes=nodes,
    )
