"""Run a command on one core and say what it cost: everything that it started, to the last process."""

import ctypes
import os
import resource
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_LOOK_S = 0.2
_GRACE_S = 5.0
_PR_SET_CHILD_SUBREAPER = 36
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one run of a command cost.

    Attributes:
        exit_code: Of the command; negative is the signal that ended it.
        timed_out: It was killed at its time limit.
        wall_s: From its start to its end.
        cpu_s: Of all its processes, user and system.
        peak_rss_bytes: The largest sum of their resident sets, looked at five times a second.
        processes: The most of them at once.
        others_cpu_s: What else ran on this machine meanwhile.
    """

    exit_code: int
    timed_out: bool
    wall_s: float
    cpu_s: float
    peak_rss_bytes: int
    processes: int
    others_cpu_s: float


def adopt_orphans() -> None:
    """Have the kernel hand processes whose parent is gone to this process, so that their processor time is counted here."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run(  # noqa: PLR0913  (each argument is one condition of the run)
    command: Sequence[str],
    *,
    core: int,
    timeout_s: float,
    log: Path,
    environment: Mapping[str, str],
    beside: Callable[[Callable[[], list[int]]], Callable[[], None]] = lambda _: lambda: None,
) -> Cost:
    """Run a command to its end, with everything it starts on one core.

    Args:
        command: What is run.
        core: The core.
        timeout_s: It is killed after so many seconds.
        log: What it prints.
        environment: Variables on top of this process's own.
        beside: Starts something that disturbs the run, given a function that lists its processes; gives the function that ends it.
    """
    busy, began = _busy_s(), time.monotonic()
    with log.open("wb") as out:
        process = subprocess.Popen(  # noqa: S603
            ["taskset", "-c", str(core), *command],  # noqa: S607
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **environment},
        )
        before = resource.getrusage(resource.RUSAGE_CHILDREN)  # once Popen has reaped what was left of earlier runs
        end = beside(lambda: _tree(process.pid))
        try:
            peak, most, timed_out = _watch(process, began + timeout_s)
        finally:
            end()
            wall_s = time.monotonic() - began
            _reap(process)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(
        exit_code=process.returncode,
        timed_out=timed_out,
        wall_s=wall_s,
        cpu_s=cpu_s,
        peak_rss_bytes=peak,
        processes=most,
        others_cpu_s=max(0.0, _busy_s() - busy - cpu_s),
    )


def stalls(every_s: float, for_s: float) -> Callable[[Callable[[], list[int]]], Callable[[], None]]:
    """Stop a run's processes for a while, again and again."""

    def begin(processes: Callable[[], list[int]]) -> Callable[[], None]:
        ended = threading.Event()

        def loop() -> None:
            while not ended.wait(every_s):
                stopped = processes()
                _signal(stopped, signal.SIGSTOP)
                time.sleep(for_s)
                _signal(stopped, signal.SIGCONT)

        thread = threading.Thread(target=loop)
        thread.start()

        def end() -> None:
            ended.set()
            thread.join()

        return end

    return begin


def busy_loops(count: int, core: int) -> Callable[[Callable[[], list[int]]], Callable[[], None]]:
    """Keep a run's core busy with other processes."""

    def begin(_: Callable[[], list[int]]) -> Callable[[], None]:
        command = ["taskset", "-c", str(core), "sh", "-c", "while :; do :; done"]
        loops = [subprocess.Popen(command) for _ in range(count)]  # noqa: S603
        for loop in loops:
            keep(loop.pid)

        def end() -> None:
            for loop in loops:
                loop.kill()

        return end

    return begin


def _watch(process: subprocess.Popen[bytes], until: float) -> tuple[int, int, bool]:
    """Look at a run until it ends; gives its peak of memory and of processes, and whether it was killed."""
    peak = most = 0
    ended = os.pidfd_open(process.pid)
    try:
        while process.poll() is None:
            pids = _tree(process.pid)
            peak, most = max(peak, sum(map(_rss, pids))), max(most, len(pids))
            if time.monotonic() > until:
                _signal(pids, signal.SIGKILL)
                process.wait()
                return peak, most, True
            select.select((ended,), (), (), _LOOK_S)  # its end is seen at once
    finally:
        os.close(ended)
    return peak, most, False


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Wait for what the command left behind, which is this process's child now; kill it when it stays."""
    mine = {pid for pid, parent in _parents().items() if parent == os.getpid()}
    left = mine - _KEPT - {process.pid}
    until = time.monotonic() + _GRACE_S
    while left:
        if time.monotonic() > until:
            _signal(sorted(left), signal.SIGKILL)
        for pid in sorted(left):
            try:
                done, _ = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                done = pid
            left -= {done}
        time.sleep(0.02)


_KEPT: set[int] = set()


def keep(pid: int) -> None:
    """Name a child of this process that is no part of any run."""
    _KEPT.add(pid)


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _parents() -> dict[int, int]:
    """Map each process of the machine to its parent."""
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    return found


def _tree(root: int) -> list[int]:
    parents = _parents()
    found = [root]
    for pid in found:
        found.extend(child for child, parent in parents.items() if parent == pid)
    return found


def _rss(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _busy_s() -> float:
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:8])) / os.sysconf("SC_CLK_TCK")
