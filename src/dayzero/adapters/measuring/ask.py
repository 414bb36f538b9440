"""One plain question to a server, answered by one document; nothing of it is measured."""

import contextlib
import select
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dayzero.adapters.measuring.server import Server
from dayzero.adapters.measuring.wire import Wire, why
from dayzero.bench.http1 import MalformedResponseError, ResponseReader
from dayzero.core.errors import RemoteError

_CONNECT_S: Final = 10.0
_FULL: Final = 64 * 1024
_CONTROL: Final = 64
_LARGEST_BODY: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer."""

    status: int
    body: bytes


def reachable(servers: Sequence[Server]) -> Server:
    """Give the first of a name's addresses that takes a connection.

    Raises:
        RemoteError: None does.
    """
    failure = ""
    for server in servers:
        try:
            _connected(server, _Patience(_CONNECT_S)).close()
        except OSError as error:
            failure = failure or why(error)
        else:
            return server
    raise RemoteError(
        f"{servers[0].address} cannot be reached: {failure}",
        hint="Start the server, or check the address and the port.",
    )


def ask(server: Server, question: bytes, *, timeout_s: float) -> Reply:
    """Send a request on a connection of its own and read its answer.

    Raises:
        OSError: There is no connection, it broke, or the time is over (``TimeoutError``).
        MalformedResponseError: What came is no HTTP response.
    """
    patience = _Patience(timeout_s)
    wire = _connected(server, patience)
    try:
        left = memoryview(question)
        while left or not wire.flush():
            left = left[wire.send(left) :]
            if left:
                patience.wait(wire, writing=True)
        return _read(wire, patience)
    finally:
        wire.close()


class _Patience:
    """Waits for a connection until the time is over."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def wait(self, wire: Wire, *, writing: bool) -> None:
        left = self._until - time.monotonic()
        poll = select.poll()
        poll.register(wire.fileno(), select.POLLOUT if writing else select.POLLIN)
        if left <= 0 or not poll.poll(left * 1000):
            raise TimeoutError("no answer in time")


def _connected(server: Server, patience: _Patience) -> Wire:
    wire = server.open()
    try:
        patience.wait(wire, writing=True)
        wire.check()
        while not wire.greet():
            patience.wait(wire, writing=not wire.flush())
    except OSError:
        wire.close()
        raise
    return wire


def _read(wire: Wire, patience: _Patience) -> Reply:
    reader, body, length = ResponseReader(), list[bytes](), 0
    while not reader.complete:
        patience.wait(wire, writing=False)
        with contextlib.suppress(BlockingIOError):
            piece = wire.receive(_FULL, _CONTROL)[0]
            if piece:
                body += reader.feed(piece)
                length += len(piece)
                if length > _LARGEST_BODY:
                    raise MalformedResponseError("it is larger than 16 MiB")
            else:
                reader.close()
                break
    return Reply(reader.status, b"".join(body))


def explain(error: OSError | MalformedResponseError) -> str:
    """Word a question that got no answer."""
    return why(error) if isinstance(error, OSError) else error.message
