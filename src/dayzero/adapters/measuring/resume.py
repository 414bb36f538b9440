"""Take an interrupted run up again: what has ended stays, what was in flight is sent once more."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Final

from dayzero.bench.answer import reply_text
from dayzero.bench.model import Exhausted, ReadsHeader, Request, Wait
from dayzero.bench.plans.closed_loop import STAGGER_NS
from dayzero.bench.ports import Plan
from dayzero.bench.reads import RECORD, Kind, decode_header
from dayzero.core.errors import InputError

_BLOCK: Final = 1 << 20
_LONGEST_HEADER: Final = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What an interrupted run left behind.

    Attributes:
        path: Its file of raw reads.
        header: What it measured.
        ended: Requests that need not be sent again; where their reads stand, as (offset, length).
        whole_bytes: Length of the file up to its last whole record.
    """

    path: Path
    header: ReadsHeader
    ended: Mapping[int, tuple[tuple[int, int], ...]]
    whole_bytes: int

    def reply(self, number: int) -> str:
        """Read the answer to a request that has ended."""
        pieces: list[bytes] = []
        with self.path.open("rb") as stream:
            for offset, length in self.ended[number]:
                stream.seek(offset)
                pieces.append(stream.read(length))
        return reply_text(b"".join(pieces))


def look_back(path: Path, *, conversations: bool) -> Earlier:
    """Read what an interrupted run left.

    Args:
        path: Its file of raw reads.
        conversations: Whether answers may be asked for.

    Raises:
        InputError: There is no such file.
        EvidenceError: It is no file of raw reads.
    """
    try:
        with path.open("rb") as stream:
            line = stream.readline(_LONGEST_HEADER)
    except FileNotFoundError as error:
        raise InputError(
            f"{path} does not exist, so there is no run to resume",
            hint="Leave --resume out, or name the folder with -o.",
        ) from error
    header = decode_header(line)
    reads: dict[int, list[tuple[int, int]]] = {}
    ended: dict[int, tuple[tuple[int, int], ...]] = {}
    whole_bytes = len(line)
    for kind, number, offset, length in _records(path, len(line)):
        whole_bytes = offset + length
        if kind == Kind.SENT:
            reads[number] = []
        elif kind == Kind.READ and conversations:
            reads[number].append((offset, length))
        elif kind == Kind.END:
            ended[number] = tuple(reads.pop(number, ()))
    return Earlier(path=path, header=header, ended=ended, whole_bytes=whole_bytes)


def require_same(earlier: ReadsHeader, now: ReadsHeader) -> None:
    """Refuse to go on with a run under other conditions.

    Raises:
        InputError: They differ.
    """
    for field in fields(ReadsHeader):
        was, is_now = getattr(earlier, field.name), getattr(now, field.name)
        if was == is_now:
            continue
        if field.name == "boot":
            raise InputError(
                "the machine was started anew since: stamps of before and after cannot be compared",
                hint="Measure again, into another folder.",
            )
        raise InputError(
            f"the run cannot be resumed: its {field.name} was {was!r}, now it is {is_now!r}",
            hint="Give the options of the interrupted run, or measure into another folder.",
        )


class ResumedPlan:
    """A plan without the requests that have ended; its clock goes on from the first one that has not.

    Implements ``bench.ports.Plan``.
    """

    def __init__(self, plan: Plan, earlier: Earlier, *, streams: int) -> None:
        self._plan = plan
        self._earlier = earlier
        self._shift_ns = 0
        self._streams = streams
        self._sent = 0

    def take(self, elapsed_ns: int) -> Request | Wait | Exhausted:
        """Give the next request that has not ended; streams start one after the other again."""
        if 0 < self._sent < self._streams and elapsed_ns < self._sent * STAGGER_NS:
            return Wait(until_ns=self._sent * STAGGER_NS)
        while True:
            match self._plan.take(elapsed_ns + self._shift_ns):
                case Request(number=number) as ended if number in self._earlier.ended:
                    self._plan.ended(ended, elapsed_ns + self._shift_ns, partial(self._earlier.reply, number))
                case Request(due_ns=due_ns) as request:
                    self._sent += 1
                    return replace(request, due_ns=None if due_ns is None else due_ns - self._shift_ns)
                case Wait(until_ns=int() as until_ns) if not self._sent:
                    self._shift_ns = max(until_ns - elapsed_ns, self._shift_ns)
                case Wait(until_ns=int() as until_ns):
                    return Wait(until_ns=until_ns - self._shift_ns)
                case other:
                    return other

    def ended(self, request: Request, elapsed_ns: int, reply: Callable[[], str]) -> None:
        """Pass it on."""
        self._plan.ended(request, elapsed_ns + self._shift_ns, reply)


def _records(path: Path, start: int) -> Iterator[tuple[int, int, int, int]]:
    """Give kind, number, and where the payload begins and how long it is, of each whole record."""
    at, buffer = start, b""
    with path.open("rb") as stream:
        stream.seek(start)
        while block := stream.read(_BLOCK):
            buffer += block
            used = 0
            while used + RECORD.size <= len(buffer):
                kind, number, _, _, _, length = RECORD.unpack_from(buffer, used)
                end = used + RECORD.size + length
                if end > len(buffer):
                    break
                yield kind, number, at + used + RECORD.size, length
                used = end
            at += used
            buffer = buffer[used:]
