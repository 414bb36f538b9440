"""Walk a JSON text to the value at a pointer, as it is written, and refuse a text that has more than one meaning."""

import json
import re
from typing import NoReturn

from dayzero.core.errors import EvidenceError
from dayzero.evidence.raw_bytes import Newlines

_SPACE = re.compile(r"[ \t\n\r]*")
_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str)
_CLOSING = {"{": "}", "[": "]"}


class JsonText:
    """A JSON text with one meaning: no key twice, no NaN.

    Numbers are not read as numbers, so that a nanosecond stamp beyond 2^53, which the strict reader of signed documents
    refuses, does not spoil a file that some other program wrote.

    Raises:
        EvidenceError: It is not such a text.
    """

    def __init__(self, raw: bytes) -> None:
        try:
            self.text = raw.decode("utf-8")
            json.loads(
                self.text, object_pairs_hook=_unique, parse_int=str, parse_float=str, parse_constant=_no_constant
            )
        except RecursionError as error:
            raise EvidenceError("the JSON is nested too deeply", hint="Point at a file that can be read.") from error
        except ValueError as error:
            raise EvidenceError(f"not JSON with one meaning: {error}", hint="Point at a whole JSON file.") from error
        self._members: dict[int, dict[str, int]] = {}
        self._newlines = Newlines(self.text, "\n")

    def span(self, pointer: str) -> tuple[int, int]:
        """Say where the value at a pointer begins and ends, in characters.

        Raises:
            EvidenceError: There is none.
        """
        start = _past_space(self.text, 0)
        for token in _tokens(pointer):
            if start not in self._members:
                self._members[start] = _members(self.text, start)
            if token not in self._members[start]:
                raise EvidenceError(
                    f"there is no value at {pointer!r}: nothing is called {token!r} there",
                    hint="Point at a value that is there (RFC 6901).",
                )
            start = self._members[start][token]
        _, end = _SCANNER.raw_decode(self.text, start)
        return start, end

    def line_at(self, position: int) -> int:
        """Give the 1-based line on which a character stands."""
        return self._newlines.line_at(position)


def _unique(pairs: list[tuple[str, object]]) -> None:
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            raise ValueError(f"the key {name!r} is there twice")
        names.add(name)


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON value")


def _tokens(pointer: str) -> tuple[str, ...]:
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])


def _members(text: str, start: int) -> dict[str, int]:
    """Name the members of the object or array at ``start`` and where each value begins; the text is known to be JSON."""
    closing = _CLOSING.get(text[start])
    found: dict[str, int] = {}
    if closing is None:
        return found
    at = _past_space(text, start + 1)
    while text[at] != closing:
        name = str(len(found))
        if closing == "}":
            name, at = _SCANNER.raw_decode(text, at)
            at = _past_space(text, _past_space(text, at) + 1)
        found[name] = at
        _, at = _SCANNER.raw_decode(text, at)
        at = _past_space(text, at)
        if text[at] == ",":
            at = _past_space(text, at + 1)
    return found


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
