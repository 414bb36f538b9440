"""How engines' command lines are taken apart, as far as most of them agree."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_FLAG = re.compile(r"--[A-Za-z][^=]*|-[A-Za-z][A-Za-z0-9_-]*(?==|\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One flag of a command line.

    Attributes:
        flag: As it stands there, without a value joined to it by ``=``.
        values: The words that follow it up to the next flag; the part behind ``=`` where there is one.
    """

    flag: str
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """The flag as parsers that take ``_`` for ``-`` name it; a key behind a dot keeps its letters."""
        head, dot, key = self.flag.partition(".")
        return f"{head.replace('_', '-')}{dot}{key}" if head.startswith("--") else self.flag


def given(words: tuple[str, ...]) -> Iterator[Given]:
    """List the flags of a command line in order; a number is never one."""
    starts = [index for index, word in enumerate(words) if _FLAG.match(word)]
    for start, end in pairwise([*starts, len(words)]):
        flag = _FLAG.match(words[start])
        if flag is None:
            continue
        joined = words[start][flag.end() :]
        values = words[start + 1 : end]
        yield Given(flag=flag[0], values=(joined[1:], *values) if joined else values)


def repeated(words: tuple[str, ...], *, allowed: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Say which flags a command line gives twice, for an engine whose own names of them are not at hand.

    Args:
        words: The command line.
        allowed: Flags that may be given several times.
    """
    first: dict[str, str] = {}
    problems: list[str] = []
    for one in given(words):
        # A switch and its opposite set the same thing.
        setting = re.sub(r"\A--no-", "--", one.name)
        if setting in first and one.name not in allowed:
            problems.append(twice(first[setting], one.flag))
        first.setdefault(setting, one.flag)
    return tuple(problems)


def twice(first: str, second: str) -> str:
    """Word that two flags of one command line set the same thing."""
    return f"{first} is given twice" if first == second else f"{first} and {second} set the same thing"
