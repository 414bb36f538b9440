"""Commands in the text of a shell script, with the variables that the script itself sets; nothing is run."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dayzero.audit.recipes.model import Word

_VARIABLE = re.compile(
    r"\$(?:\{(?P<braced>[A-Za-z_]\w*)(?:\[[@*]\])?(?::?[-=](?P<default>[^{}]*))?\}|(?P<bare>[A-Za-z_]\w*))"
)
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<more>\+?)=(?P<value>.*)", re.DOTALL)
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_ALL_OF = re.compile(r"\$\{(\w+)\[[@*]\]\}|\$\{?(\w+)\}?")
# What is written to or read from files is none of the engine's words.
_REDIRECTED = re.compile(r"(?<=\s)(?:\d|&)?>{1,2}(?:&\d|&?\s*[^\s;&|]+)|(?<=\s)<(?!<)\s*[^\s;&|<]+")
_INSIDE = "\ue000"
_DECLARING = {"export", "declare", "local", "readonly", "typeset", "-x", "-a", "-r"}
_ENDS = {";", "&", "&&", "|", "||", ";;", "(", ")", "{", "}", "then", "do", "else"}
_LONGEST_STATEMENT = 400
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command, and the environment that the script has exported by then."""

    words: tuple[Word, ...]
    env: tuple[tuple[str, str], ...]


def commands(text: str, first_line: int = 1) -> Iterator[Command]:
    """Give each simple command of a script in order.

    Args:
        text: The script.
        first_line: The line at which it begins in its file.
    """
    state = _State()
    for tokens, start, lines in _statements(text.split("\n")):
        for part in _parts(tokens):
            words = state.words(part, lines, start + first_line - 1)
            rest = state.assign(words)
            if rest:
                yield Command(tuple(rest), tuple(state.exported.items()))


def _statements(lines: Sequence[str]) -> Iterator[tuple[list[str], int, list[str]]]:
    """Join what quotes, brackets and backslashes hold together; a here-document is content, not commands."""
    index = 0
    while index < len(lines):
        begin, joined, tokens = index, "", None
        while index < len(lines) and tokens is None and index - begin < _LONGEST_STATEMENT:
            joined += lines[index]
            index += 1
            if re.search(r"(?<!\\)(\\\\)*\\$", joined):
                joined = joined[:-1] + " "
                continue
            tokens = _tokens(joined)
            joined += "\n"
        if tokens is None:
            index = begin + 1
            continue
        yield tokens, begin + 1, list(lines[begin:index])
        document = _HEREDOC.search(joined)
        if document and "<<<" not in joined:
            end = next((at for at in range(index, len(lines)) if lines[at].strip() == document[2]), len(lines) - 1)
            index = end + 1


def _tokens(text: str) -> list[str] | None:
    """Split a statement; ``None`` where it goes on in the next line."""
    # A # inside a word is none that begins a comment, which the reader does not know.
    plain = re.sub(r"(?<=\S)#", _INSIDE, _REDIRECTED.sub("", text))
    reader = shlex.shlex(plain, posix=True, punctuation_chars=";&|()")
    reader.whitespace_split = True
    try:
        found = [one.replace(_INSIDE, "#") for one in reader]
    except ValueError:
        return None
    opened = next((at for at, one in enumerate(found) if re.fullmatch(r"[A-Za-z_]\w*\+?=", one)), None)
    if opened is not None and found[opened + 1 : opened + 2] == ["("] and ")" not in found[opened:]:
        return None
    return found


def _parts(tokens: Sequence[str]) -> Iterator[list[str]]:
    """Split at what ends a command; an array's brackets stay with its name."""
    part: list[str] = []
    array = False
    for word in tokens:
        if word == "(" and part and re.fullmatch(r"[A-Za-z_]\w*\+?=", part[-1]):
            array = True
        elif word == ")" and array:
            array = False
        elif (word in _ENDS and not array) or re.fullmatch(r"[;&|()]+", word):
            yield part
            part = []
        else:
            part.append(word)
    yield part


class _State:
    def __init__(self) -> None:
        self._variables: dict[str, tuple[str, ...]] = {}
        self.exported: dict[str, str] = {}

    def words(self, tokens: Sequence[str], lines: Sequence[str], start: int) -> list[Word]:
        """Put variables in, and say on which line each word stands."""
        found: list[Word] = []
        at = 0
        for token in tokens:
            probe = token.split("\n", 1)[0]
            here = next((n for n in range(at, len(lines)) if probe[:40] in lines[n]), None)
            at = at if here is None else here
            found += [Word(text, start + at, open=is_open) for text, is_open in self._expanded(token)]
        return found

    def _expanded(self, token: str) -> Iterator[tuple[str, bool]]:
        whole = _ALL_OF.fullmatch(token)
        values = self._variables.get(whole[1] or whole[2]) if whole else None
        if values is not None and (len(values) != 1 or values[0].startswith("-")):
            for value in values:
                yield from self._several(value)
            return
        text = self._put_in(token)
        yield text, "$" in text or "`" in text

    def _several(self, value: str) -> Iterator[tuple[str, bool]]:
        try:
            split = shlex.split(value) if value.startswith("-") and not value.startswith("{") else [value]
        except ValueError:
            split = [value]
        for one in split:
            text = self._put_in(one)
            yield text, "$" in text or "`" in text

    def _put_in(self, text: str) -> str:
        for _ in range(_DEEPEST):
            changed = _VARIABLE.sub(self._value, text)
            if changed == text:
                break
            text = changed
        return text

    def _value(self, found: re.Match[str]) -> str:
        values = self._variables.get(found["braced"] or found["bare"])
        if values is not None and len(values) == 1:
            return values[0]
        return found[0] if found["default"] is None else found["default"]

    def assign(self, words: Sequence[Word]) -> list[Word]:
        """Take the assignments of a command in, and give the rest of it; before a program they are only its own."""
        rest = [one for one in words if one.text not in _DECLARING]
        assigned = []
        for one in rest:
            if not _ASSIGNMENT.fullmatch(one.text):
                break
            assigned.append(one)
        array = bool(rest) and rest[0].text.endswith("=") and len(rest) > 1 and words[0].text == rest[0].text
        exported = bool(words) and words[0].text == "export"
        if len(assigned) < len(rest) and not array:
            return list(words) if not exported else []
        if array:
            self._set(rest[0].text, tuple(one.text for one in rest[1:]), exported=False)
        else:
            for one in assigned:
                name, _, value = one.text.partition("=")
                self._set(f"{name}=", (value,), exported=exported)
        return []

    def _set(self, head: str, values: tuple[str, ...], *, exported: bool) -> None:
        name = head.rstrip("=").rstrip("+")
        before = self._variables.get(name, ()) if head.endswith("+=") else ()
        if before and len(before) == 1 == len(values) and not values[0].startswith("-"):
            self._variables[name] = (before[0] + values[0],)
        else:
            self._variables[name] = (*before, *values)
        if exported or name in self.exported:
            value = self._variables[name][0] if len(self._variables[name]) == 1 else ""
            if "$" not in value:
                self.exported[name] = value
