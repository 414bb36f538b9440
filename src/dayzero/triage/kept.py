"""Keep what matters of a log of any size, in bounded memory.

The first and the last stretch are kept whole. What lies between is kept only around lines that could matter, and of those the
first and the newest. A very long line keeps its two ends.
"""

from collections import deque
from collections.abc import Iterator, Sequence

HEAD_BYTES = 1 << 18
TAIL_BYTES = 1 << 19
EARLY_BYTES = 1 << 18
LATE_BYTES = 1 << 18
_BLOCK_BYTES = 16 << 10
_LINE_BYTES = 64 << 10

# What holds none of these holds nothing that a rule or a traceback could need. Kept short: each costs a pass.
TELLING = (
    "rror",
    "RROR",
    "raceback",
    "xception",
    'File "',
    "WARN",
    "ailed",
    "atal",
    "FATAL",
    "panic",
    "signal",
    "SIG",
    "illed",
    "ermina",
    " exit",
    "cannot",
    "nable to",
    "hutting down",
    "what():",
    "startup complete",
    "fired up",
    "is listening",
    "cache memory",
    "block size",
)
_NEEDLES = tuple(word.encode() for word in TELLING)


def tells(text: str) -> bool:
    """Say whether a text holds a word that a rule or a traceback could need."""
    return any(word in text for word in TELLING)


class _Blocks:
    """Blocks of whole lines with the number of the first, oldest first, at most ``limit`` bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self.blocks: deque[tuple[int, bytes]] = deque()

    def add(self, number: int, block: bytes) -> None:
        self.blocks.append((number, block))
        self.size += len(block)

    def holds(self, word: bytes) -> bool:
        return any(word in block for _, block in self.blocks)

    def overflow(self) -> Iterator[tuple[int, bytes]]:
        while self.size > self.limit and len(self.blocks) > 1:
            number, block = self.blocks.popleft()
            self.size -= len(block)
            yield number, block


class Kept:
    """What is kept of a log that is fed piece by piece.

    Args:
        beginnings: Words with which an attempt begins; those that the head holds are counted in what is left out.
    """

    def __init__(self, beginnings: Sequence[str] = ()) -> None:
        self._beginnings = tuple(word.encode() for word in beginnings)
        self._counts: dict[bytes, int] | None = None
        self._head, self._early = _Blocks(HEAD_BYTES), _Blocks(EARLY_BYTES)
        self._late, self._tail = _Blocks(LATE_BYTES), _Blocks(TAIL_BYTES)
        self._open = bytearray()
        self._clipped = bytearray()
        self._next = 1
        self.left_out = 0

    @property
    def lines(self) -> int:
        """Number of lines so far, the unfinished one included."""
        return self._next - 1 + bool(self._open or self._clipped)

    @property
    def begun(self) -> int:
        """Number of attempts that begin in what was left out: lines of the word that is found most."""
        return max(self._counts.values(), default=0) if self._counts else 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        view = memoryview(data)
        start = 0
        while start < len(data):
            cut = data.rfind(b"\n", start, start + _BLOCK_BYTES)
            if cut < 0:
                cut = data.find(b"\n", start + _BLOCK_BYTES)
            if cut < 0:
                self._unfinished(view[start:])
                return
            self._whole(view[start : cut + 1])
            start = cut + 1

    def _unfinished(self, part: memoryview) -> None:
        room = _LINE_BYTES - len(self._open)
        if room > 0:
            self._open += part[:room]
            part = part[room:]
        if part:
            self._clipped += part[-_LINE_BYTES:]
            if len(self._clipped) > 2 * _LINE_BYTES:
                del self._clipped[:-_LINE_BYTES]

    def _whole(self, part: memoryview) -> None:
        if self._open or self._clipped:
            block = self._taken(bytes(part))
        else:
            block = bytes(part) if len(part) <= 2 * _LINE_BYTES else _clipped_lines(bytes(part))
        number, self._next = self._next, self._next + block.count(b"\n")
        if self._head.size < HEAD_BYTES:
            self._head.add(number, block)
            return
        self._tail.add(number, block)
        for old in self._tail.overflow():
            self._pass_on(*old)

    def _taken(self, part: bytes) -> bytes:
        line, _, rest = part.partition(b"\n")
        ends = bytes(self._clipped + line)[-_LINE_BYTES:] if self._clipped or len(line) > _LINE_BYTES else line
        block = bytes(self._open) + ends + b"\n" + rest
        self._open.clear()
        self._clipped.clear()
        return block

    def _pass_on(self, number: int, block: bytes) -> None:
        if not any(needle in block for needle in _NEEDLES):
            self._leave_out(block)
        elif self._early.size < EARLY_BYTES:
            self._early.add(number, block)
        else:
            self._late.add(number, block)
            for _, old in self._late.overflow():
                self._leave_out(old)

    def _leave_out(self, block: bytes) -> None:
        self.left_out += block.count(b"\n")
        if self._counts is None:
            self._counts = {word: 0 for word in self._beginnings if self._head.holds(word)}
        for word in self._counts:
            self._counts[word] += block.count(word)

    def numbered(self) -> Iterator[tuple[int, str]]:
        """Give the kept lines with their numbers; bytes that are not UTF-8 are replaced."""
        for group in (self._head, self._early, self._late, self._tail):
            for number, block in group.blocks:
                for offset, line in enumerate(block.decode("utf-8", "replace").removesuffix("\n").split("\n")):
                    yield number + offset, line
        if self._open or self._clipped:
            yield self._next, bytes(self._open + self._clipped[-_LINE_BYTES:]).decode("utf-8", "replace")


def _clipped_lines(block: bytes) -> bytes:
    return b"\n".join(
        line if len(line) <= 2 * _LINE_BYTES else line[:_LINE_BYTES] + line[-_LINE_BYTES:]
        for line in block.split(b"\n")
    )
