"""TLS over the same raw socket, so that the stamps stay the kernel's."""

import contextlib
import ssl
from pathlib import Path
from typing import Final

from dayzero.adapters.measuring.wire import Place, Received, Wire
from dayzero.core.errors import InputError

_SLICE: Final = 64 * 1024


def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """Trust what the system trusts, or only the certificates of a file.

    Raises:
        InputError: The file holds none.
    """
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise InputError(f"{ca_file} holds no certificates: {error}", hint="Give a PEM file with --ca-file.") from error


class TlsWire(Wire):
    """One TLS connection; what ``receive`` gives is decrypted, its control messages are those of the ciphertext."""

    __slots__ = ("_incoming", "_outgoing", "_tls", "_unsent")

    def __init__(self, family: int, place: Place, *, context: ssl.SSLContext, host: str) -> None:
        super().__init__(family, place)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._unsent = memoryview(b"")
        self.receive = self._receive

    def greet(self) -> bool:
        """Go on with the handshake; true when it is done."""
        with contextlib.suppress(BlockingIOError):
            self._pull()
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self.flush()
            return False
        self.flush()
        return True

    def send(self, content: memoryview) -> int:
        """Encrypt and hand over a slice, unless ciphertext is still waiting."""
        if not self.flush():
            return 0
        taken = self._tls.write(content[:_SLICE])
        self.flush()
        return taken

    def flush(self) -> bool:
        """Hand over ciphertext; says whether the kernel has all of it."""
        while True:
            if not self._unsent:
                self._unsent = memoryview(self._outgoing.read())
            if not self._unsent:
                return True
            taken = super().send(self._unsent)
            if not taken:
                return False
            self._unsent = self._unsent[taken:]

    def _pull(self) -> Received:
        received = self._socket.recvmsg(_SLICE, 64)
        pieces = [received[0]]
        while len(pieces[-1]) == _SLICE:
            with contextlib.suppress(BlockingIOError):
                received = self._socket.recvmsg(_SLICE, 64)
                pieces.append(received[0])
                continue
            break
        for piece in pieces:
            self._incoming.write(piece)
        if not pieces[-1]:
            self._incoming.write_eof()
        return received

    def _receive(self, _size: int, _ancillary: int) -> Received:
        _, ancillary, flags, address = self._pull()
        pieces: list[bytes] = []
        closed = False
        # An end without close_notify ends the connection as one with it does: the response's own framing says what is missing.
        with contextlib.suppress(ssl.SSLWantReadError):
            with contextlib.suppress(ssl.SSLEOFError):
                while piece := self._tls.read(_SLICE):
                    pieces.append(piece)
            closed = True
        if not pieces and not closed:
            raise BlockingIOError  # a part of a record, or one that carries no data
        return b"".join(pieces), ancillary, flags, address
