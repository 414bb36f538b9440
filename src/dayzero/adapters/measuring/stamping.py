"""Whether the kernel stamps what arrives."""

import contextlib
import socket
import time
from typing import Final

from dayzero.adapters.measuring.wire import SO_TIMESTAMPNS

_ANY: Final = ("127.0.0.1", 0)
_LOOKS: Final = 200
_LOOK_S: Final = 0.001
_PATIENCE_S: Final = 1.0


class Stamping:
    """Has the kernel stamp what arrives, from here on until it is closed.

    The kernel stamps while any socket of the machine asks for it, and begins and ends by work that it puts off: what arrives on
    the first socket that asks, or on one that follows the last, can come without a stamp. So a connection to oneself asks before
    any other does, is seen to get a stamp, and stands as long as others come and go.
    """

    __slots__ = ("_ends",)

    def __init__(self) -> None:
        self._ends: tuple[socket.socket, ...] = ()
        # Where there is no loopback, or the kernel does not stamp, the reads themselves say that they have no stamp.
        with contextlib.suppress(OSError):
            self._ends = _to_oneself()
            stamps(*self._ends)

    def close(self) -> None:
        """Ask for stamps no more."""
        for end in self._ends:
            end.close()


def stamps(far: socket.socket, near: socket.socket) -> bool:
    """Send byte after byte until one comes with a stamp, for 0.2 s and a little; says whether one did."""
    for _ in range(_LOOKS):
        far.send(b"\0")
        if near.recvmsg(1, socket.CMSG_SPACE(16))[1]:
            return True
        time.sleep(_LOOK_S)
    return False


def _to_oneself() -> tuple[socket.socket, socket.socket]:
    with contextlib.ExitStack() as stack, socket.create_server(_ANY, backlog=1) as door:
        far = stack.enter_context(socket.create_connection(door.getsockname(), timeout=_PATIENCE_S))
        door.settimeout(_PATIENCE_S)
        near = stack.enter_context(door.accept()[0])
        near.settimeout(_PATIENCE_S)
        near.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        stack.pop_all()
    return far, near
