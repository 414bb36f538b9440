"""Wait until a started engine is healthy, and read the cause out of its log when it is not."""

from collections.abc import Callable

from dayzero.serve.model import Died, Healthy, LogLine, Start, TimedOut
from dayzero.serve.ports import EngineProcess, Health

POLL_S = 0.05


def wait_until_healthy(  # noqa: PLR0913  (each argument is one port or one budget)
    process: EngineProcess,
    health: Health,
    *,
    budget_s: float,
    looks_like_cause: Callable[[str], bool],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    on_wait: Callable[[float, str], None],
) -> Start:
    """Wait for the first of: the engine is ready, it ended, the budget ran out.

    An engine that ended is never healthy, even if something else answers on its port.

    Args:
        process: The engine, already started.
        health: Its readiness probe.
        budget_s: Seconds that the start may take.
        looks_like_cause: The engine's own eye for causes in its log.
        clock: Monotonic seconds.
        sleep: Waits for the given seconds.
        on_wait: Told the elapsed seconds and the newest log line, for a progress line.
    """
    began = clock()
    while True:
        ready = health.ready()
        code = process.exit_code()
        elapsed = clock() - began
        if code is not None:
            return Died(seconds=elapsed, exit_code=code, root=last_cause(process.log(), looks_like_cause))
        if ready:
            return Healthy(seconds=elapsed)
        if elapsed >= budget_s:
            return TimedOut(seconds=elapsed, root=last_cause(process.log(), looks_like_cause))
        on_wait(elapsed, _newest(process.log()))
        sleep(POLL_S)


def last_cause(log: bytes, looks_like_cause: Callable[[str], bool]) -> LogLine | None:
    """Give the last line that looks like a cause; the whole chain is for triage to name.

    Args:
        log: The engine's log; bytes that are not UTF-8 are replaced.
        looks_like_cause: The engine's own rule.
    """
    lines = log.decode("utf-8", "replace").split("\n")
    for number in range(len(lines), 0, -1):
        text = lines[number - 1].rstrip("\r")
        if looks_like_cause(text):
            return LogLine(number=number, text=text)
    return None


def _newest(log: bytes) -> str:
    lines = log.rstrip().rsplit(b"\n", 1)
    return lines[-1].decode("utf-8", "replace").strip()
