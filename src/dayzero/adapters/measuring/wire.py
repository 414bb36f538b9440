"""Raw non-blocking connections whose reads carry the kernel's receive stamp."""

import contextlib
import errno
import socket
import struct
from collections.abc import Callable
from typing import Final, TypeAlias

# Linux, asm-generic/socket.h: SO_TIMESTAMPNS_OLD; the control message holds a struct timespec of two 64-bit integers.
SO_TIMESTAMPNS: Final = 35

Received: TypeAlias = tuple[bytes, list[tuple[int, int, bytes]], int, object]
Receive: TypeAlias = Callable[[int, int], Received]
Place: TypeAlias = tuple[str, int] | tuple[str, int, int, int]

# Linux, linux/tcp.h: tcpi_rtt of struct tcp_info, a smoothed round trip in microseconds.
_ROUND_TRIP: Final = struct.Struct("=68xI")
_NS_PER_US: Final = 1000
_CONNECTING: Final = (0, errno.EINPROGRESS)


class Wire:
    """One plain connection.

    Attributes:
        receive: ``socket.recvmsg`` of it: (bytes, control messages, flags, address); ``b""`` when the server has closed it.
    """

    __slots__ = ("_socket", "receive")

    def __init__(self, family: int, place: Place) -> None:
        """Begin to connect; the socket is writable when that has ended.

        Raises:
            OSError: It cannot even begin.
        """
        self._socket = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError):  # without kernel stamps the lag is unknown, and said to be
            self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.receive: Receive = self._socket.recvmsg
        code = self._socket.connect_ex(place)
        if code not in _CONNECTING:
            self._socket.close()
            raise OSError(code, errno.errorcode.get(code, "connect"))

    def fileno(self) -> int:
        """Give the descriptor to poll."""
        return self._socket.fileno()

    def check(self) -> None:
        """Learn how connecting ended.

        Raises:
            OSError: There is no connection.
        """
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, errno.errorcode.get(code, "connect"))

    def greet(self) -> bool:
        """Say whether requests can be sent; a plain connection needs no handshake."""
        return True

    def send(self, content: memoryview) -> int:
        """Hand bytes to the kernel; gives how many it took.

        Raises:
            OSError: The connection is gone.
        """
        try:
            return self._socket.send(content)
        except BlockingIOError:
            return 0

    def flush(self) -> bool:
        """Say whether the kernel has all that ``send`` took."""
        return True

    def round_trip_ns(self) -> int:
        """Give the time to the server and back, as the kernel knows it; 0 where it does not."""
        try:
            told = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _ROUND_TRIP.size)
            return int(_ROUND_TRIP.unpack(told)[0]) * _NS_PER_US
        except (OSError, struct.error):
            return 0

    def close(self) -> None:
        """Close it; nothing is waited for."""
        self._socket.close()


def why(error: OSError) -> str:
    """Word a failed connection for a row."""
    text, _, of_tls = (error.strerror or str(error) or type(error).__name__).partition(" (_ssl.c")
    name = "" if of_tls else errno.errorcode.get(error.errno or 0, "")  # an error of TLS has numbers of its own
    return f"{type(error).__name__}: {text}" + (f" ({name})" if name and name != text else "")
