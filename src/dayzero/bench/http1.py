"""Read one HTTP/1.1 response out of the bytes of a connection, however they were cut on their way.

RFC 9112 as far as a client of one request at a time needs it: a head (informational ones are skipped), and a body that is
chunked, counted or ended by the close. Lines of a head may end in a bare LF (section 2.2); chunk framing has CRLF only.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

from dayzero.core.errors import RemoteError

_LARGEST_HEAD: Final = 64 * 1024
_LONGEST_SIZE_LINE: Final = 4 * 1024
_SHORT_SIZE_LINE: Final = 17  # of a size alone, with its line end
_QUOTE: Final = 60
_CRLF: Final = b"\r\n"
_EVENT: Final = b"data: "
_EVENT_END: Final = b"\n\n\r\n"  # of an event, and of the chunk that it is alone in
_NEVER: Final = b"\n"  # no chunk begins so

_STATUS_LINE: Final = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [^\r\n]*)?")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*?)[ \t]*")
_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?")
_SIZE_ALONE: Final = re.compile(rb"[0-9A-Fa-f]{1,15}")
_LENGTH: Final = re.compile(r"[0-9]{1,18}")
_SWITCHING: Final = 101
_FIRST_FINAL: Final = 200
_WITHOUT_BODY: Final = (204, 304)


class MalformedResponseError(RemoteError):
    """What came is no HTTP/1.1 response, or it was cut off.

    Attributes:
        reason: What is wrong; the same however the bytes were cut.
        pieces: Body pieces of the same ``feed`` that came before the fault.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"malformed response: {reason}", hint="Check what answers at this address.")
        self.reason = reason
        self.pieces: list[bytes] = []


class ResponseReader:
    """Takes the bytes of one response, and gives those of its body.

    Attributes:
        status: Its final status; 0 until its head is whole.
        headers: Its fields by lower-case name, whole with ``status``; a field that came twice is joined by a comma.
        complete: Whether all of it has come.
        keeps_alive: Whether the connection can carry another request after it; false until its head is whole.
    """

    __slots__ = (
        "_announced",
        "_between_chunks",
        "_head_bytes",
        "_left",
        "_line",
        "_sizes",
        "_step",
        "_version",
        "complete",
        "headers",
        "keeps_alive",
        "status",
    )

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.complete = False
        self.keeps_alive = False
        self._line = bytearray()  # the beginning of a line whose end has not come
        self._head_bytes = 0
        self._version, self._announced = b"", 0
        self._left = 0  # bytes of the chunk, or of the counted body, that have not come
        self._between_chunks = False
        self._sizes: dict[bytes, int] = {}
        # A plain function, not a bound method: nothing may point back to itself where the collector is off.
        self._step: Callable[[ResponseReader, bytes, int, list[bytes]], int] = ResponseReader._take_status_line

    @property
    def between_chunks(self) -> bool:
        """Whether the next byte begins a chunk; what is one whole chunk (:func:`chunk_opening`) need not be shown then."""
        return self._between_chunks and not self._line

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes, and give the pieces of the body among them, in order and none of them empty.

        Raises:
            MalformedResponseError: They cannot belong to a response, or come after its end.
        """
        pieces: list[bytes] = []
        at = start = 0
        while (after := self._past_chunk(data, at)) > at:
            start = data.find(_CRLF, at) + len(_CRLF)
            pieces.append(data[start : after - len(_CRLF)])
            at = after
        self._take_rest(data, at, pieces)
        return pieces

    def skip(self, data: bytes) -> None:
        """Take the next bytes as :meth:`feed` does, without the cost of giving the pieces of the body.

        Raises:
            MalformedResponseError: They cannot belong to a response, or come after its end.
        """
        at = 0
        while (after := self._past_chunk(data, at)) > at:
            at = after
        self._take_rest(data, at, [])

    def events_alone(self, pieces: Iterable[bytes]) -> list[bytes]:
        """Take the reads at the beginning of some that are one whole chunk each, and nothing in it but one server-sent event.

        That is what most reads of a stream are.

        Returns:
            The data of the events, none of them empty, as many as were taken.
        """
        events: list[bytes] = []
        if not self.between_chunks:
            return events
        for piece in pieces:
            opening, begin, end = _event_alone(len(piece))
            if not (
                piece.startswith(opening)
                and piece.find(b"\n", begin) == end
                and piece.endswith(_EVENT_END)
                and piece.find(b"\r", begin) == end + 2
                and begin < end
            ):
                break
            events.append(piece[begin:end])
        return events

    def close(self) -> None:
        """Learn that the connection was closed: that ends a body without a length, and cuts off anything else.

        Raises:
            MalformedResponseError: The response is not whole.
        """
        if self.complete:
            return
        if self._step is ResponseReader._take_until_close:
            self._end()
            return
        if not (self.status or self._head_bytes or self._line):
            raise MalformedResponseError("the connection was closed before any answer")
        where = "its body" if self.status else "its head"
        raise MalformedResponseError(f"the connection was closed in the middle of {where}")

    def _past_chunk(self, data: bytes, at: int) -> int:
        """Say where the chunk ends that stands whole at a place; the place itself where none does."""
        line_end = data.find(_CRLF, at, at + _SHORT_SIZE_LINE)
        if line_end < 0 or self._line or not self._between_chunks:
            return at
        written = data[at:line_end]
        size = self._sizes.get(written, 0)
        if not size:
            if not _SIZE_ALONE.fullmatch(written):
                return at
            size = self._sizes[written] = int(written, 16)  # a stream has few, and reading one costs more than a look
        end = line_end + len(_CRLF) + size
        return end + len(_CRLF) if size and data[end : end + len(_CRLF)] == _CRLF else at

    def _take_rest(self, data: bytes, at: int, pieces: list[bytes]) -> None:
        try:
            while at < len(data):
                at = self._step(self, data, at, pieces)
        except MalformedResponseError as error:
            error.pieces = pieces
            raise

    def _whole_line(self, data: bytes, at: int, longest: int, what: str) -> tuple[bytes | None, int]:
        """Give the line that ends in these bytes, with its LF, and where the next one begins."""
        end = data.find(b"\n", at) + 1
        self._line += data[at : end or len(data)]
        if len(self._line) > longest:
            raise MalformedResponseError(f"{what} is too long")
        if not end:
            return None, len(data)
        line = bytes(self._line)
        self._line.clear()
        return line, end

    def _head_line(self, data: bytes, at: int) -> tuple[bytes | None, int]:
        line, end = self._whole_line(data, at, _LARGEST_HEAD - self._head_bytes, "its head")
        if line is None:
            return None, end
        self._head_bytes += len(line)
        return line.removesuffix(b"\n").removesuffix(b"\r"), end

    def _take_status_line(self, data: bytes, at: int, _pieces: list[bytes]) -> int:
        line, end = self._head_line(data, at)
        if line is not None:
            found = _STATUS_LINE.fullmatch(line)
            if not found:
                raise MalformedResponseError(f"not a status line: {_quote(line)}")
            self._version, self._announced = found[1], int(found[2])
            self._step = ResponseReader._take_field
        return end

    def _take_field(self, data: bytes, at: int, _pieces: list[bytes]) -> int:
        line, end = self._head_line(data, at)
        if line:
            self._add_field(line)
        elif line is not None:
            self._begin_body()
        return end

    def _add_field(self, line: bytes) -> None:
        found = _FIELD.fullmatch(line)
        if not found:
            raise MalformedResponseError(f"not a header field: {_quote(line)}")
        name, value = found[1].decode("ascii").lower(), found[2].decode("latin-1")
        self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value

    def _begin_body(self) -> None:
        if self._announced < _FIRST_FINAL:
            self._skip_informational()
            return
        self.status = self._announced
        asked = {token.strip().lower() for token in self.headers.get("connection", "").split(",")}
        self.keeps_alive = "keep-alive" in asked if self._version == b"0" else "close" not in asked
        coding, length = self.headers.get("transfer-encoding"), self.headers.get("content-length")
        if self.status in _WITHOUT_BODY:
            self._end()
        elif coding is not None:
            if coding.lower() != "chunked":
                raise MalformedResponseError(f"transfer-encoding {coding[:_QUOTE]!r} is not understood")
            self._begin_chunk()
        elif length is not None:
            self._left = _content_length(length)
            self._step = ResponseReader._take_counted
            if not self._left:
                self._end()
        else:
            self.keeps_alive = False
            self._step = ResponseReader._take_until_close

    def _skip_informational(self) -> None:
        if self._announced == _SWITCHING:
            raise MalformedResponseError("it switches protocols, which was not asked")
        self.headers, self._head_bytes = {}, 0
        self._step = ResponseReader._take_status_line

    def _take_until_close(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        pieces.append(data[at:])
        return len(data)

    def _take_counted(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        piece = data[at : at + self._left]
        pieces.append(piece)
        self._left -= len(piece)
        if not self._left:
            self._end()
        return at + len(piece)

    def _begin_chunk(self) -> None:
        self._between_chunks = True
        self._step = ResponseReader._take_size

    def _take_size(self, data: bytes, at: int, _pieces: list[bytes]) -> int:
        line, end = self._whole_line(data, at, _LONGEST_SIZE_LINE, "a chunk's size line")
        if line is None:
            return end
        size = line.removesuffix(_CRLF)
        found = _SIZE.fullmatch(size)
        if not found or size is line:
            raise MalformedResponseError(f"not a chunk size: {_quote(size)}")
        self._between_chunks = False
        self._left = int(found[1], 16)
        self._head_bytes = 0
        self._step = ResponseReader._take_chunk if self._left else ResponseReader._take_trailer
        return end

    def _take_chunk(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        piece = data[at : at + self._left]
        pieces.append(piece)
        self._left -= len(piece)
        if not self._left:
            self._step = ResponseReader._take_chunk_end
        return at + len(piece)

    def _take_chunk_end(self, data: bytes, at: int, _pieces: list[bytes]) -> int:
        missing = len(_CRLF) - len(self._line)
        self._line += data[at : at + missing]
        if len(self._line) == len(_CRLF):
            if self._line != _CRLF:
                raise MalformedResponseError(
                    f"a chunk is followed by {_quote(bytes(self._line))} instead of a line end"
                )
            self._line.clear()
            self._begin_chunk()
        return at + missing

    def _take_trailer(self, data: bytes, at: int, _pieces: list[bytes]) -> int:
        line, end = self._head_line(data, at)
        if line:
            if not _FIELD.fullmatch(line):
                raise MalformedResponseError(f"not a trailer field: {_quote(line)}")
        elif line is not None:
            self._end()
        return end

    def _end(self) -> None:
        self.complete = True
        self._step = ResponseReader._refuse_surplus

    def _refuse_surplus(self, _data: bytes, _at: int, _pieces: list[bytes]) -> int:
        self.keeps_alive = False
        raise MalformedResponseError("bytes came after its end")


@cache  # no read is longer than 64 KiB
def chunk_opening(length: int) -> bytes:
    """Give the size line of the chunk that takes so many bytes in all: what begins with it and ends in CRLF is that chunk.

    Only the usual spelling is known, and never the last chunk, which is empty: other bytes must be read to be understood.
    """
    for digits in range(1, length):
        size = length - digits - 2 * len(_CRLF)
        written = b"%x" % size if size > 0 else b""
        if len(written) <= digits:
            return written + _CRLF if len(written) == digits else _NEVER
    return _NEVER


@cache  # no read is longer than 64 KiB
def _event_alone(length: int) -> tuple[bytes, int, int]:
    """Give what so many bytes begin with when they are one whole chunk of one event, and where its data begin and end."""
    opening = chunk_opening(length) + _EVENT
    return opening, len(opening), length - len(_EVENT_END)


def _content_length(text: str) -> int:
    values = {value.strip() for value in text.split(",")}
    if len(values) != 1 or not _LENGTH.fullmatch(text := values.pop()):
        raise MalformedResponseError(f"content-length {text[:_QUOTE]!r} is no length")
    return int(text)


def _quote(line: bytes) -> str:
    return repr(line[:_QUOTE].decode("latin-1"))
