"""The loop that sends and reads while the window runs."""

import select
import time
from collections.abc import Callable, Sequence
from typing import Final

from dayzero.adapters.measuring.records import Records
from dayzero.adapters.measuring.server import Server
from dayzero.adapters.measuring.stamping import Stamping
from dayzero.adapters.measuring.stream import State, Stream
from dayzero.adapters.measuring.wire import Received, Wire, why
from dayzero.bench.http1 import MalformedResponseError, chunk_opening
from dayzero.bench.model import Request
from dayzero.bench.reads import NO_STAMP, RECORD, Kind

_CONNECT_NS: Final = 10_000_000_000
_MANY: Final = 24  # streams at work, from which on a sleep collects reads instead of one wake-up for each
_PAUSE_S: Final = 0.0006
_LOOK_S: Final = 0.0003
_IDLE_S: Final = 0.02
_SPIN_NS: Final = 60_000
_FULL: Final = 64 * 1024
_CONTROL: Final = 64
_CHUNK_END: Final = b"\r\n"
_NS: Final = 1e9
_READ: Final = int(Kind.READ)
_CROSSED_NS: Final = 20_000_000  # a server closes a connection some time before it says so
_READABLE: Final = select.EPOLLIN
# Told once of what arrives, and not again at the next poll, which is half of what polling costs: a read leaves nothing behind.
_IN: Final = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET
_IN_OR_OUT: Final = select.EPOLLIN | select.EPOLLOUT

Ended = Callable[[Stream, int, str], None]


class Loop:
    """Moves streams along: connects, sends, reads, and finds out when a response is whole or lost.

    Reads carry the kernel's stamp, so that it does not matter how late they are made. What matters is that what came apart
    is read apart: while an answer is awaited, no wait is longer than 0.6 ms.

    Args:
        server: Where connections go.
        records: Takes what was sent and read.
        ended: Called when a request has its answer or has failed, with the instant and the error.
        timeout_s: Seconds after which a request is given up.
        keeps: Whether a connection is used again.

    Attributes:
        at_work: Streams that have a request.
        connections: Connections opened.
        received: Bytes of answers.
        keeps_raw: Whether streams keep what they read until their request has ended.
    """

    def __init__(self, server: Server, records: Records, ended: Ended, *, timeout_s: float, keeps: bool) -> None:
        self.at_work: set[Stream] = set()
        self.connections = self.received = 0
        self.keeps_raw = False
        self._server = server
        self._records = records
        self._ended = ended
        self._timeout_s = timeout_s
        self._keeps = keeps
        self._stamping = Stamping()
        self._poller = select.epoll()
        self._streams: dict[int, Stream] = {}  # by descriptor
        self._poll = 0  # number of the last one
        self._poll_ns = self._quiet_ns = 0  # when it and the one before it began

    def start(self, stream: Stream, request: Request, content: bytes, payload: bytes) -> None:
        """Begin a request on a free stream.

        Args:
            stream: The stream.
            request: The request.
            content: Its bytes.
            payload: What its ``SENT`` record holds.
        """
        stream.begin(request, content, payload)
        self.at_work.add(stream)
        if stream.wire is None:
            self._connect(stream)
        else:
            self._send(stream, stream.wire)

    def step(self, wake_ns: int) -> None:
        """Wait for something to happen, at most until ``wake_ns``, and read it; may come back earlier."""
        left_ns = wake_ns - time.monotonic_ns()
        if left_ns > _SPIN_NS:
            left_s = (left_ns - _SPIN_NS / 2) / _NS
            count = len(self.at_work)
            if count >= _MANY:
                time.sleep(min(_PAUSE_S, left_s))
            else:
                select.select((self._poller,), (), (), min(_LOOK_S if count else _IDLE_S, left_s))
        else:
            while time.monotonic_ns() < wake_ns:
                pass
        self._quiet_ns, self._poll_ns = self._poll_ns, time.monotonic_ns()
        self._poll += 1
        # Room for all of them: a stream that is not reported had nothing to read.
        self._take(self._poller.poll(0, len(self._streams) + 1))

    def give_up(self, now: int) -> None:
        """End the requests whose time is over."""
        for stream in [stream for stream in self.at_work if stream.deadline_ns <= now]:
            if stream.sent_ns:
                self._finish(stream, now, f"timeout: no end of the answer after {self._timeout_s:g} s")
            else:
                self._finish(stream, now, f"timeout: no connection after {_CONNECT_NS / _NS:g} s")

    def standing(self) -> int:
        """Count the connections that stand."""
        return len(self._streams)

    def close(self) -> None:
        """Close every connection; requests that are at work get no end."""
        for stream in tuple(self._streams.values()):
            self._drop(stream)
        self._poller.close()
        self._stamping.close()

    def _take(self, events: Sequence[tuple[int, int]]) -> None:
        """Read each stream once. This is the hot path: of a read that is one whole chunk it looks at nothing but the ends."""
        clock, append, pack = time.monotonic_ns, self._records.parts.append, RECORD.pack
        streams, poll, quiet_ns, keeps_raw = self._streams, self._poll, self._quiet_ns, self.keeps_raw
        received = 0
        before = clock()
        for descriptor, mask in events:
            stream = streams[descriptor]
            if not stream.reading:
                self._turn(stream, mask)
                before = clock()
                continue
            try:
                piece, control, _, _ = stream.receive(_FULL, _CONTROL)
            except BlockingIOError:
                if stream.left:
                    self._send_rest(stream)
                continue
            except OSError as error:
                self._lost(stream, why(error))
                continue
            now = clock()
            if not piece:
                self._closed(stream, now)
                continue
            floor_ns = stream.floor_ns if stream.polled >= poll - 1 else quiet_ns
            length = len(piece)
            append(pack(_READ, stream.number, control[0][2] if control else NO_STAMP, now, floor_ns, length))
            append(piece)
            received += length
            # A read that could have taken more has left nothing behind.
            stream.floor_ns = before if length < _FULL else floor_ns
            stream.polled = poll
            before = now
            if length >= _FULL or mask != _READABLE:
                self._ask_again(stream)
            if keeps_raw:
                stream.raw.append(piece)
            if not (stream.flows and piece.startswith(chunk_opening(length)) and piece.endswith(_CHUNK_END)):
                self._examine(stream, piece, now)
        self.received += received

    def _examine(self, stream: Stream, piece: bytes, now: int) -> None:
        try:
            whole = stream.examine(piece)
        except MalformedResponseError as error:
            self._finish(stream, now, error.message)
            return
        if whole:
            self._finish(stream, now, "")

    def _closed(self, stream: Stream, now: int) -> None:
        try:
            stream.reader.close()
        except MalformedResponseError as error:
            self._lost(stream, error.message)
            return
        self._finish(stream, now, "")

    def _turn(self, stream: Stream, mask: int) -> None:
        """Go on with a stream that is not reading an answer."""
        wire = stream.wire
        if wire is None:
            return
        match stream.state:
            case State.CONNECTING | State.GREETING:
                self._greet(stream, wire)
            case State.SENDING if mask & ~select.EPOLLOUT:
                self._interrupted(stream, wire)
            case State.SENDING:
                self._push(stream, wire)
            case _:
                self._idle(stream)

    def _interrupted(self, stream: Stream, wire: Wire) -> None:
        """Read an answer that does not wait for the whole request, or the end of the connection."""
        try:
            received = wire.receive(_FULL, _CONTROL)
        except BlockingIOError:  # TLS has its own affairs
            self._push(stream, wire)
            return
        except OSError as error:
            self._sent(stream)
            self._lost(stream, why(error))
            return

        def once(_size: int, _control: int) -> Received:
            stream.receive = wire.receive
            return received

        stream.receive = once
        self._sent(stream)
        self._take(((wire.fileno(), _READABLE),))

    def _connect(self, stream: Stream) -> None:
        stream.reused = False
        stream.opened_ns = time.monotonic_ns()
        stream.deadline_ns = stream.opened_ns + _CONNECT_NS
        stream.enter(State.CONNECTING)
        try:
            stream.wire = self._server.open()
        except OSError as error:
            self._finish(stream, time.monotonic_ns(), why(error))
            return
        stream.receive = stream.wire.receive
        self._streams[stream.wire.fileno()] = stream
        self._poller.register(stream.wire.fileno(), _IN_OR_OUT)
        stream.writable = True

    def _greet(self, stream: Stream, wire: Wire) -> None:
        try:
            if stream.state is State.CONNECTING:
                wire.check()
                stream.enter(State.GREETING)
            done = wire.greet()
        except OSError as error:
            self._finish(stream, time.monotonic_ns(), why(error))
            return
        if done:
            self.connections += 1
            self._records.add(Kind.OPENED, stream.number, stream.opened_ns, time.monotonic_ns())
            self._send(stream, wire)
        else:
            self._poll_for(stream, wire, writable=not wire.flush())

    def _send(self, stream: Stream, wire: Wire) -> None:
        stream.enter(State.SENDING)
        stream.sent_ns = stream.floor_ns = time.monotonic_ns()
        stream.polled = self._poll
        stream.deadline_ns = stream.sent_ns + int(self._timeout_s * _NS)
        self._push(stream, wire)

    def _push(self, stream: Stream, wire: Wire) -> None:
        try:
            while stream.left and (taken := wire.send(stream.left)):
                stream.left = stream.left[taken:]
            whole = not stream.left and wire.flush()
        except OSError:
            whole = True  # what the server said before it closed can still be read; so can that it closed
        if whole:
            self._sent(stream)
        else:
            self._poll_for(stream, wire, writable=True)

    def _sent(self, stream: Stream) -> None:
        self._records.add(Kind.SENT, stream.number, stream.sent_ns, time.monotonic_ns(), stream.payload)
        stream.enter(State.READING)
        if stream.wire is not None and not stream.left:
            self._poll_for(stream, stream.wire, writable=False)

    def _send_rest(self, stream: Stream) -> None:
        """Go on with a request whose answer has begun: that may have been an interim one."""
        wire = stream.wire
        if wire is None:
            return
        try:
            stream.left = stream.left[wire.send(stream.left) :]
            more = bool(stream.left) or not wire.flush()
        except OSError:
            more = False  # what the server said before it closed can still be read
        self._poll_for(stream, wire, writable=more)

    def _ask_again(self, stream: Stream) -> None:
        """Have the next poll tell what a read may have left behind: more bytes, or the end of the connection."""
        if stream.wire is not None and not stream.writable:
            self._poller.modify(stream.wire.fileno(), _IN)

    def _poll_for(self, stream: Stream, wire: Wire, *, writable: bool) -> None:
        if stream.writable != writable:
            stream.writable = writable
            self._poller.modify(wire.fileno(), _IN_OR_OUT if writable else _IN)

    def _idle(self, stream: Stream) -> None:
        """Close a connection that says something although it was asked nothing; mostly it says that it is closed."""
        try:
            stream.receive(_FULL, _CONTROL)
        except BlockingIOError:
            return
        except OSError:
            pass
        self._drop(stream)

    def _lost(self, stream: Stream, error: str) -> None:
        """Send once more what met a connection that the server had closed; anything else has failed.

        Only a loss within about a round trip is that; a server that takes a request and gives it up later fails it.
        """
        now = time.monotonic_ns()
        trip_ns = stream.wire.round_trip_ns() if stream.wire is not None else 0
        crossed = now - stream.sent_ns <= _CROSSED_NS + 2 * trip_ns
        if stream.reused and not stream.answered and crossed:
            self._drop(stream)
            stream.expect()
            self._connect(stream)
        else:
            self._finish(stream, now, error)

    def _finish(self, stream: Stream, now: int, error: str) -> None:
        if not stream.sent_ns:
            self._records.add(Kind.SENT, stream.number, 0, 0, stream.payload)
        elif stream.state is State.SENDING:
            self._records.add(Kind.SENT, stream.number, stream.sent_ns, now, stream.payload)
        self._records.add(Kind.END, stream.number, now, 0, error.encode())
        if error or stream.left or not stream.reader.keeps_alive or not self._keeps:
            self._drop(stream)
        stream.enter(State.IDLE)
        self.at_work.discard(stream)
        self._ended(stream, now, error)

    def _drop(self, stream: Stream) -> None:
        wire, stream.wire = stream.wire, None
        if wire is not None:
            del self._streams[wire.fileno()]
            self._poller.unregister(wire.fileno())
            wire.close()
