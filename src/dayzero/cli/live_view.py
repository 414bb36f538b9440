"""How far a measurement is, live on a terminal.

The drawing runs in a process of its own, at the lowest priority: from within a measuring window nothing is done but one small
write into a pipe four times a second, which is given up when the pipe is full. The measuring process never loads what draws.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, TypeAlias

from dayzero.bench.model import Progress

Told: TypeAlias = tuple[Callable[[float, str], None], Callable[[Progress], None]]

_HZ: Final = 4
_LINE: Final = 80
_MIB: Final = 1024 * 1024
_BAR: Final = 24
_CLOSE_S: Final = 2.0
_OF_A_WAIT: Final = 2
_VIEWER: Final = "from dayzero.cli.live_view import draw; draw()"


@contextlib.contextmanager
def live_view() -> Iterator[Told]:
    """Show on stderr what is told while the block runs: of a wait for health (seconds, log line), and of a measurement."""
    viewer = subprocess.Popen(  # noqa: S603  (this interpreter, a fixed program)
        [sys.executable, "-c", _VIEWER], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, bufsize=0
    )
    pipe = viewer.stdin
    if pipe is None:  # pragma: no cover  (PIPE was asked for)
        raise RuntimeError("a pipe was asked for")
    os.set_blocking(pipe.fileno(), False)

    try:
        yield _teller(pipe.fileno())
    finally:
        pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            viewer.wait(_CLOSE_S)
        viewer.kill()
        viewer.wait()


def _teller(descriptor: int) -> Told:
    told_s = 0.0

    def write(message: list[object]) -> None:
        # A full pipe or a viewer that is gone: the picture is late or stops, the measurement does not.
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            os.write(descriptor, json.dumps(message).encode() + b"\n")

    def show(p: Progress) -> None:
        nonlocal told_s
        now_s = time.monotonic()
        if now_s - told_s >= 1 / _HZ:
            told_s = now_s
            write([p.cell, p.phase, p.done, p.planned, p.failed, p.in_flight, p.received_bytes])

    return (lambda seconds, line: write([seconds, line[:_LINE]])), show


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was told of a cell, and when.

    Attributes:
        progress: The newest.
        first: The first of its cell: rates count from it.
        now_s, first_s: When each was told, on one clock.
    """

    progress: Progress
    first: Progress
    now_s: float
    first_s: float


def words(seen: Seen, at_s: float) -> tuple[str, ...]:
    """Say where a cell stands, in short fields.

    Args:
        seen: What was told.
        at_s: The time now, on the same clock: time goes on when nothing is told.
    """
    progress, told_s = seen.progress, max(seen.now_s - seen.first_s, 1e-9)
    done = progress.done - seen.first.done
    rate = done / told_s
    received = (progress.received_bytes - seen.first.received_bytes) / told_s / _MIB
    left = progress.planned - progress.done
    fields = (
        f"{progress.cell} {progress.phase}",
        _bar(progress.done, progress.planned),
        f"{progress.done:,}/{progress.planned:,}" if progress.planned else f"{progress.done:,}",
        f"{progress.in_flight} in flight" if progress.in_flight else "",
        f"{rate:.1f} req/s" if done else "",
        f"{received:.2f} MiB/s" if received > 0 else "",
        f"{_clock(at_s - seen.first_s)} elapsed",
        f"{_clock(left / rate)} left" if done and left > 0 else "",
        f"{progress.failed} FAILED" if progress.failed else "",
    )
    return tuple(field for field in fields if field)


def draw() -> None:
    """Draw what comes on standard input until it ends. This is the whole program of the viewer's process."""
    # The terminal sends Ctrl-C to both; the measuring process decides what it means, and then closes the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(19)
    from rich.console import Console  # noqa: PLC0415  (this process only)
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(stderr=True, highlight=False)
    with Live(Text("looking at the server"), console=console, transient=True, auto_refresh=False) as live:
        for line in lines(sys.stdin.buffer, time.monotonic):
            live.update(Text(line, no_wrap=True, overflow="ellipsis"), refresh=True)


def lines(source: BinaryIO, clock: Callable[[], float]) -> Iterator[str]:
    """Give the line to show, some times a second, until the source ends.

    Args:
        source: The pipe that is told into.
        clock: Seconds that only go on.
    """
    seen: Seen | None = None
    waiting = ""
    kept = b""
    os.set_blocking(source.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(source, selectors.EVENT_READ)
        while True:
            piece = source.read() if selector.select(1 / _HZ) else None
            if piece == b"":
                return
            *told, kept = (kept + (piece or b"")).split(b"\n")
            for message in map(json.loads, told):
                waiting = _waiting(message)
                seen = seen if waiting else _next(seen, message, clock())
            if waiting:
                yield waiting
            elif seen is not None:
                yield "  ".join(words(seen, clock()))


def _waiting(message: list[Any]) -> str:
    return f"waiting for health, {message[0]:.0f} s: {message[1]}" if len(message) == _OF_A_WAIT else ""


def _next(seen: Seen | None, message: list[Any], now_s: float) -> Seen:
    cell, phase, done, planned, failed, in_flight, received_bytes = message
    progress = Progress(
        cell=cell,
        phase=phase,
        done=done,
        planned=planned,
        failed=failed,
        in_flight=in_flight,
        received_bytes=received_bytes,
    )
    if seen is None or seen.first.cell != progress.cell:
        return Seen(progress=progress, first=progress, now_s=now_s, first_s=now_s)
    return Seen(progress=progress, first=seen.first, now_s=now_s, first_s=seen.first_s)


def _bar(done: int, planned: int) -> str:
    if not planned:
        return ""
    full = min(done, planned) * _BAR // planned
    return "━" * full + "─" * (_BAR - full)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
