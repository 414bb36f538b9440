"""A server on the loopback that answers each request with bytes and pauses as told, and with nothing it was not told."""

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias


class Act(Enum):
    """What ends a connection, or keeps it silent."""

    CLOSE = auto()
    RESET = auto()
    HANG = auto()


Step: TypeAlias = bytes | float | Act | Callable[[], object]
"""Bytes to write, seconds to wait, an end, or what returns when the server may go on."""

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


def event(text: str = "x", *, finish: bool = False) -> bytes:
    reason = b'"length"' if finish else b"null"
    return b'data: {"choices":[{"index":0,"text":"%s","finish_reason":%s}]}\n\n' % (text.encode(), reason)


USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n'
DONE = b"data: [DONE]\n\n"
TAIL = chunk(USAGE) + chunk(DONE) + END
ANSWER = HEAD + chunk(event()) + chunk(event(finish=True)) + TAIL


@dataclass
class RawServer:
    """Serves until its context ends.

    Attributes:
        script: Gives the steps of the n-th request (from 0) over all connections.
        requests: What came, head and body.
        connections: How many were accepted.
    """

    script: Callable[[int], Sequence[Step]]
    tls: ssl.SSLContext | None = None
    family: int = socket.AF_INET
    port: int = 0
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    counting: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        scheme = "http" if self.tls is None else "https"
        host = "[::1]" if self.family == socket.AF_INET6 else "localhost" if self.tls else "127.0.0.1"
        return f"{scheme}://{host}:{self.port}"

    def serve(self, listener: socket.socket) -> None:
        threads: list[threading.Thread] = []
        while not self.stop.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            self.connections += 1
            threads.append(threading.Thread(target=self._talk, args=(connection,)))
            threads[-1].start()
        for thread in threads:
            thread.join()

    def _talk(self, connection: socket.socket) -> None:
        connection.settimeout(0.05)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError):
            if self.tls is not None:
                connection.settimeout(5)
                connection = self.tls.wrap_socket(connection, server_side=True)
                connection.settimeout(0.05)
            while (request := self._request(connection)) is not None:
                with self.counting:
                    number = len(self.requests)
                    self.requests.append(request)
                if not self._play(connection, self.script(number)):
                    break
        connection.close()

    def _request(self, connection: socket.socket) -> bytes | None:
        got = bytearray()
        while not self.stop.is_set():
            end = got.find(b"\r\n\r\n")
            if end >= 0:
                head = bytes(got[:end])
                fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
                if len(got) - end - 4 >= int(fields.get(b"content-length", b"0")):
                    return bytes(got)
            try:
                piece = connection.recv(65536)
            except TimeoutError:
                continue
            if not piece:
                return None
            got += piece
        return None

    def _play(self, connection: socket.socket, steps: Sequence[Step]) -> bool:
        """Do what is told; false when the connection is over."""
        for step in steps:
            match step:
                case bytes():
                    connection.settimeout(20)
                    connection.sendall(step)
                    connection.settimeout(0.05)
                case float() | int():
                    time.sleep(step)
                case Act.HANG:
                    self.stop.wait()
                    return False
                case Act.RESET:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return False
                case Act.CLOSE:
                    return False
                case _:
                    step()
        return True


@contextlib.contextmanager
def raw_server(
    script: Callable[[int], Sequence[Step]] | Sequence[Step],
    *,
    tls: ssl.SSLContext | None = None,
    family: int = socket.AF_INET,
) -> Iterator[RawServer]:
    """Serve one script for every request, or one by its number."""
    server = RawServer(script if callable(script) else lambda _number: script, tls=tls, family=family)
    listener = socket.create_server(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0), family=family)
    listener.settimeout(0.05)
    server.port = listener.getsockname()[1]
    thread = threading.Thread(target=server.serve, args=(listener,))
    thread.start()
    try:
        yield server
    finally:
        server.stop.set()
        thread.join()
        listener.close()
