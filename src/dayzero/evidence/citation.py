"""What a published page says with numbers: citations, quoted raw lines, numbers that cite nothing, and broken markup."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dayzero.core.pins import Sha256
from dayzero.core.verdict import Place

UNITS = ("tok/s", "ms", "GiB", "MiB", "GB", "TB", "%")
"""A number before one of these is a measurement until the page says that it is none."""

BREAK = "\0"
"""Stands in a page's text where no number can reach across: a citation, a code span, the end of a block."""

_NUMBER = re.compile(
    rf"(?<![\d.,])\d[\d.,]*(?:[eE][-+]?\d+)?(?:[\s*_]|&nbsp;|&#160;|&thinsp;)*(?:{'|'.join(map(re.escape, UNITS))})(?!\w)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A published file: its path as it is shown to people, and its bytes."""

    path: str
    content: bytes


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


def bare_numbers(path: str, stretches: Sequence[Stretch]) -> tuple[BareNumber, ...]:
    """Find numbers with a unit, also where a line break or markup stands between the number and its unit."""
    text = "".join(stretch.text for stretch in stretches)
    starts, at = [], 0
    for stretch in stretches:
        starts.append(at)
        at += len(stretch.text)
    found, index = [], 0
    for match in _NUMBER.finditer(text):
        while index + 1 < len(starts) and starts[index + 1] <= match.start():
            index += 1
        stretch = stretches[index]
        if not stretch.excused:
            line = stretch.line + text.count("\n", starts[index], match.start())
            shown = " ".join(re.sub(r"[*_]+|&\w+;|&#\d+;", " ", match.group()).split())
            found.append(BareNumber(text=shown, place=on_line(path, line)))
    return tuple(found)


def on_line(path: str, line: int) -> Place:
    """Name a line of a page."""
    return Place(artifact="", file=path, position=f"line {line}")
