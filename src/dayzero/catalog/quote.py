"""Quote the place in a raw file that a claim points at, so that a reader sees it without opening the file."""

from dayzero.catalog.page_model import Quote, QuotedLine
from dayzero.catalog.words import lines_words, rows_words
from dayzero.core.errors import EvidenceError
from dayzero.evidence.locate import Located, line_count, lines_between, locate
from dayzero.evidence.locator import (
    CsvLocator,
    JsonlLocator,
    LineLocator,
    Locator,
    MemberLocator,
    PointerLocator,
    RangeLocator,
    SpanLocator,
    WholeFile,
)

FIRST_ROWS = 5
MOST_LINES = 12
LONGEST_LINE = 320

_LOOKED_AT = 8192
_FIRST_PICTURE, _DELETE, _DELETE_PICTURE, _SPACE = 0x2400, 0x7F, "\u2421", 0x20
_NOT_TEXT = Quote(lines=(), note="It is not text, so it is not quoted here.")


def quote(raw: bytes, locator: Locator, *, cell: str = "") -> Quote:
    """Quote the lines under a claim: the first rows where it rests on the whole file.

    Args:
        raw: The file, whole.
        locator: Where the claim points.
        cell: The cell of the load that the claim is about, where there is one: of a whole file its rows are quoted.
    """
    try:
        if cell and isinstance(locator, WholeFile):
            return _rows_of(raw, cell)
        return _quote(raw, locator, locate(raw, locator))
    except EvidenceError as error:
        return Quote(lines=(), note=f"Nothing can be quoted: {error.message}.")


def visible(content: bytes) -> str:
    """Decode a line so that every character of it is seen and none acts: no control, no change of direction."""
    text = content.decode("utf-8", "replace")
    return text if text.isprintable() else "".join(map(_picture, text))


def cut_middle(number: int, text: str, longest: int = LONGEST_LINE) -> QuotedLine:
    """Leave the middle of a long line out: both ends of a row say more about it than one."""
    if len(text) <= longest:
        return QuotedLine(number=number, head=text)
    tail = longest // 3
    head = longest - tail
    return QuotedLine(number=number, head=text[:head], cut=len(text) - longest, tail=text[len(text) - tail :])


def _quote(raw: bytes, locator: Locator, located: Located) -> Quote:
    match locator:
        case WholeFile():
            quoted = _lines(raw, 1, FIRST_ROWS)
        case LineLocator(line=line):
            quoted = _lines(raw, line, line)
        case RangeLocator(first=first, last=last):
            quoted = _lines(raw, first, min(last, first + MOST_LINES - 1))
        case PointerLocator() | JsonlLocator():
            quoted = _lines(raw, located.line, located.line, found=located.content)
        case CsvLocator():
            header, row = _lines(raw, 1, 1), _lines(raw, located.line, located.line, found=located.content)
            quoted = Quote(lines=(*header.lines, *row.lines), note=f"the header and {row.note}", found=row.found)
        case MemberLocator(member=member):
            quoted = _lines(located.content, 1, FIRST_ROWS)
            quoted = Quote(lines=quoted.lines, note=f"{quoted.note} of its member {member}") if quoted.lines else quoted
        case SpanLocator():
            whole = cut_middle(1, visible(located.content))
            quoted = _NOT_TEXT if b"\0" in located.content else Quote(lines=(whole,), note=located.position)
    return quoted


def _rows_of(raw: bytes, cell: str) -> Quote:
    """Quote the first rows that name a cell, and say how many do; the first rows of all where none does."""
    named = f'"cell":"{cell}"'.encode()
    rows = [(number, line) for number, line in enumerate(raw.split(b"\n"), start=1) if named in line]
    if not rows or b"\0" in raw[:_LOOKED_AT]:
        return _lines(raw, 1, FIRST_ROWS)
    shown = tuple(_line(number, line) for number, line in rows[:FIRST_ROWS])
    return Quote(lines=shown, note=rows_words(len(shown), len(rows), cell, line_count(raw)))


def _line(number: int, line: bytes) -> QuotedLine:
    return cut_middle(number, visible(line.removesuffix(b"\r")))


def _lines(raw: bytes, first: int, last: int, *, found: bytes = b"") -> Quote:
    if b"\0" in raw[:_LOOKED_AT]:
        return _NOT_TEXT
    total = line_count(raw)
    last = min(last, total)
    lines = lines_between(raw, first, last)
    value = cut_middle(0, visible(found))
    return Quote(
        lines=tuple(_line(first + index, line) for index, line in enumerate(lines)),
        note=lines_words(first, last, total),
        found=f"{value.head} … {value.tail}" if value.cut else value.head,
    )


def _picture(character: str) -> str:
    code = ord(character)
    if character.isprintable() or character == "\t":
        return character
    if code < _SPACE:
        return chr(_FIRST_PICTURE + code)
    return _DELETE_PICTURE if code == _DELETE else "\ufffd"
