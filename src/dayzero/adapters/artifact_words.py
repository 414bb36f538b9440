"""Which files of a kept archive hold a word? Each word of its texts is written down once, with the files that hold it.

The list is made when the archive is, and lies beside it: an audit asks for hundreds of words, and reading all texts for each
took most of its time. One that is damaged or of another archive is not believed, and is made again.
"""

import hashlib
import re
import sys
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from dayzero.adapters.disk import write_whole
from dayzero.core.errors import RemoteError

_SCHEMA: Final = "dayzero/words/v1"
_LETTERS: Final = re.compile(rb"[0-9A-Za-z_\x80-\xff]+")
# What is no letter of a word becomes a blank: what is left between blanks are the words.
_BLANKS: Final = bytes(one if _LETTERS.fullmatch(bytes((one,))) else 0x20 for one in range(256))
_END: Final = b"\n"


class _Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: str
    of: str
    byteorder: str
    files: tuple[str, ...]
    words_bytes: int
    words: int


class Words:
    """The words of some files.

    Args:
        files: The files.
        words: Each word once, with an end of line before the first and behind each.
        starts: For each word, and for one past the last, where its files begin among ``held``.
        held: The numbers of the files of every word.
    """

    def __init__(self, files: tuple[str, ...], words: bytes, starts: "array[int]", held: "array[int]") -> None:
        self._files = files
        self._words = words
        self._starts = starts
        self._held = held
        self._places = array("I", (one.end() for one in re.finditer(_END, words)))

    def asked(self, text: bytes) -> tuple[set[str], bool]:
        """Name the files that hold a text, or that may.

        Returns:
            The files, and whether each of them is known to hold it; where not, it is for the caller to look.
        """
        parts = list(_LETTERS.finditer(text))
        if not parts:
            return set(self._files), not text
        longest = max(parts, key=lambda one: len(one[0]))
        before = _END if longest.start() else b""
        behind = _END if longest.end() < len(text) else b""
        found = (self._files[number] for word in self._holding(before + longest[0] + behind) for number in word)
        return set(found), longest[0] == text

    def _holding(self, part: bytes) -> Iterator["array[int]"]:
        """Give the files of each word that holds a part; an end of line in it is the beginning or the end of the word."""
        inside = part.startswith(_END)
        at = self._words.find(part)
        while at >= 0:
            number = bisect_right(self._places, at + inside) - 1
            yield self._held[self._starts[number] : self._starts[number + 1]]
            at = self._words.find(part, self._places[number + 1] - 1)

    def kept(self, of: str) -> bytes:
        """Write them as they lie on a disk; ``of`` is the digest of what they are the words of."""
        head = _Head(_SCHEMA, of, sys.byteorder, self._files, len(self._words), len(self._starts))
        body = zlib.compress(self._words + self._starts.tobytes() + self._held.tobytes(), 1)
        content = msgspec.json.encode(head) + _END + body
        return hashlib.sha256(content).hexdigest().encode() + _END + content


def words_in(texts: Iterable[tuple[str, bytes]]) -> Words:
    """Write down the words of some files.

    Args:
        texts: Each file's name and content.
    """
    files: list[str] = []
    found: dict[bytes, list[int]] = {}
    for number, (name, content) in enumerate(texts):
        files.append(name)
        for word in set(content.translate(_BLANKS).split()):
            found.setdefault(word, []).append(number)
    starts, held = array("I", (0,)), array("I")
    for numbers in found.values():
        held.extend(numbers)
        starts.append(len(held))
    return Words(tuple(files), b"".join((_END, *(word + _END for word in found))), starts, held)


def recalled(file: Path, of: str) -> Words | None:
    """Read the words that were kept; ``None`` where there are none of that archive, or none that can be believed."""
    try:
        digest, _, content = file.read_bytes().partition(_END)
        head, _, body = content.partition(_END)
        known = msgspec.json.decode(head, type=_Head)
        plain = memoryview(zlib.decompress(body))
    except (OSError, msgspec.DecodeError, zlib.error):
        return None
    whole = hashlib.sha256(content).hexdigest().encode() == digest
    if not whole or (known.schema, known.of, known.byteorder) != (_SCHEMA, of, sys.byteorder):
        return None
    starts, held = array("I"), array("I")
    behind = known.words_bytes + known.words * starts.itemsize
    starts.frombytes(plain[known.words_bytes : behind])
    held.frombytes(plain[behind:])
    return Words(known.files, bytes(plain[: known.words_bytes]), starts, held)


def keep(file: Path, of: str, words: Words) -> None:
    """Keep them for the next audit; a folder that cannot be written to keeps nothing."""
    with suppress(RemoteError, OSError):
        write_whole(file, words.kept(of))
