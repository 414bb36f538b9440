"""Whether the kernel stamps what arrives."""

import contextlib
import socket
import time
from typing import Final

from dayzero.adapters.measuring.wire import SO_TIMESTAMPNS

_ANY: Final = ("127.0.0.1", 0)
_LOOKS: Final = 200
_LOOK_S: Final = 0.001
_FAR_S: Final = 1.0


class Stamping:
    """Has the kernel stamp what arrives, from here on until it is closed.

    The kernel stamps while any socket of the machine asks for it, and begins and ends by work that it puts off: what arrives on
    the first socket that asks, or on one that follows the last, can come without a stamp. So a connection to oneself asks before
    any other does, is seen to get a stamp, and stands as long as others come and go.

    Attributes:
        seen: Whether a stamp was seen.
    """

    __slots__ = ("_ends", "seen")

    def __init__(self) -> None:
        self._ends: tuple[socket.socket, ...] = ()
        self.seen = False
        with contextlib.suppress(
            OSError
        ):  # a machine without a loopback, or a kernel without stamps: reads say it themselves
            self._ends = _to_oneself()
            self.seen = stamps(*self._ends)

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
    with socket.create_server(_ANY, backlog=1) as door:
        far = socket.create_connection(door.getsockname(), timeout=_FAR_S)
        try:
            door.settimeout(_FAR_S)
            near, _ = door.accept()
            near.settimeout(_FAR_S)
            near.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        except OSError:
            far.close()
            raise
    return far, near
