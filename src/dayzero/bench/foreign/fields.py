"""Read fields of a JSON document that another program wrote: what is not there, or is of another type, is absent."""

import contextlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from dayzero.core.errors import InputError

Object: TypeAlias = Mapping[str, object]

_NOT_JSON = "Give the file as the tool wrote it."


def document(name: str, raw: bytes) -> Object:
    """Decode a JSON object; ``NaN`` and ``Infinity``, which Python programs write, are let through.

    Raises:
        InputError: It is none.
    """
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not JSON: {error}", hint=_NOT_JSON) from error
    if not isinstance(found, dict):
        raise InputError(f"{name} holds no JSON object", hint=_NOT_JSON)
    return found


def documents(name: str, raw: bytes) -> tuple[Object, ...]:
    """Decode a file of one JSON object a line; a last line without a newline that is cut off is left out.

    Raises:
        InputError: Another line is no JSON object.
    """
    *lines, tail = raw.split(b"\n")
    found = [document(f"{name}, line {number},", line) for number, line in enumerate(lines, 1) if line.strip()]
    if tail.strip():
        with contextlib.suppress(InputError):
            found.append(document(name, tail))
    return tuple(found)


def looks_like(raw: bytes) -> Object:
    """Decode a JSON object, or give an empty one for anything else."""
    try:
        return document("", raw)
    except InputError:
        return {}


def at(value: object, *path: str | int) -> object:
    """Follow keys and indices; ``None`` where one leads nowhere."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def number(value: object, *path: str | int) -> float | None:
    """Give a finite number."""
    found = at(value, *path)
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        return None
    return found


def whole(value: object, *path: str | int) -> int | None:
    """Give a number as a whole one, rounded."""
    found = number(value, *path)
    return None if found is None else round(found)


def text(value: object, *path: str | int) -> str:
    """Give a string, ``""`` where there is none."""
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def items(value: object, *path: str | int) -> Sequence[object]:
    """Give a list, empty where there is none."""
    found = at(value, *path)
    return cast("list[object]", found) if isinstance(found, list) else ()


def numbers(value: object, *path: str | int) -> tuple[float, ...]:
    """Give the finite numbers of a list."""
    return tuple(found for found in (number(item) for item in items(value, *path)) if found is not None)
