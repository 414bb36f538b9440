"""Make rows of raw reads, after the window. The format of the reads: :mod:`dayzero.bench.reads`.

Only requests in flight hold state, and their reads are looked at once. The stamp of an event is that of the read that
completed it. An event that is not the last one with content in its read arrived at some time before it, which the row says
(``censored``) where the read can have lasted long enough to matter.
"""

import struct
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Final

from dayzero.bench.answer import Answer, Read
from dayzero.bench.clocks import Clocks
from dayzero.bench.model import ReadsHeader, Row, Usage
from dayzero.bench.reads import Kind, Sent, decode_header, decode_sent
from dayzero.bench.stamps import Stamps
from dayzero.core.errors import EvidenceError

_RECORD: Final = struct.Struct("<B3xIqqqqI")  # reads.RECORD with the two halves of its timespec told apart
_LONGEST: Final = 1 << 28
_TOGETHER: Final = 16  # reads that an answer takes at once
_MOST_LAGS: Final = 100_000
_NS_PER_S: Final = 1_000_000_000
_NS_PER_US: Final = 1_000
_US_PER_MS: Final = 1_000
_SENT, _READ, _END, _CLOCK, _OPENED, _RESUMED = map(int, Kind)

ReadUsage = Callable[[Mapping[str, object]], Usage | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What a file of raw reads says.

    Attributes:
        header: What was measured.
        rows: One a request that ended, in the order in which they were sent.
        interrupted: Requests that were in flight when the client stopped; they have no row.
        holes: (from, until) ns between the last record of a client that stopped and the first of the one that went on.
        lag_ms: How much later than the kernel the client had each read, sorted; see :class:`dayzero.bench.model.ClientLoad`.
            Of a read without a kernel stamp, the most that it can have been, once for each of its chunks.
        stamped: Whether the kernel stamped every read.
        clock_moved_ns: The most that the real-time clock moved against the monotonic one between two looks.
        set_aside: Bytes of the record that the end of the file cut off.
    """

    header: ReadsHeader
    rows: tuple[Row, ...]
    interrupted: int
    holes: tuple[tuple[int, int], ...]
    lag_ms: tuple[float, ...]
    stamped: bool
    clock_moved_ns: int
    set_aside: int


def parse(pieces: Iterable[bytes], usage: ReadUsage, *, tokens_without_text: bool = False) -> Parsed:
    """Parse a whole file.

    Args:
        pieces: Its bytes, cut anywhere.
        usage: Reads token counts out of a chunk, as the endpoint's dialect writes them.
        tokens_without_text: As the endpoint's dialect says.

    Raises:
        EvidenceError: It is no file of raw reads.
    """
    parser = Parser(usage, tokens_without_text=tokens_without_text)
    last_attempt = {row.number: row for row in parser.rows(pieces)}
    return Parsed(
        header=parser.header,
        rows=tuple(sorted(last_attempt.values(), key=lambda row: (row.sent_ns or row.end_ns, row.number))),
        interrupted=parser.interrupted,
        holes=tuple(parser.holes),
        lag_ms=parser.lag_ms(),
        stamped=parser.stamped,
        clock_moved_ns=parser.clock_moved_ns,
        set_aside=parser.set_aside,
    )


class _Flight:
    """A request between its ``SENT`` and its ``END``."""

    __slots__ = (
        "answer",
        "end_ns",
        "held",
        "hole_ns",
        "lag_ns",
        "new_connection",
        "sent",
        "sent_by_ns",
        "sent_ns",
        "stamped",
    )

    def __init__(self, sent: Sent, answer: Answer, sent_ns: int, sent_by_ns: int, *, new_connection: bool) -> None:
        self.sent = sent
        self.sent_ns, self.sent_by_ns = sent_ns, sent_by_ns
        self.new_connection = new_connection
        self.answer = answer
        self.held: list[Read] = []  # reads that the answer has not taken yet
        self.stamped = True  # by the kernel, every read
        self.lag_ns = 0
        self.end_ns = 0
        self.hole_ns = 0  # before it was sent


class Parser:
    """Parses one file, row by row.

    Attributes:
        header, interrupted, holes, stamped, clock_moved_ns, set_aside: As in :class:`Parsed`, once all rows were taken.
    """

    header: ReadsHeader

    def __init__(self, usage: ReadUsage, *, tokens_without_text: bool = False) -> None:
        self._tokens_without_text = tokens_without_text
        self.interrupted = 0
        self.stamped = True
        self.set_aside = 0
        self._usage = usage
        self.holes: list[tuple[int, int]] = []
        self._hole_ns = 0  # of those that no request was sent after yet
        self._last_ns = 0  # of the last record
        self._clocks = Clocks()
        self._flights: dict[int, _Flight] = {}
        self._opened: set[int] = set()
        self._ended: list[_Flight] = []  # they wait for the next look at the clocks
        self._lags_us: Counter[int] = Counter()  # how many reads had which

    @property
    def clock_moved_ns(self) -> int:
        """The most that the real-time clock was seen to move."""
        return self._clocks.moved_ns

    def rows(self, pieces: Iterable[bytes]) -> Iterator[Row]:
        """Give each row as soon as it can be made; in the order in which the requests ended.

        Raises:
            EvidenceError: It is no file of raw reads.
        """
        records = _Records(self._after_header(iter(pieces)), self._read)
        for kind, number, real_ns, user_ns, floor_ns, payload in records:
            if kind == _END:
                self._end(number, user_ns, payload)
            elif kind == _SENT:
                self._drop(number)
                opened = number in self._opened
                self._opened.discard(number)
                answer = Answer(tokens_without_text=self._tokens_without_text)
                flight = _Flight(decode_sent(payload), answer, user_ns, floor_ns, new_connection=opened)
                flight.hole_ns, self._hole_ns = self._hole_ns, 0
                self._flights[number] = flight
            elif kind == _OPENED:
                self._opened.add(number)
            else:
                if kind == _CLOCK:
                    self._clocks.look(real_ns=real_ns, monotonic_ns=user_ns, bracket_ns=floor_ns)
                yield from self._finished()
                if kind == _RESUMED:
                    self._resume(self._last_ns or user_ns, user_ns)
            self._last_ns = user_ns
        yield from self._finished()
        self.interrupted = len(self._flights)
        for number in tuple(self._flights):
            self._drop(number)
        self.set_aside = records.set_aside

    def lag_ms(self) -> tuple[float, ...]:
        """Give the sample of lags, sorted, to the microsecond; the largest is always in it."""
        total = sum(self._lags_us.values())
        every = -(-total // _MOST_LAGS)
        sample: list[float] = []
        seen = -total % every if every else 0
        for lag_us, count in sorted(self._lags_us.items()):
            taken = (seen + count) // every - seen // every
            sample += repeat(max(lag_us, 0) / _US_PER_MS, taken)
            seen += count
        return tuple(sample)

    def _after_header(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        line = b""
        while b"\n" not in line and (piece := next(pieces, None)) is not None:
            line += piece
        line, _, begun = line.partition(b"\n")
        self.header = decode_header(line)
        yield begun
        yield from pieces

    def _resume(self, since_ns: int, until_ns: int) -> None:
        """Begin anew where another client went on; what was in flight is sent again."""
        self._clocks.forget()
        self.holes.append((since_ns, until_ns))
        self._hole_ns += until_ns - since_ns + sum(flight.hole_ns for flight in self._flights.values())
        for number in tuple(self._flights):
            self._drop(number)

    def _drop(self, number: int) -> None:
        """Forget a request that has no end; its reads were late or not all the same."""
        if flight := self._flights.pop(number, None):
            self._take(flight)

    def _read(self, number: int, real_ns: int, user_ns: int, floor_ns: int, data: bytes) -> None:
        self._last_ns = user_ns
        flight = self._flights.get(number)
        if flight is None:
            return
        if not (real_ns and self._clocks.offset_ns):
            self._take(flight)
            self._read_unstamped(flight, user_ns, floor_ns, data)
            return
        held = flight.held
        held.append((data, real_ns - self._clocks.offset_ns, floor_ns, user_ns))
        if len(held) >= _TOGETHER:
            self._take(flight)

    def _take(self, flight: _Flight) -> None:
        """Have the answer take the reads that are held for it."""
        held = flight.held
        if not held:
            return
        lags_ns = [user_ns - stamp_ns for _, stamp_ns, _, user_ns in held]
        flight.lag_ns = max(flight.lag_ns, *lags_ns)
        self._lags_us.update([lag_ns // _NS_PER_US for lag_ns in lags_ns])
        flight.answer.take_all(held)
        held.clear()

    def _read_unstamped(self, flight: _Flight, user_ns: int, floor_ns: int, data: bytes) -> None:
        """Take a read that can have come at any time after the socket was last known to be empty.

        Its lag is in its stamps, so it counts once for each chunk: a late read holds many.
        """
        flight.stamped = self.stamped = False
        before = len(flight.answer.content_ns)
        flight.answer.take(data, user_ns, floor_ns)
        self._lags_us[(user_ns - floor_ns) // _NS_PER_US] += max(len(flight.answer.content_ns) - before, 1)

    def _end(self, number: int, user_ns: int, error: bytes) -> None:
        flight = self._flights.pop(number, None)
        if flight is None:
            return
        self._take(flight)
        flight.answer.end(error.decode(errors="replace"))
        flight.end_ns = user_ns
        self._ended.append(flight)

    def _finished(self) -> Iterator[Row]:
        for flight in self._ended:
            yield self._row(flight)
        self._ended.clear()

    def _row(self, flight: _Flight) -> Row:
        sent, answer = flight.sent, flight.answer
        single = [answer.first_byte_ns, answer.first_event_ns, answer.answer_ns, answer.completed_ns]
        content_ns = answer.content_ns
        if flight.stamped:
            content_ns = self._clocks.mend(content_ns)
            mended = iter(self._clocks.mend(array("q", filter(None, single))))
            single = [next(mended) if stamp else 0 for stamp in single]
        first_byte_ns, first_event_ns, answer_ns, completed_ns = single
        return Row(
            number=sent.number,
            cell=sent.cell,
            phase=sent.phase,
            index=sent.index,
            input_tokens=sent.input_tokens,
            output_tokens=sent.output_tokens,
            exact=sent.exact,
            session=sent.session,
            turn=sent.turn,
            due_ns=flight.sent_ns if sent.due_ns is None else sent.due_ns,
            sent_ns=flight.sent_ns,
            sent_by_ns=flight.sent_by_ns,
            first_byte_ns=first_byte_ns,
            first_event_ns=first_event_ns,
            content_ns=Stamps(content_ns),
            answer_ns=answer_ns,
            censored=tuple(answer.censored),
            end_ns=flight.end_ns if answer.error or not completed_ns else completed_ns,
            lag_ns=flight.lag_ns if flight.stamped and answer.status else -1,
            new_connection=flight.new_connection,
            status=answer.status,
            usage=answer.usage(self._usage),
            reasoning_chunks=answer.reasoning_chunks,
            error=answer.error,
            hole_ns=flight.hole_ns,
        )


class _Records:
    """The records that follow the header.

    Args:
        pieces: Their bytes, cut anywhere.
        read: Takes number, real-time stamp, ``user_ns``, ``floor_ns`` and payload of each ``READ``, as it comes among the others.

    Attributes:
        set_aside: Bytes of the record that the end of the file cut off, once all were taken.
    """

    def __init__(self, pieces: Iterable[bytes], read: Callable[[int, int, int, int, bytes], None]) -> None:
        self.set_aside = 0
        self._pieces = pieces
        self._read = read

    def __iter__(self) -> Iterator[tuple[int, int, int, int, int, bytes]]:
        """Give kind, request number, real-time stamp, ``user_ns``, ``floor_ns`` and payload of each that is no ``READ``."""
        unpack_from, size, read = _RECORD.unpack_from, _RECORD.size, self._read
        rest = b""
        for piece in self._pieces:
            buffer = rest + piece if rest else piece
            at, end = 0, len(buffer)
            while (start := at + size) <= end:
                kind, number, wire_s, wire_ns, user_ns, floor_ns, length = unpack_from(buffer, at)
                if not _SENT <= kind <= _RESUMED or length > _LONGEST:
                    raise EvidenceError("the raw reads hold a record of no known kind", hint="Measure again.")
                if start + length > end:
                    break
                at = start + length
                if kind == _READ:
                    read(number, wire_s * _NS_PER_S + wire_ns, user_ns, floor_ns, buffer[start:at])
                else:
                    yield kind, number, wire_s * _NS_PER_S + wire_ns, user_ns, floor_ns, buffer[start:at]
            rest = buffer[at:]
        self.set_aside = len(rest)
