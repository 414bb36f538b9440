"""Compile the truth server, run it on a core of its own, and read what it wrote down."""

import csv
import hashlib
import io
import json
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from dayzero.wiring.settings import cache_folder

_HERE = Path(__file__).parent
_SOURCES = ("truth_server.c", "text.h")
_FLAGS = ("-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror")
_TIMEOUT_S = 30
_PRIORITY = 50


class NoCompilerError(Exception):
    """There is no C compiler on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """One request as it really was; stamps are nanoseconds of CLOCK_MONOTONIC, 0 where there is none.

    Attributes:
        number: In the order in which requests were read, from 0.
        port: The client's port, which tells its connection.
        nth_on_connection: 1 for the first request of its connection.
        prompt_tokens: As the server counted them.
        asked, sent: Tokens.
        before_last: Tokens before the last chunk.
        chunks: Pieces in which they left (a role chunk and a usage chunk are none).
        failed: The client went away.
        arrived: The kernel had the request's last byte.
        first_written, last_written: The kernel had taken the first and the last chunk.
        late_max: The most that a chunk left later than its schedule says.
        chunk_written: The same for every chunk, where the server was told to record them.
    """

    number: int
    port: int
    nth_on_connection: int
    prompt_tokens: int
    asked: int
    sent: int
    before_last: int
    chunks: int
    failed: bool
    arrived: int
    first_written: int
    last_written: int
    late_max: int
    chunk_written: tuple[int, ...]

    @property
    def ttft_ms(self) -> float:
        """First chunk written - request arrived."""
        return (self.first_written - self.arrived) / 1e6

    @property
    def itl_ms(self) -> float:
        """Last chunk written - first one, per token that the schedule puts between them."""
        return (self.last_written - self.first_written) / 1e6 / self.before_last if self.before_last else 0.0


def binary() -> Path:
    """Give the compiled server, from the cache where these sources were compiled before.

    Raises:
        NoCompilerError: There is no ``cc``.
    """
    digest = hashlib.sha256(b"".join((_HERE / name).read_bytes() for name in _SOURCES)).hexdigest()
    program = cache_folder() / "truth" / digest[:16] / "truth_server"
    if program.is_file():
        return program
    compiler = shutil.which("cc")
    if compiler is None:
        raise NoCompilerError("the truth server is written in C, and there is no cc on this machine")
    program.parent.mkdir(parents=True, exist_ok=True)
    made = program.with_name(f"{program.name}.{os.getpid()}")
    subprocess.run([compiler, *_FLAGS, "-o", made, _HERE / _SOURCES[0]], check=True)  # noqa: S603
    made.rename(program)  # two runs that compile at once both end up with a whole file
    return program


class TruthServer:
    """One running truth server, on a free port of the loopback. A context manager: it is stopped when its context ends.

    Args:
        options: What it is started with, by the name of its option (``ttft_ms``, ``itl_ms``, ...).
        core: The core that it keeps to; ``None``: any.
    """

    def __init__(self, options: Mapping[str, float] | None = None, *, core: int | None = None) -> None:
        words = [
            word for name, value in (options or {}).items() for word in (f"--{name.replace('_', '-')}", f"{value:g}")
        ]
        self._process = subprocess.Popen([binary(), *words], stdout=subprocess.PIPE)  # noqa: S603
        if core is not None:
            os.sched_setaffinity(self._process.pid, {core})
        self.realtime = _prioritise(self._process.pid)
        line = self._process.stdout.readline() if self._process.stdout else b""
        if not line.startswith(b"port "):
            self.close()
            raise RuntimeError(f"the truth server did not start with {words}")
        self.url = f"http://127.0.0.1:{int(line.split()[1])}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop it."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def get(self, path: str) -> str:
        """Fetch one of its pages."""
        with urllib.request.urlopen(f"{self.url}{path}", timeout=_TIMEOUT_S) as answer:  # noqa: S310  (the URL is ours)
            text: str = answer.read().decode()
            return text

    def truth(self) -> tuple[Truth, ...]:
        """Fetch what it wrote down, one entry a request."""
        return tuple(_truth(number, row) for number, row in enumerate(csv.DictReader(io.StringIO(self.get("/truth")))))

    def stats(self) -> Mapping[str, float]:
        """Fetch its counters and clocks."""
        counters: dict[str, float] = json.loads(self.get("/stats"))
        return counters

    def reset(self) -> None:
        """Forget every request so far."""
        self.get("/reset")


def _truth(number: int, row: Mapping[str, str]) -> Truth:
    names = ("port", "nth_on_connection", "prompt_tokens", "asked", "sent", "before_last", "chunks")
    stamps = ("arrived", "first_written", "last_written", "late_max")
    return Truth(
        number=number,
        failed=row["failed"] != "0",
        chunk_written=tuple(map(int, row["chunk_written"].split())),
        **{name: int(row[name]) for name in (*names, *stamps)},
    )


def _prioritise(pid: int) -> bool:
    """Put it before everything else on its core, where this user may do that: the schedule then holds on a busy machine too."""
    try:
        os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    except PermissionError:
        return False
    return True
