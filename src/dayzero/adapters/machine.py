"""What this machine is, read from the kernel's own files."""

import os
import platform
from pathlib import Path

from dayzero.core.hardware import HostMemory
from dayzero.core.quantities import Bytes

_KIB = 1024


def host_memory(proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> HostMemory:
    """Read the machine's memory, or the control group's where that is the tighter limit.

    Args:
        proc: Mount point of procfs.
        cgroup: Mount point of the unified control group hierarchy.
    """
    fields = {}
    for line in (proc / "meminfo").read_text(encoding="ascii").splitlines():
        name, _, rest = line.partition(":")
        fields[name] = rest.split()
    total, available = (int(fields[name][0]) * _KIB for name in ("MemTotal", "MemAvailable"))
    limit, used = (_cgroup_value(cgroup / name) for name in ("memory.max", "memory.current"))
    if limit is not None and used is not None and limit - used < available:
        return HostMemory(total=Bytes(limit), available=Bytes(max(0, limit - used)), source=str(cgroup / "memory.max"))
    return HostMemory(total=Bytes(total), available=Bytes(available), source=str(proc / "meminfo"))


def _cgroup_value(file: Path) -> int | None:
    try:
        text = file.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def environment() -> tuple[tuple[str, str], ...]:
    """Describe the machine for a receipt: processor, cores, memory, kernel, Python, and the load at this instant."""
    return (
        ("cpu", _cpu_model()),
        ("cores", str(len(os.sched_getaffinity(0)))),
        ("memory_bytes", str(host_memory().total.count)),
        ("kernel", f"{platform.system()} {platform.release()}"),
        ("machine", platform.machine()),
        ("python", platform.python_version()),
        ("load_average_1m", f"{os.getloadavg()[0]:.2f}"),
    )


def _cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in {"model name", "Model", "CPU part"}:
            return value.strip()
    return "unknown"
