"""Serve an application over HTTP with uvicorn: in the foreground until Ctrl-C, or beside what else is going on."""

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from dayzero.core.errors import RemoteError

_GRACE_S: Final = 5
_BACKLOG: Final = 128
_LAST_PORT: Final = 65535


def listen(host: str, port: int) -> socket.socket:
    """Take a port; nothing is answered on it yet.

    Args:
        host: Address to listen on.
        port: TCP port; 0 takes a free one.

    Raises:
        RemoteError: The port is taken, or may not be used.
    """
    if not 0 <= port <= _LAST_PORT:
        raise _refused(host, port, "there is no such port")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        bound = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise _refused(host, port, error.strerror or str(error)) from error
    # Connections inherit it. Without it the body of an answer waits 40 ms for the reader's word that its head arrived: asyncio
    # sets it only on sockets that name their protocol, and this one does not.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


def _refused(host: str, port: int, why: str) -> RemoteError:
    return RemoteError(
        f"cannot listen on {host}:{port}: {why}", hint="Choose another port with --port, or --port 0 for a free one."
    )


def address_of(bound: socket.socket) -> str:
    """Give the address of the first page."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def run(app: ASGIApp, bound: socket.socket, *, started: Callable[[], None], proxies: tuple[str, ...] = ()) -> None:
    """Serve in the foreground until Ctrl-C or SIGTERM; answers that are under way are finished first.

    Args:
        app: What answers.
        bound: The socket, from :func:`listen`; it is closed.
        started: Told once requests are answered.
        proxies: Addresses of proxies whose word on who asks, and by which scheme, is taken (``X-Forwarded-For``, ``-Proto``).

    Raises:
        KeyboardInterrupt: Ctrl-C stopped it.
    """
    with bound:
        _Server(app, started, proxies).run([bound])


@contextmanager
def serving(app: ASGIApp, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve from a thread for as long as the context is open, and give the address of the first page.

    Raises:
        RemoteError: The port is taken, may not be used, or the server does not start.
    """
    ready = threading.Event()
    with listen(host, port) as bound:
        server = _Server(app, ready.set)
        thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
        thread.start()
        try:
            while not ready.wait(0.1):
                if not thread.is_alive():
                    raise RemoteError("the server did not start", hint="See its log.")
            yield address_of(bound)
        finally:
            server.should_exit = True
            thread.join()


class _Server(uvicorn.Server):
    """A server that says when it is ready, and keeps to itself who reads what."""

    def __init__(self, app: ASGIApp, started: Callable[[], None], proxies: tuple[str, ...] = ()) -> None:
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
        config = uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=list(proxies),
            timeout_graceful_shutdown=_GRACE_S,
        )
        super().__init__(config)
        self._told = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self._told()
