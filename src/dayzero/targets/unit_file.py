r"""Unit files as systemd and podman's generator read them: settings, and words in double quotes.

Escape rules, from systemd.unit(5), "Specifiers", and systemd.syntax(7), "Quoting": every word in double quotes; ``\``, ``"``,
the tab and the newline escaped; ``%`` doubled everywhere. What ``$`` means is each setting's own.
"""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec
from dayzero.targets.interface import NotCarriedError

INSTALL_FOLDER = "/opt/dayzero"

_WORD = re.compile(r'"((?:[^"\\]|\\[\\"tn])*)"')
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n"}
_LETTERS = {"t": "\t", "n": "\n"}


def folder(spec: LaunchSpec) -> str:
    """Name the folder that the kit is unpacked into on the machine that serves."""
    return f"{INSTALL_FOLDER}/{spec.name}"


def quoted(word: str) -> str:
    """Write one word."""
    return '"' + percented("".join(_ESCAPES.get(letter, letter) for letter in word)) + '"'


def words(line: str) -> tuple[str, ...]:
    """Read words that :func:`quoted` wrote, with one space between them.

    Raises:
        InputError: A word stands outside double quotes, or holds what systemd would expand.
    """
    found: list[str] = []
    position = 0
    while match := _WORD.match(line, position):
        plain = unpercented(match[1])
        found.append(_ESCAPED.sub(lambda escape: _LETTERS.get(escape[1], escape[1]), plain))
        position = match.end() + 1
        if line[match.end() : position] not in {"", " "}:
            break
    if position != len(line) + 1:
        raise InputError(f"not a line of double-quoted words: {line!r}", hint="Render the file again.")
    return tuple(found)


def variable(value: str) -> tuple[str, str]:
    """Read the value of ``Environment=``.

    Raises:
        InputError: It does not set one variable.
    """
    both = words(value)
    name, equals, text = both[0].partition("=") if len(both) == 1 else ("", "", "")
    if not equals or not name:
        raise InputError(f"Environment= does not set one variable: {value!r}", hint="Render the file again.")
    return name, text


def percented(text: str) -> str:
    """Write text in which systemd expands no specifier."""
    return text.replace("%", "%%")


def unpercented(text: str) -> str:
    """Undo :func:`percented`.

    Raises:
        InputError: A ``%`` stands alone, so systemd would expand it.
    """
    if "%" in text.replace("%%", ""):
        raise InputError(f"a % that systemd would expand: {text!r}", hint="Render the file again.")
    return text.replace("%%", "%")


def settings(lines: Iterable[str], keys: Mapping[str, AbstractSet[str]]) -> list[tuple[str, str]]:
    """Read the settings of a unit, of which ``Environment`` alone may stand several times.

    Args:
        lines: The lines of the unit.
        keys: The keys that a rendered unit has, by section.

    Raises:
        InputError: The unit holds another line, or the same setting twice.
    """
    found: list[tuple[str, str]] = []
    section = ""
    for number, line in enumerate(lines, start=1):
        if not line or line.startswith("#"):
            continue
        if line in keys:
            section = line
            continue
        key, equals, value = line.partition("=")
        if not equals or key not in keys.get(section, ()):
            raise InputError(f"line {number} is not one of a rendered unit: {line!r}", hint="Render the file again.")
        found.append((key, value))
    once = [key for key, _ in found if key != "Environment"]
    if len(set(once)) != len(once):
        raise InputError("a setting of the unit stands twice", hint="Render the file again.")
    return found


def require_characters(texts: Iterable[str]) -> None:
    """Refuse what systemd's own check of UTF-8 (utf8_is_valid) leaves out: Unicode's noncharacters.

    Raises:
        InputError: Names the word.
    """
    for word in texts:
        if any(ord(letter) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(letter) <= 0xFDEF for letter in word):  # noqa: PLR2004
            raise NotCarriedError(
                f"systemd drops a word with a Unicode noncharacter: {word!r}",
                hint="Put the text into a file and pass the file's path.",
            )
