"""A raw file's bytes that remember what was worked out from them, so that many claims on one file read it once."""

from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate
from typing import AnyStr, Generic, Self, TypeVar, cast

from dayzero.core.errors import EvidenceError

_T = TypeVar("_T")
_BLOCK = 1 << 16


class RawBytes(bytes):
    """Bytes like any other; :func:`once` keeps its answers with them."""

    known: dict[object, object]

    def __new__(cls, content: bytes) -> Self:
        """Take over the bytes of a raw file."""
        made = super().__new__(cls, content)
        made.known = {}
        return made


def once(raw: bytes, build: Callable[[bytes], _T]) -> _T:
    """Work something out of a raw file; once only where the bytes are :class:`RawBytes`, also when it fails.

    Args:
        raw: The file.
        build: A pure function at the top of a module: it is what the answer is kept under.

    Raises:
        EvidenceError: ``build`` says so.
    """
    if not isinstance(raw, RawBytes):
        return build(raw)
    if build not in raw.known:
        try:
            raw.known[build] = build(raw)
        except EvidenceError as error:
            raw.known[build] = error
    answer = raw.known[build]
    if isinstance(answer, EvidenceError):
        raise EvidenceError(answer.message, hint=answer.hint)
    return cast("_T", answer)


class Newlines(Generic[AnyStr]):
    """Where lines begin; only a newline ends one, so that ``sed -n 448p`` shows line 448.

    Args:
        text: A file's bytes, or its text, whose positions are then counted in characters.
        newline: A newline of the same type.
    """

    def __init__(self, text: AnyStr, newline: AnyStr) -> None:
        starts = range(0, len(text), _BLOCK)
        counts: list[int] = [text.count(newline, start, start + _BLOCK) for start in starts]
        self._text: AnyStr = text
        self._newline: AnyStr = newline
        self._before: tuple[int, ...] = (0, *accumulate(counts))
        self.lines: int = self._before[-1] + (not text.endswith(newline) and bool(text))

    def start(self, line: int) -> int:
        """Say where a 1-based line begins; the line after the last one begins at the end."""
        wanted = line - 1  # the line begins after so many newlines
        if wanted < 1:
            return 0
        if wanted > self._before[-1]:
            return len(self._text)
        block = bisect_left(self._before, wanted) - 1
        at = block * _BLOCK - 1
        for _ in range(wanted - self._before[block]):
            at = self._text.find(self._newline, at + 1)
        return at + 1

    def line_at(self, position: int) -> int:
        """Give the 1-based line on which a position lies."""
        block = position // _BLOCK
        return self._before[block] + self._text.count(self._newline, block * _BLOCK, position) + 1
