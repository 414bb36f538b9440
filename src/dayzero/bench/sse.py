"""Split a byte stream into server-sent events, however it was cut on its way."""

from dataclasses import dataclass, field

from dayzero.core.errors import RemoteError

_LARGEST_EVENT_BYTES = 16 * 1024 * 1024
_LF, _CR = b"\n", b"\r"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # may stand before the first line


@dataclass(slots=True)
class SseSplitter:
    """Gives the ``data`` of each event as soon as the blank line after it has come.

    Lines may end in LF, CRLF or CR, also mixed. Comments, other fields and events without data are dropped; several data
    lines of one event are joined by LF. Which events come out does not depend on how the bytes were cut.
    """

    _line: bytearray = field(default_factory=bytearray)
    _data: list[bytes] = field(default_factory=list)
    _data_bytes: int = 0  # with their line ends
    _after_cr: bool = False

    @property
    def idle(self) -> bool:
        """Whether the last event was whole and nothing came after it."""
        return not (self._line or self._data or self._after_cr)

    def feed(self, received: bytes) -> list[bytes]:
        """Take the next bytes, and give the events that they complete.

        Raises:
            RemoteError: An event is larger than 16 MiB.
        """
        if (
            received.find(_LF) == len(received) - 2
            and received[-1:] == _LF
            and received[:6] == b"data: "
            and _CR not in received
            and not self._line
            and not self._data
        ):
            # Most pieces of a stream hold one whole event of one line and nothing else.
            self._after_cr = False
            return [received[6:-2]]
        if self._after_cr and received.startswith(_LF):
            received = received[1:]
            self._after_cr = False
        if received:
            self._after_cr = received.endswith(_CR)
        *lines, rest = received.replace(b"\r\n", _LF).replace(_CR, _LF).split(_LF)
        events: list[bytes] = []
        for line in lines:
            self._line += line
            self._end_line(events)
        self._line += rest
        if len(self._line) + self._data_bytes > _LARGEST_EVENT_BYTES:
            raise RemoteError("the server sent an event larger than 16 MiB", hint="Check what answers at this address.")
        return events

    def close(self) -> list[bytes]:
        """Give the event that the end of the stream cut off before its blank line, where there is one."""
        events: list[bytes] = []
        if self._line:
            self._end_line(events)
        if self._data:
            self._end_line(events)
        return events

    def _end_line(self, events: list[bytes]) -> None:
        line = bytes(self._line)
        self._line.clear()
        if not line:
            if self._data:
                events.append(b"\n".join(self._data))
                self._data.clear()
                self._data_bytes = 0
            return
        name, _, value = line.partition(b":")
        if name.removeprefix(_BYTE_ORDER_MARK) == b"data":
            self._data.append(value.removeprefix(b" "))
            self._data_bytes += len(value) + 1
