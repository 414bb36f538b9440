"""Change the settings of a command line, and read them off it; words that nobody searches stay as they are."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

_FLAG = re.compile(r"--?[A-Za-z][^=\s]*")


def values_of(words: Sequence[str], flag: str) -> tuple[tuple[str, ...], ...]:
    """Give the values that follow a flag, once for each time that it is given; ``_`` and ``-`` are one."""
    return tuple(values for name, values, _ in _parts(words) if name == _plain(flag))


def without(words: Sequence[str], flags: Sequence[str]) -> tuple[str, ...]:
    """Take flags out with their values."""
    gone = {_plain(flag) for flag in flags}
    return tuple(word for name, _, own in _parts(words) if name not in gone for word in own)


def with_words(words: Sequence[str], flags: Sequence[str], added: Sequence[str]) -> tuple[str, ...]:
    """Put other words in the place of flags; where the command line has none of them, behind it."""
    gone = {_plain(flag) for flag in flags}
    changed: list[str] = []
    put = False
    for name, _, own in _parts(words):
        if name not in gone:
            changed += own
        elif not put:
            changed += added
            put = True
    return tuple(changed if put else (*changed, *added))


def _parts(words: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Cut a command line into flags: name, values, and the words as they stand."""
    starts = [index for index, word in enumerate(words) if _FLAG.match(word)]
    if not starts or starts[0]:
        yield "", (), tuple(words[: starts[0] if starts else len(words)])
    for start, end in pairwise([*starts, len(words)]):
        flag, equals, value = words[start].partition("=")
        values = (*((value,) if equals else ()), *words[start + 1 : end])
        yield _plain(flag), values, tuple(words[start:end])


def _plain(flag: str) -> str:
    return flag.replace("_", "-")
