"""Where connections go."""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from dayzero.adapters.measuring.wire import Place, Wire
from dayzero.adapters.openai_http import Address, Connection, parse_address
from dayzero.core.errors import RemoteError


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One socket address of a server.

    Attributes:
        address: The server's, as it was given.
        family: Address family that is used.
        place: The socket address.
        connect: Begins a connection: plain, or one for TLS.
    """

    address: Address
    family: int
    place: Place
    connect: Callable[[int, Place], Wire]

    def open(self) -> Wire:
        """Begin to connect.

        Raises:
            OSError: It cannot even begin.
        """
        return self.connect(self.family, self.place)


def servers_of(connection: Connection) -> tuple[Server, ...]:
    """Look a server's name up; its addresses in the order in which they are tried.

    Raises:
        InputError: The address is not one of http or https, or the certificates cannot be read.
        RemoteError: The name is not known.
    """
    address = parse_address(connection.url)
    connect = _tls(connection, address) if address.scheme == "https" else Wire
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise RemoteError(
            f"{address} cannot be reached: {error.strerror or error}",
            hint="Check the address; is the name spelled right?",
        ) from error
    return tuple(
        Server(address=address, family=family, place=place, connect=connect)  # type: ignore[arg-type]
        for family, _, _, _, place in found
    )


def _tls(connection: Connection, address: Address) -> Callable[[int, Place], Wire]:
    from dayzero.adapters.measuring.tls import TlsWire, tls_context  # noqa: PLC0415  (few servers need what this loads)

    return partial(TlsWire, context=tls_context(connection.ca_file), host=address.host)
