"""Read JSON so that two readers cannot see two documents in the same bytes."""

import json
import math
import re
from collections.abc import Iterable
from typing import NoReturn, TypeAlias

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1
_MAX_NUMBER_CHARACTERS = 64

# A whole string, closed or not, or one bracket; possessive, so that hostile input cannot make it look back.
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*+(?:\\.?[^"\\]*+)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


class StrictJsonError(ValueError):
    """The bytes are not JSON, or are JSON that readers disagree about."""


def loads(text: bytes) -> Json:
    """Parse one JSON document.

    Refused beside what RFC 8259 refuses: bytes that are not UTF-8, a byte order mark, a key that occurs twice in an object,
    NaN and infinities (also as the value of a huge literal), integers beyond 2^53 - 1 either way, nesting deeper than 64,
    and surrogates without their pair.

    Raises:
        StrictJsonError: Says which of these, and at which character where the parser knows it.
    """
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StrictJsonError(f"not UTF-8 at byte {error.start}") from error
    _check_depth(decoded)
    try:
        document: Json = json.loads(
            decoded,
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_int=_integer,
            parse_float=_finite,
        )
    except json.JSONDecodeError as error:
        raise StrictJsonError(f"not JSON: {error.msg} at character {error.pos}") from error
    if isinstance(document, str):
        _check_text(document)
    elif isinstance(document, list):
        _check_texts(document)
    return document


def _check_depth(text: str) -> None:
    """Count brackets outside strings, before the recursive parser sees them."""
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        first = text[token.start()]
        depth += (first in "[{") - (first in "]}")
        if depth > MAX_DEPTH:
            raise StrictJsonError(f"nested deeper than {MAX_DEPTH}")


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result: dict[str, Json] = {}
    for key, value in pairs:
        if key in result:
            raise StrictJsonError(f"the key {key!a} occurs twice in one object")
        _check_text(key)
        result[key] = value
    _check_texts(result.values())
    return result


def _check_texts(values: Iterable[Json]) -> None:
    """Check the strings directly inside a container; inner objects were checked when they were made."""
    for value in values:
        if isinstance(value, str):
            _check_text(value)
        elif isinstance(value, list):
            _check_texts(value)


def _check_text(text: str) -> None:
    if _SURROGATE.search(text):
        raise StrictJsonError("a string holds a surrogate without its pair")


def _refuse_constant(literal: str) -> NoReturn:
    raise StrictJsonError(f"{literal} is not a JSON number")


def _integer(literal: str) -> int:
    value = int(literal) if len(literal) <= _MAX_NUMBER_CHARACTERS else MAX_INTEGER + 1
    if abs(value) > MAX_INTEGER:
        raise StrictJsonError(f"an integer lies beyond 2^53 - 1: {literal[:24]}")
    return value


def _finite(literal: str) -> float:
    value = float(literal)
    if not math.isfinite(value):
        raise StrictJsonError(f"a number is too large to be represented: {literal[:24]}")
    return value
