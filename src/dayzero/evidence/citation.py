"""What a published page says with numbers: citations, quoted raw lines, numbers that cite nothing, and broken markup."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from dayzero.core.pins import Sha256
from dayzero.core.verdict import Place

UNITS = (
    "tok/s",
    "ms",
    "s",
    "KiB",
    "MiB",
    "GiB",
    "TiB",
    "kB",
    "KB",
    "MB",
    "GB",
    "TB",
    "%",
    "percent",
    "x faster",
    "x slower",
    "shards",
    "GPUs",
)
"""A number before one of these is a measurement until the page says that it is none."""

BREAK = "\0"
"""Stands in a page's text where no number can reach across: a citation, a code span, the end of a block."""

_GAP = r"(?:[\s*_]|&nbsp;|&#160;|&thinsp;)"
_TIMES = r"(?:x|\xd7|&times;|times\b)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A published file.

    Attributes:
        path: As it is shown to people.
        content: Its bytes.
        units: What makes a number a measurement on it.
    """

    path: str
    content: bytes
    units: tuple[str, ...] = UNITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A page prints a claim.

    Attributes:
        slug: Which.
        text: What the page prints.
        value: The machine-readable value beside it, ``""`` where the format has none.
        place: Where.
    """

    slug: str
    text: str
    value: str
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class RawBlock:
    """A page quotes lines ``first`` to ``last`` of a raw file."""

    raw: Sha256
    first: int
    last: int
    lines: tuple[bytes, ...]
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class BareNumber:
    """A page prints a number with a unit that cites nothing."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformed:
    """Markup of ours that is broken, so that what it covers cannot be checked."""

    reason: str
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was found in a page, each kind in the order of the page."""

    citations: tuple[Citation, ...] = ()
    blocks: tuple[RawBlock, ...] = ()
    bare: tuple[BareNumber, ...] = ()
    malformed: tuple[Malformed, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A piece of a page's text that starts on ``line``; ``excused`` where the page says that its numbers are no claims."""

    text: str
    line: int
    excused: bool = False


def bare_numbers(page: Page, stretches: Sequence[Stretch]) -> tuple[BareNumber, ...]:
    """Find numbers with a unit, also where a line break or markup stands between the number and its unit."""
    text = "".join(stretch.text for stretch in stretches)
    starts, at = [], 0
    for stretch in stretches:
        starts.append(at)
        at += len(stretch.text)
    found, index = [], 0
    for match in _measurement(page.units).finditer(text):
        while index + 1 < len(starts) and starts[index + 1] <= match.start():
            index += 1
        stretch = stretches[index]
        if not stretch.excused:
            line = stretch.line + text.count("\n", starts[index], match.start())
            shown = " ".join(re.sub(r"[*_]+|&\w+;|&#\d+;", " ", match.group()).split())
            found.append(BareNumber(text=shown, place=on_line(page.path, line)))
    return tuple(found)


@cache
def _measurement(units: tuple[str, ...]) -> re.Pattern[str]:
    """Match a number and its unit; the ``s`` of a decade (1990s) is none, and ``x`` is also written as a sign or as a word."""
    longest_first = sorted(units, key=len, reverse=True)
    return re.compile(
        rf"(?<![\d.,])(?!(?:19|20)\d0s\b)\d[\d.,]*(?:[eE][-+]?\d+)?{_GAP}*(?:{'|'.join(map(_spelled, longest_first))})(?!\w)"
    )


def _spelled(unit: str) -> str:
    words = [_TIMES if word == "x" else re.escape(word) for word in unit.split()]
    return f"{_GAP}+".join(words)


def on_line(path: str, line: int) -> Place:
    """Name a line of a page."""
    return Place(artifact="", file=path, position=f"line {line}")
