"""What measuring costs this process, as the kernel counts it."""

import contextlib
import os
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

_NS: Final = 1e9
_SCHEDSTAT: Final = Path("/proc/self/schedstat")
_TIMER_SLACK: Final = Path("/proc/self/timerslack_ns")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Seconds that went by, were used, and were waited for.

    Attributes:
        window_s: On the wall.
        cpu_s: Of a processor, user and system.
        waited_s: Ready to run, without a core to run on.
    """

    window_s: float = 0.0
    cpu_s: float = 0.0
    waited_s: float = 0.0

    @classmethod
    def now(cls) -> Self:
        """Read the counters; only differences mean something."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        return cls(window_s=time.monotonic(), cpu_s=used.ru_utime + used.ru_stime, waited_s=_run_delay_s())

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            window_s=self.window_s + other.window_s,
            cpu_s=self.cpu_s + other.cpu_s,
            waited_s=self.waited_s + other.waited_s,
        )

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(
            window_s=self.window_s - other.window_s,
            cpu_s=self.cpu_s - other.cpu_s,
            waited_s=self.waited_s - other.waited_s,
        )


def total_cpu_s() -> float:
    """Give the processor seconds of this process and of those that it waited for, since they began."""
    counts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in counts)


def peak_memory_bytes() -> int:
    """Give the largest resident set of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextlib.contextmanager
def precise_sleep() -> Iterator[None]:
    """Have the kernel end this thread's sleeps on time instead of up to 50 us late, while the block runs."""
    slack = ""
    with contextlib.suppress(OSError):
        slack = _TIMER_SLACK.read_text()
        _TIMER_SLACK.write_text("1")
    try:
        yield
    finally:
        if slack:
            with contextlib.suppress(OSError):
                _TIMER_SLACK.write_text(slack)


@contextlib.contextmanager
def on_core(core: int | None) -> Iterator[int | None]:
    """Keep this thread, and those that it starts, on one core while the block runs; ``None``: wherever there is room.

    Gives the core that they are kept on, ``None`` where the kernel did not do it.
    """
    before = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, before if core is None else {core})
    kept = core is not None and os.sched_getaffinity(0) == {core}
    try:
        yield core if kept else None
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, before)


def _run_delay_s() -> float:
    """Read the second field of schedstat: nanoseconds on the run queue (Linux, Documentation/scheduler/sched-stats.rst)."""
    try:
        return int(_SCHEDSTAT.read_bytes().split()[1]) / _NS
    except (OSError, ValueError, IndexError):
        return 0.0


def cores() -> int:
    """Count the processor cores that this process may use."""
    return len(os.sched_getaffinity(0))
