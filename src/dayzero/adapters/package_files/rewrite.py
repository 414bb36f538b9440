"""Write a definition with other flags, or under another name: the text of the file is kept, but for those values."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence

from dayzero.adapters.package_files.positions import line_of
from dayzero.core.errors import InputError


def with_flags(text: str, flags: Sequence[str]) -> str:
    """Give the definition with another ``[serving] flags``.

    Args:
        text: A valid definition.
        flags: The words.

    Raises:
        InputError: The text cannot be changed in that place.
    """
    line = ", ".join(json.dumps(word, ensure_ascii=False) for word in flags)
    return _with(text, ("serving", "flags"), f"flags = [{line}]", list(flags))


def with_text(text: str, key: str, value: str) -> str:
    """Give the definition with another text under a key of its top.

    Raises:
        InputError: The text cannot be changed in that place.
    """
    return _with(text, (key,), f"{key} = {json.dumps(value, ensure_ascii=False)}", value)


def without_tables(text: str, names: Sequence[str]) -> str:
    """Give the definition without these lists of tables.

    Raises:
        InputError: Something else would change, too.
    """
    kept: list[str] = []
    skipping = False
    for line in text.split("\n"):
        header = re.match(r"\s*\[\[?\s*([A-Za-z0-9_-]+)", line)
        skipping = header[1] in names if header else skipping
        kept += [] if skipping else [line]
    changed = "\n".join(kept)
    wanted = {key: value for key, value in tomllib.loads(text).items() if key not in names}
    return _checked(changed, wanted)


def added(text: str, name: str, entries: Sequence[Mapping[str, str]]) -> str:
    """Give the definition with more tables of text in a list at its end."""
    written = [
        f"\n[[{name}]]" + "".join(f"\n{k} = {json.dumps(v, ensure_ascii=False)}" for k, v in one.items())
        for one in entries
    ]
    return text.rstrip("\n") + "\n" + "\n".join(written) + "\n"


def _with(text: str, path: tuple[str, ...], line: str, value: object) -> str:
    document = tomllib.loads(text)
    owner = document
    for step in path[:-1]:
        owner = owner[step]
    lines = text.split("\n")
    if path[-1] in owner:
        start = line_of(text, path) - 1
        end = _end(lines, start)
        lines[start:end] = [line]
    else:
        lines.insert(line_of(text, path[:-1]), line)
    owner[path[-1]] = value
    return _checked("\n".join(lines), document)


def _end(lines: Sequence[str], start: int) -> int:
    """Say before which line an assignment that begins at ``start`` has ended: as soon as its lines are a document."""
    for end in range(start + 1, len(lines) + 1):
        try:
            tomllib.loads("\n".join(lines[start:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end
    raise InputError("the definition's assignment has no end", hint="Write one assignment a line.")


def _checked(text: str, wanted: Mapping[str, object]) -> str:
    if tomllib.loads(text) != wanted:
        raise InputError(
            "the definition cannot be changed as text", hint="Write [serving] flags as an assignment of its own."
        )
    return text
