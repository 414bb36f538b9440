"""One stream of requests: its connection, and how far its request has come."""

from enum import Enum, auto

from dayzero.adapters.measuring.wire import Receive, Received, Wire
from dayzero.bench.http1 import ResponseReader
from dayzero.bench.model import Request


class State(Enum):
    """What a stream is about."""

    IDLE = auto()
    CONNECTING = auto()
    GREETING = auto()
    SENDING = auto()
    READING = auto()


class Stream:
    """A stream; the loop moves it along.

    Attributes:
        wire: Its connection, ``None`` when it has none.
        receive: The connection's.
        state: What it is about; ``reading`` says the same of one state, for the loop.
        writable: Whether it is polled for room to write.
        number, request, content: The request, its number and its bytes.
        payload: What its ``SENT`` record holds.
        left: Bytes of it that the kernel has not taken.
        reused: Whether it goes out on a connection that has carried another.
        answered: Whether a byte of the response has come.
        reader: Finds the end of the response; it is shown every read but those that are one whole chunk each.
        flows: Whether the next byte begins a chunk; only then can a read be told to be one.
        raw: All reads of the response, kept only where the plan may ask for its text.
        floor_ns: The latest instant at which nothing was waiting on the socket, unless a later poll says so.
        polled: Number of the poll after which it was last read.
        deadline_ns: When it is given up.
        opened_ns, sent_ns: When connecting and sending began.
    """

    __slots__ = (
        "answered",
        "content",
        "deadline_ns",
        "floor_ns",
        "flows",
        "left",
        "number",
        "opened_ns",
        "payload",
        "polled",
        "raw",
        "reader",
        "reading",
        "receive",
        "request",
        "reused",
        "sent_ns",
        "state",
        "wire",
        "writable",
    )

    def __init__(self) -> None:
        self.wire: Wire | None = None
        self.receive: Receive = _no_wire
        self.state = State.IDLE
        self.reading = self.writable = False
        self.number = 0
        self.request: Request | None = None
        self.content = self.payload = b""
        self.left = memoryview(b"")
        self.reader = ResponseReader()
        self.reused = self.answered = self.flows = False
        self.raw: list[bytes] = []
        self.floor_ns = self.polled = self.deadline_ns = self.opened_ns = self.sent_ns = 0

    def begin(self, request: Request, content: bytes, payload: bytes) -> None:
        """Take the next request; nothing is sent yet."""
        self.request, self.number, self.content, self.payload = request, request.number, content, payload
        self.reused = self.wire is not None
        self.expect()

    def expect(self) -> None:
        """Be ready for a response from its first byte on."""
        self.reader = ResponseReader()
        self.answered = self.flows = False
        self.raw.clear()
        self.left = memoryview(self.content)
        self.sent_ns = 0

    def enter(self, state: State) -> None:
        """Go over to another state."""
        self.state = state
        self.reading = state is State.READING

    def examine(self, piece: bytes) -> bool:
        """Show the reader what was read; true when the response is whole.

        Raises:
            MalformedResponseError: It is no HTTP response.
        """
        self.answered = True
        self.flows = False  # whatever goes wrong
        self.reader.skip(piece)
        self.flows = self.reader.between_chunks
        return self.reader.complete


def _no_wire(_size: int, _ancillary: int) -> Received:
    raise BlockingIOError
