"""Look at an endpoint before it is measured: no more of this program is loaded for that than it needs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dayzero.adapters.measuring.ask import reachable
from dayzero.adapters.measuring.descriptors import allow_connections
from dayzero.adapters.measuring.server import Server, servers_of
from dayzero.adapters.openai_discovery import NO_WORK, Discovered, discover
from dayzero.adapters.openai_http import Connection, Wording
from dayzero.adapters.row_file import exists_error
from dayzero.core.errors import InputError
from dayzero.core.workload import Workload
from dayzero.wiring.dialects import endpoint_dialects

ROWS: Final = "requests.jsonl"
READS: Final = "reads.bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchTarget:
    """What is measured and where its files go.

    Attributes:
        connection: How the endpoint is reached.
        model: The model to ask for, ``""`` for the only one.
        folder: Where the raw reads and the rows are kept.
        processes: How many processes share the streams and the requests.
        resumes: Whether an interrupted run in that folder goes on.
        core: The core to measure on, where one is kept free for it.
    """

    connection: Connection
    model: str
    folder: Path
    processes: int = 1
    resumes: bool = False
    core: int | None = None

    def reads(self, shard: int = 0) -> Path:
        """Give the file of raw reads of one process."""
        return self.folder / (READS if self.processes == 1 else f"reads-{shard}.bin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """An endpoint that was looked at.

    Attributes:
        server: Where it is.
        wording: Writes the requests.
        found: What it was found to be.
    """

    server: Server
    wording: Wording
    found: Discovered


def look_at(connection: Connection, model: str, *, work: Iterator[object] = NO_WORK) -> Looked:
    """Find out what an endpoint is and how it is spoken to.

    Args:
        connection: How it is reached.
        model: The model to ask for, ``""`` for the only one.
        work: As of :func:`dayzero.adapters.openai_discovery.discover`.

    Raises:
        InputError: The model has to be named, or the address or the certificates are no good.
        RemoteError: It cannot be reached, or answers no probe.
    """
    server = reachable(servers_of(connection))
    wording = Wording(server.address, connection.api_key)
    found = discover(server, wording, model=model, candidates=endpoint_dialects(), work=work)
    return Looked(server=server, wording=wording, found=found)


def require_possible(target: BenchTarget, workload: Workload) -> None:
    """Refuse what cannot be measured, before anything is asked of a server.

    Args:
        target: What is to be measured.
        workload: What is to be sent.

    Raises:
        InputError: There are measured rows already, or the streams cannot be opened or shared.
    """
    narrow = next((cell for cell in workload.cells if cell.concurrency < target.processes), None)
    if target.processes < 1 or narrow is not None:
        raise InputError(
            f"{target.processes} processes cannot share {narrow.concurrency if narrow else 0} streams",
            hint="Give each process at least one stream.",
        )
    allow_connections(max(-(-cell.concurrency // target.processes) for cell in workload.cells))
    if not target.resumes:
        for path in (target.folder / ROWS, target.folder / READS, target.folder / "reads-0.bin"):
            if path.exists():
                raise exists_error(path)
