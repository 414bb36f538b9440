"""Find the place in a raw file that a claim points at."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from dayzero.core.errors import EvidenceError
from dayzero.core.pins import Sha256
from dayzero.evidence.model import LineLocator, PointerLocator

_SPACE = re.compile(r"[ \t\n\r]*")
_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str)
_CLOSING = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointed:
    """A value in a JSON file.

    Attributes:
        literal: The value as it is written there, quotation marks included.
        line: The 1-based line on which it begins.
    """

    literal: str
    line: int


def lines_between(raw: bytes, first: int, last: int) -> tuple[bytes, ...]:
    r"""Cut out lines, both ends included, without their newlines; a carriage return belongs to its line.

    Args:
        raw: The file; only ``\n`` ends a line, so that ``sed -n 448p`` shows line 448.
        first: 1-based.
        last: Not before ``first``.

    Raises:
        EvidenceError: The file has no such lines.
    """
    pieces = raw.split(b"\n", last)
    if pieces[-1] == b"" and len(pieces) <= last:
        pieces.pop()
    if not 1 <= first <= last <= len(pieces):
        raise EvidenceError(
            f"there is no line {last}: the file has {len(pieces)}"
            if first <= last
            else f"lines {first}-{last} are none",
            hint="Point at a line that is there, counted from 1.",
        )
    return tuple(pieces[first - 1 : last])


def line_locator(raw: bytes, line: int) -> LineLocator:
    """Point at a line as it stands in the file now.

    Raises:
        EvidenceError: The file has no such line.
    """
    return LineLocator(line=line, sha256=Sha256.of(lines_between(raw, line, line)[0]))


def locate_line(raw: bytes, locator: LineLocator) -> bytes:
    """Give the line that was pointed at.

    Raises:
        EvidenceError: The file has no such line, or another text stands there now.
    """
    content = lines_between(raw, locator.line, locator.line)[0]
    if Sha256.of(content) != locator.sha256:
        raise EvidenceError(
            f"line {locator.line} is not the line that was pointed at: {_quote(content)!r} stands there",
            hint="Put the file back as it was captured, or file it anew and make the claim again.",
        )
    return content


def locate_pointer(raw: bytes, locator: PointerLocator) -> Pointed:
    """Give the value that was pointed at, as it is written.

    Raises:
        EvidenceError: The file is not strict JSON, or has no such value.
    """
    text = _json_text(raw)
    start = _past_space(text, 0)
    for token in _tokens(locator.pointer):
        for name, at in _members(text, start):
            if name == token:
                start = at
                break
        else:
            raise EvidenceError(
                f"there is no value at {locator.pointer!r}: nothing is called {token!r} there",
                hint="Point at a value that is there (RFC 6901).",
            )
    _, end = _SCANNER.raw_decode(text, start)
    return Pointed(literal=text[start:end], line=text.count("\n", 0, start) + 1)


def _json_text(raw: bytes) -> str:
    """Decode a JSON file that has one meaning: no key twice, no NaN.

    Numbers are not read as numbers, so that a nanosecond stamp beyond 2^53, which the strict reader of signed documents
    refuses, does not spoil a file that some other program wrote.
    """
    try:
        text = raw.decode("utf-8")
        json.loads(text, object_pairs_hook=_unique, parse_int=str, parse_float=str, parse_constant=_no_constant)
    except RecursionError as error:
        raise EvidenceError("the JSON is nested too deeply", hint="Point at a file that can be read.") from error
    except ValueError as error:
        raise EvidenceError(f"not JSON with one meaning: {error}", hint="Point at a whole JSON file.") from error
    return text


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(f"the key {name!r} is there twice")
        members[name] = value
    return members


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON value")


def _tokens(pointer: str) -> tuple[str, ...]:
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])


def _members(text: str, start: int) -> Iterator[tuple[str, int]]:
    """Name the members of the object or array at ``start`` and where each value begins; the text is known to be JSON."""
    closing = _CLOSING.get(text[start])
    if closing is None:
        return
    index, at = 0, _past_space(text, start + 1)
    while text[at] != closing:
        name = str(index)
        if closing == "}":
            name, at = _SCANNER.raw_decode(text, at)
            at = _past_space(text, _past_space(text, at) + 1)
        yield name, at
        _, at = _SCANNER.raw_decode(text, at)
        at = _past_space(text, at)
        if text[at] == ",":
            at = _past_space(text, at + 1)
        index += 1


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _quote(content: bytes) -> str:
    text = content.decode("utf-8", "replace")
    return text if len(text) <= 120 else f"{text[:117]}..."  # noqa: PLR2004  (a width, said once)
