"""Record what the server and its GPUs say while a client measures, once a second, in a thread beside it.

The thread asks, picks the known series out of the answer with one regular expression, and writes a line; values are read after
the window. Nearly all of its time it waits without holding the interpreter. What it took of the processor is in its last line.
"""

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, Final

from dayzero.adapters.disk import disk_errors
from dayzero.adapters.measuring.ask import Reply, ask, explain
from dayzero.adapters.measuring.server import Server
from dayzero.adapters.nvml import Gpus, GpusAbsentError
from dayzero.adapters.openai_http import Wording
from dayzero.bench.http1 import MalformedResponseError
from dayzero.bench.telemetry.model import SCHEMA, Gpu

PATH: Final = "/metrics"
_PERIOD_S: Final = 1.0
_TIMEOUT_S: Final = 5.0
_OK: Final = 200
_LOOPBACK: Final = ("127.", "::1")
_ABSENT: Final = "{path} answers HTTP {status} (a llama.cpp server needs --metrics, SGLang --enable-metrics)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is asked.

    Attributes:
        server: Where the endpoint is.
        wording: Writes requests to it.
        series: The names that each series may have.
        period_s: Seconds from one scrape to the next.
    """

    server: Server
    wording: Wording
    series: Mapping[str, tuple[str, ...]]
    period_s: float = _PERIOD_S


@contextlib.contextmanager
def recording(source: Source, file: Path) -> Iterator[None]:
    """Record while the block runs: one scrape before it, one after it, and one a second in between.

    A server without metrics, and a machine without GPUs, are recorded as that; the block is never disturbed by either. A file that
    is there is an interrupted run's, and goes on.

    Raises:
        RemoteError: The file cannot be written.
    """
    with contextlib.ExitStack() as held:
        gpus, absent = _gpus(source.server, held)
        with disk_errors(file):
            lines = held.enter_context(file.open("ab"))
        names = list(gpus.names) if gpus else []
        header = {"schema": SCHEMA, "path": PATH, "series": source.series, "gpus": names, "gpus_absent": absent}
        lines.write(json.dumps(header).encode() + b"\n")
        scraper = _Scraper(source, lines, gpus.look if gpus else tuple)
        scraper.scrape()
        thread = threading.Thread(target=scraper.run, name="telemetry", daemon=True)
        thread.start()
        try:
            yield
        finally:
            scraper.stopped.set()
            thread.join()
            scraper.scrape()
            lines.write(json.dumps({"cost_s": round(scraper.cost_s, 6)}).encode() + b"\n")


class _Scraper:
    """Asks and writes lines."""

    def __init__(self, source: Source, lines: BinaryIO, look: Callable[[], tuple[Gpu, ...]]) -> None:
        self.stopped = threading.Event()
        self.cost_s = 0.0
        self._source = source
        self._lines = lines
        self._look = look
        self._question = source.wording.plain("GET", PATH)
        spelt = "|".join(re.escape(name) for names in source.series.values() for name in names)
        self._wanted = re.compile(rf"^(?:{spelt})[{{ ].*$".encode(), re.MULTILINE)
        self._absent = ""

    def run(self) -> None:
        """Scrape until it is stopped."""
        began = time.thread_time()
        due = time.monotonic() + self._source.period_s
        while not self.stopped.wait(max(0.0, due - time.monotonic())):
            self.scrape()
            due = max(due + self._source.period_s, time.monotonic())
        self.cost_s += time.thread_time() - began

    def scrape(self) -> None:
        """Ask once and write a line; a disk that takes no more ends the recording, not the measurement."""
        before = time.monotonic_ns()
        answer = self._ask()
        gpus = [asdict(gpu) for gpu in self._look()]
        line = {"at_ns": before, "took_ns": time.monotonic_ns() - before, **answer, "gpus": gpus}
        try:
            self._lines.write(json.dumps(line).encode() + b"\n")
            self._lines.flush()
        except OSError:
            self.stopped.set()

    def _ask(self) -> Mapping[str, str]:
        if self._absent:
            return {"error": self._absent}
        try:
            reply = ask(self._source.server, self._question, timeout_s=_TIMEOUT_S)
        except (OSError, MalformedResponseError) as error:
            return {"error": f"{PATH}: {explain(error)}"}
        return self._chosen(reply)

    def _chosen(self, reply: Reply) -> Mapping[str, str]:
        if reply.status != _OK:
            self._absent = _ABSENT.format(path=PATH, status=reply.status)  # it will not come by asking again
            return {"error": self._absent}
        text = b"\n".join(self._wanted.findall(reply.body)).decode("utf-8", "replace")
        return {"metrics": text} if text else {"error": f"{PATH} has none of the known series"}


def _gpus(server: Server, held: contextlib.ExitStack) -> tuple[Gpus | None, str]:
    """Open this machine's GPUs, where the server is on this machine; else say why not."""
    if not server.place[0].startswith(_LOOPBACK):
        return None, "the server is on another machine"
    try:
        return held.enter_context(Gpus()), ""
    except GpusAbsentError as error:
        return None, str(error)
