"""Find and replace values of a TOML document by their path, and say on which line of its text one stands."""

import re
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([A-Za-z0-9_.\-]+)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"^\s*([A-Za-z0-9_-]+)\s*=")


def line_of(text: str, path: Path) -> int:
    """Give the 1-based line of a value, of the nearest enclosing table where the value itself is not there, else 1.

    The TOML parser of the standard library keeps no positions.

    Args:
        text: A valid TOML text without dotted keys.
        path: Keys and 0-based array indices from the root.
    """
    positions = _positions(text)
    for length in range(len(path), 0, -1):
        if path[:length] in positions:
            return positions[path[:length]]
    return 1


def value_at(document: Any, path: Path) -> Any:  # noqa: ANN401  (a TOML value)
    """Give the value at a path that is there."""
    for step in path:
        document = document[step]
    return document


def with_value(document: Any, path: Path, value: object) -> Any:  # noqa: ANN401  (a TOML value)
    """Give a copy of the document with another value at a path that is there."""
    if not path:
        return value
    changed: Any = document.copy()  # a table or an array
    changed[path[0]] = with_value(document[path[0]], path[1:], value)
    return changed


def _positions(text: str) -> dict[Path, int]:
    found: dict[Path, int] = {}
    arrays: dict[Path, int] = {}
    table: Path = ()
    in_string = False
    for number, line in enumerate(text.split("\n"), start=1):
        if not in_string:
            header, key = _HEADER.match(line), _KEY.match(line)
            if header:
                table = _enter(tuple(header[2].split(".")), arrays, new_element=header[1] == "[[")
                found.setdefault(table, number)
            elif key:
                found.setdefault((*table, key[1]), number)
        in_string ^= line.count('"""') % 2 == 1
    return found


def _enter(names: tuple[str, ...], arrays: dict[Path, int], *, new_element: bool) -> Path:
    path: Path = ()
    for name in names[:-1]:
        path = (*path, name)
        if path in arrays:
            path = (*path, arrays[path])
    path = (*path, names[-1])
    if new_element:
        arrays[path] = arrays.get(path, -1) + 1
        path = (*path, arrays[path])
    return path
