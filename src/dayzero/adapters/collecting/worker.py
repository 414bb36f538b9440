"""A process that measures, in another Python: asked on its stdin, answering on its stdout, and allowed to die."""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import IO, Any

from dayzero.adapters.disk import disk_errors
from dayzero.core.errors import InputError

_RAW_LINES, _RAW_BYTES = 12, 8192
_END_S = 5.0
_OTHERS_S = 5.0  # for the other ranks, after one has failed: they may wait for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """A process that did not answer.

    Attributes:
        error: ``Crashed`` or ``TimedOut``.
        message: How it ended.
        raw: The last lines that it wrote.
    """

    error: str
    message: str
    raw: tuple[str, ...]


class Workers:
    """One process a rank, all asked the same; the first one's answer counts, unless another's case was not measured.

    Args:
        python: The interpreter, with the engine.
        log: Where what they print goes; what is there stays.
        ranks: How many; more than one find each other through torchrun's variables.
        port: Where the first rank waits for the others.

    Raises:
        InputError: The interpreter cannot be started.
    """

    def __init__(self, python: str, log: Path, *, ranks: int = 1, port: int = 0) -> None:
        self._log = log
        with disk_errors(log):
            log.parent.mkdir(parents=True, exist_ok=True)
            stream = log.open("ab")
        with stream:
            self._ranks = [_start(python, stream.fileno(), _variables(rank, ranks, port)) for rank in range(ranks)]

    def ask(self, request: Mapping[str, Any], timeout_s: float) -> Mapping[str, Any] | Died:
        """Ask, and wait for the answer of each rank."""
        began = self._log.stat().st_size
        line = json.dumps(request).encode() + b"\n"
        for process in self._ranks:
            with contextlib.suppress(BrokenPipeError):
                _pipe(process.stdin).write(line)
        answers = _answers(self._ranks, time.monotonic() + timeout_s)
        dead = next((rank for rank, answer in answers.items() if answer is None), None)
        if dead is not None:
            return self._died("Crashed", _ended(_code(self._ranks[dead])), began)
        failed = next((rank for rank, answer in answers.items() if answer is not None and not _measured(answer)), None)
        if failed is not None:
            return _of_rank(failed, answers[failed] or {}, lost=len(answers) < len(self._ranks))
        if len(answers) < len(self._ranks):
            return self._died("TimedOut", f"no answer within {timeout_s:g} s", began)
        return answers[0] or {}

    def raw(self, began: int) -> tuple[str, ...]:
        """Give the last lines that were printed after the log had this size."""
        with self._log.open("rb") as stream:
            stream.seek(max(began, self._log.stat().st_size - _RAW_BYTES))
            lines = stream.read().decode("utf-8", "replace").splitlines()
        return tuple(line for line in lines if line.strip())[-_RAW_LINES:]

    @property
    def printed(self) -> int:
        """How much was printed so far."""
        return self._log.stat().st_size

    def end(self) -> None:
        """Let them end, and kill those that do not."""
        for process in self._ranks:
            _pipe(process.stdin).close()
        for process in self._ranks:
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                _kill(process)
            _pipe(process.stdout).close()

    def _died(self, error: str, how: str, began: int) -> Died:
        for process in self._ranks:
            _kill(process)
        return Died(error=error, message=how, raw=self.raw(began))


def _start(python: str, stderr: int, variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    folder = Path(str(files("dayzero.collector")))
    try:
        return subprocess.Popen(  # noqa: S603  (the interpreter that the user named)
            (python, "-X", "utf8", str(folder)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, **variables},
            start_new_session=True,
            bufsize=0,
        )
    except OSError as error:
        raise InputError(
            f"{python} cannot be started: {error.strerror}", hint="Name the engine's interpreter with --python."
        ) from error


def _variables(rank: int, ranks: int, port: int) -> Mapping[str, str]:
    if ranks == 1:
        return {}
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise AssertionError  # it was started with pipes
    return stream


def _answers(ranks: Sequence[subprocess.Popen[bytes]], deadline: float) -> dict[int, Mapping[str, Any] | None]:
    """Read the answer of each, in the order in which they came, ``None`` where it ended without; some may not come in time."""
    found: dict[int, bytearray] = {rank: bytearray() for rank in range(len(ranks))}
    answers: dict[int, Mapping[str, Any] | None] = {}
    with selectors.DefaultSelector() as ready:
        for rank, process in enumerate(ranks):
            ready.register(_pipe(process.stdout), selectors.EVENT_READ, rank)
        while len(answers) < len(ranks):
            events = ready.select(max(0.0, deadline - time.monotonic()))
            if not events:
                break
            for key, _ in events:
                part = os.read(key.fd, 1 << 16)
                found[key.data] += part
                if part and not part.endswith(b"\n"):
                    continue
                answer = answers[key.data] = json.loads(found[key.data]) if part else None
                ready.unregister(key.fileobj)
                if answer is None or not _measured(answer):
                    deadline = min(deadline, time.monotonic() + _OTHERS_S)
    return answers


def _measured(answer: Mapping[str, Any]) -> bool:
    return bool(answer.get("state", "measured") == "measured")


def _of_rank(rank: int, answer: Mapping[str, Any], *, lost: bool) -> Mapping[str, Any]:
    """Give the answer of a rank whose case was not measured; ``lost`` where others still wait for it."""
    told = {**answer, "lost": True} if lost else answer
    if not rank:
        return told
    return {**told, "error": {**told["error"], "message": f"rank {rank}: {told['error']['message']}"}}


def _code(process: subprocess.Popen[bytes]) -> int | None:
    """Give the exit code of a process that closed its answers, or ``None`` where it runs on."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(_END_S)
    return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ended(code: int | None) -> str:
    if code is None:
        return "it closed its answers and stayed"
    return f"it was ended by {signal.Signals(-code).name}" if code < 0 else f"it ended with exit code {code}"
