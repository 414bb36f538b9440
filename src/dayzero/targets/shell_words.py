"""Words as a POSIX shell reads them, written and read back in the one way of quoting in which nothing is expanded.

A word that only the cluster knows is written as one expansion between double quotes; a literal that looks like it stands in
single quotes, so that the two are never taken for each other.
"""

import re
import shlex
from collections.abc import Mapping, Sequence

from dayzero.core.errors import InputError
from dayzero.core.launch import Placeholder, Word

_FLAG = re.compile(r"-")
# Of a text that is refused; a whole command may have thousands.
_SHOWN = 80
_PIECE = re.compile(r"""'[^']*'|"'"|[\w@%+=:,./-]+""", re.ASCII)
# bash sets, counts or refuses these itself.
_TAKEN_BY_BASH = frozenset(
    {"PATH", "PWD", "OLDPWD", "SHLVL", "_", "UID", "EUID", "PPID", "GROUPS", "SHELLOPTS", "DIRSTACK", "FUNCNAME"}
    | {"HISTCMD", "LINENO", "RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "PIPESTATUS"}
    | {"OPTIND", "OPTERR", "OPTARG", "POSIXLY_CORRECT", "IFS"}
)


def taken_by_bash(name: str) -> bool:
    """Say whether a script that exports this variable would change bash, or bash the variable."""
    return name in _TAKEN_BY_BASH or name.startswith(("BASH", "COMP_"))


def joined(words: Sequence[Word], forms: Mapping[Placeholder, str]) -> tuple[str, ...]:
    """Write each word for the shell.

    Args:
        words: The words.
        forms: How each placeholder is written.
    """
    return tuple(forms[word] if isinstance(word, Placeholder) else quoted(word) for word in words)


def line(words: Sequence[str]) -> str:
    """Write literal words with one space between them, as :func:`split` reads them."""
    return " ".join(joined(words, {}))


def quoted(word: str) -> str:
    """Write one literal word; a ``=`` in front, which needs no quotes in bash, has them for readers that take it for more."""
    return f"'{word}'" if word.startswith("=") and shlex.quote(word) == word else shlex.quote(word)


def by_flag(written: Sequence[str], indent: str) -> str:
    """Lay out a program and its written words as one command, a line for each flag; :func:`on_one_line` takes it back."""
    return " ".join(f"\\\n{indent}{word}" if _FLAG.match(word) else word for word in written)


def on_one_line(text: str, indent: str) -> str:
    """Undo :func:`by_flag`."""
    return text.replace(f" \\\n{indent}", " ")


def split(text: str, forms: Mapping[Placeholder, str]) -> tuple[Word, ...]:
    """Read words that :func:`joined` wrote, with one space between them.

    Raises:
        InputError: A word is not written in that one way: the shell would expand, split, redirect or drop something.
    """
    words: list[Word] = []
    position = 0
    while position <= len(text):
        word, end = _word(text, position, forms)
        if text[end : end + 1] not in {"", " "} or end == position:
            raise InputError(
                f"not quoted so that the shell expands nothing: {text[position : position + _SHOWN]!r}",
                hint="Render the file again.",
            )
        words.append(word)
        position = end + 1
    if " ".join(joined(words, forms)) != text:
        raise InputError(f"quoted in another way than it is written: {text[:_SHOWN]!r}", hint="Render the file again.")
    return tuple(words)


def _word(text: str, position: int, forms: Mapping[Placeholder, str]) -> tuple[Word, int]:
    for placeholder, form in forms.items():
        if text.startswith(form, position):
            return placeholder, position + len(form)
    pieces: list[str] = []
    while piece := _PIECE.match(text, position):
        pieces.append(piece[0][1:-1] if piece[0][0] in "'\"" else piece[0])
        position = piece.end()
    return "".join(pieces), position


def variable(line: str, verb: str) -> tuple[str, str]:
    """Read ``VERB NAME=VALUE``.

    Raises:
        InputError: The line does not set one variable.
    """
    name, equals, quoted = line.removeprefix(f"{verb} ").partition("=")
    if line.startswith(f"{verb} ") and equals and name.isidentifier():
        match split(quoted, {}):
            case (str(value),):
                return name, value
            case _:
                pass
    raise InputError(f"not a line that sets one variable: {line!r}", hint="Render the file again.")
