"""Engines as child processes: a group of their own, a log on disk, and an end that leaves nothing behind."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from dayzero.adapters.disk import disk_errors
from dayzero.core.errors import RemoteError

_POLL_S = 0.02
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def require_free_port(host: str, port: int) -> None:
    """Refuse a port on which something listens already: its health would be taken for the engine's.

    Raises:
        RemoteError: The port is taken.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise RemoteError(
                f"port {port} on {host} is already taken",
                hint="Stop what listens there, or choose another with --port.",
            ) from error


def free_port(host: str) -> int:
    """Give a port on which nothing listens now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def process_mark(pid: int) -> tuple[int, str]:
    """Give what tells a process from a later one with its number: when it was started, in ticks, and the system's boot."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        # proc(5): the name in brackets may hold anything; what follows it is counted from field 3, the start is field 22.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        if fields[0] != "Z":  # it has ended, and nobody has asked how
            return int(fields[19]), _BOOT.read_text().strip()
    return 0, ""


def end_marked(pid: int, mark: tuple[int, str], budget_s: float) -> bool:
    """End the group of an engine whose starter was killed, and say whether it still ran.

    Args:
        pid: Its process, which leads the group.
        mark: As :func:`process_mark` gave it then; another process with that number is left alone.
        budget_s: Seconds from the request to the kill.
    """
    if not mark[0] or process_mark(pid) != mark:
        return False
    deadline = time.monotonic() + budget_s
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGTERM)
        while process_mark(pid) == mark and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        os.killpg(pid, signal.SIGKILL)
    return True


class ChildProcess:
    """One engine started from its launch. Implements ``serve.ports.EngineProcess``.

    Args:
        argv: The command.
        env: Its whole environment.
        folder: Its working folder.
        log: File that takes its output; it must not exist yet.

    Raises:
        RemoteError: The program cannot be started, or the log cannot be written.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], folder: Path, log: Path) -> None:
        self._log = log
        with disk_errors(log):
            log.parent.mkdir(parents=True, exist_ok=True)
            stream = log.open("xb")
        with stream:
            try:
                self._process = subprocess.Popen(  # noqa: S603  (the launch is the user's own recipe)
                    list(argv),
                    env=dict(env),
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise RemoteError(
                    f"{argv[0]} cannot be started: {error}", hint="Check that the program is installed."
                ) from error

    @property
    def pid(self) -> int:
        """Process id of the engine, which is also its group's."""
        return self._process.pid

    def leave_free(self, core: int | None) -> None:
        """Keep it off one core; said right after its start, before it has threads. ``None``: it may use all."""
        with contextlib.suppress(OSError):  # it has ended already
            os.sched_setaffinity(self.pid, os.sched_getaffinity(self.pid) - {core})

    def exit_code(self) -> int | None:
        """Give the exit code, or ``None`` while it runs."""
        return self._process.poll()

    def log(self) -> bytes:
        """Read everything that it has written so far."""
        return self._log.read_bytes()

    def log_path(self) -> Path:
        """Give the file that holds its log."""
        return self._log

    def stop(self, budget_s: float) -> int:
        """Ask the group to end, kill what is left of it after ``budget_s`` seconds, and give the engine's exit code."""
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + budget_s
        while self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        self._signal(signal.SIGKILL)
        return self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
