"""Find the place in a raw file that a claim points at: that one place, or an error."""

from dataclasses import dataclass

from dayzero.core.errors import EvidenceError
from dayzero.core.pins import Sha256
from dayzero.evidence.csv_table import CsvTable
from dayzero.evidence.json_text import JsonText
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
from dayzero.evidence.raw_bytes import Newlines, once
from dayzero.evidence.zip_members import ZipMembers

_LONGEST_QUOTE = 120
_CAPTURED = "Put the file back as it was captured, or file it anew and make the claim again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointed:
    """A value in a JSON file.

    Attributes:
        literal: The value as it is written there, quotation marks included.
        line: The 1-based line on which it begins.
    """

    literal: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """What a locator points at.

    Attributes:
        content: Its bytes: of lines without the last newline, of a JSON value as it is written, of a cell unquoted, of a
            member unpacked.
        position: Where, as places say it: ``line 448``, ``line 686-691``, ``byte 0x1f``, ``member a/b.py``; ``""`` for a file.
        line: The 1-based line on which it begins; 0 where lines mean nothing.
    """

    content: bytes
    position: str
    line: int


def locate(raw: bytes, locator: Locator) -> Located:
    """Find what a locator points at.

    Raises:
        EvidenceError: There is no such place, there is more than one, or something else stands there now.
    """
    match locator:
        case WholeFile():
            found = Located(content=raw, position="", line=0)
        case LineLocator(line=line):
            found = Located(content=locate_line(raw, locator), position=f"line {line}", line=line)
        case RangeLocator(first=first, last=last):
            content = b"\n".join(locate_range(raw, locator))
            found = Located(content=content, position=lines_position(first, last), line=first)
        case PointerLocator():
            pointed = locate_pointer(raw, locator)
            found = Located(content=pointed.literal.encode(), position=f"line {pointed.line}", line=pointed.line)
        case JsonlLocator(line=line):
            literal = locate_jsonl(raw, locator)
            found = Located(content=literal.encode(), position=f"line {line}", line=line)
        case CsvLocator():
            cell, line = once(raw, CsvTable).cell(locator.key_column, locator.key, locator.column)
            found = Located(content=cell.encode(), position=f"line {line}", line=line)
        case MemberLocator(member=member):
            found = Located(content=locate_member(raw, locator), position=f"member {member}", line=0)
        case SpanLocator(offset=offset):
            found = Located(content=locate_span(raw, locator), position=f"byte 0x{offset:x}", line=0)
    return found


def lines_position(first: int, last: int) -> str:
    """Name lines as places do: ``line 3``, ``line 3-5``."""
    return f"line {first}" if first == last else f"line {first}-{last}"


def line_count(raw: bytes) -> int:
    """Count the lines; a last one without newline counts."""
    return once(raw, _newlines).lines


def lines_between(raw: bytes, first: int, last: int) -> tuple[bytes, ...]:
    r"""Cut out lines, both ends included, without their newlines; a carriage return belongs to its line.

    Args:
        raw: The file; only ``\n`` ends a line, so that ``sed -n 448p`` shows line 448.
        first: 1-based.
        last: Not before ``first``.

    Raises:
        EvidenceError: The file has no such lines.
    """
    newlines = once(raw, _newlines)
    if not 1 <= first <= last <= newlines.lines:
        raise EvidenceError(
            f"there is no line {last}: the file has {newlines.lines}"
            if first <= last
            else f"lines {first}-{last} are none",
            hint="Point at a line that is there, counted from 1.",
        )
    cut = raw[newlines.start(first) : newlines.start(last + 1)]
    return tuple(cut.removesuffix(b"\n").split(b"\n"))


def line_locator(raw: bytes, line: int) -> LineLocator:
    """Point at a line as it stands in the file now.

    Raises:
        EvidenceError: The file has no such line.
    """
    return LineLocator(line=line, sha256=Sha256.of(lines_between(raw, line, line)[0]))


def range_locator(raw: bytes, first: int, last: int) -> RangeLocator:
    """Point at lines as they stand in the file now.

    Raises:
        EvidenceError: The file has no such lines.
    """
    return RangeLocator(first=first, last=last, sha256=Sha256.of(b"\n".join(lines_between(raw, first, last))))


def member_locator(raw: bytes, member: str) -> MemberLocator:
    """Point at a member of an archive as it is now.

    Raises:
        EvidenceError: The file is no archive, or has no such member.
    """
    return MemberLocator(member=member, sha256=Sha256.of(once(raw, ZipMembers).read(member)))


def span_locator(raw: bytes, offset: int, length: int) -> SpanLocator:
    """Point at bytes as they are in the file now.

    Raises:
        EvidenceError: The file ends before.
    """
    return SpanLocator(offset=offset, length=length, sha256=Sha256.of(_span(raw, offset, length)))


def locate_line(raw: bytes, locator: LineLocator) -> bytes:
    """Give the line that was pointed at.

    Raises:
        EvidenceError: The file has no such line, or another text stands there now.
    """
    content = lines_between(raw, locator.line, locator.line)[0]
    if Sha256.of(content) != locator.sha256:
        raise EvidenceError(
            f"line {locator.line} is not the line that was pointed at: {_quote(content)!r} stands there",
            hint=_CAPTURED,
        )
    return content


def locate_range(raw: bytes, locator: RangeLocator) -> tuple[bytes, ...]:
    """Give the lines that were pointed at.

    Raises:
        EvidenceError: The file has no such lines, or another text stands there now.
    """
    lines = lines_between(raw, locator.first, locator.last)
    if Sha256.of(b"\n".join(lines)) != locator.sha256:
        raise EvidenceError(
            f"lines {locator.first}-{locator.last} are not the lines that were pointed at: "
            f"they begin with {_quote(lines[0])!r}",
            hint=_CAPTURED,
        )
    return lines


def locate_pointer(raw: bytes, locator: PointerLocator) -> Pointed:
    """Give the value that was pointed at, as it is written.

    Raises:
        EvidenceError: The file is not strict JSON, or has no such value.
    """
    document = once(raw, JsonText)
    start, end = document.span(locator.pointer)
    return Pointed(literal=document.text[start:end], line=document.line_at(start))


def locate_jsonl(raw: bytes, locator: JsonlLocator) -> str:
    """Give the value that was pointed at, as it is written.

    Raises:
        EvidenceError: The line is not there, is not one strict JSON document, or has no such value.
    """
    line = lines_between(raw, locator.line, locator.line)[0]
    try:
        document = JsonText(line)
        start, end = document.span(locator.pointer)
    except EvidenceError as error:
        raise EvidenceError(f"line {locator.line}: {error.message}", hint=error.hint) from error
    return document.text[start:end]


def locate_cell(raw: bytes, locator: CsvLocator) -> str:
    """Give the cell that was pointed at.

    Raises:
        EvidenceError: The file is not a strict CSV file, or does not have that cell once.
    """
    return once(raw, CsvTable).cell(locator.key_column, locator.key, locator.column)[0]


def locate_member(raw: bytes, locator: MemberLocator) -> bytes:
    """Give the member that was pointed at, unpacked.

    Raises:
        EvidenceError: The file is no archive, has no such member, or another content is in it now.
    """
    content = once(raw, ZipMembers).read(locator.member)
    if Sha256.of(content) != locator.sha256:
        raise EvidenceError(f"{locator.member} is not the member that was pointed at", hint=_CAPTURED)
    return content


def locate_span(raw: bytes, locator: SpanLocator) -> bytes:
    """Give the bytes that were pointed at.

    Raises:
        EvidenceError: The file ends before, or other bytes stand there now.
    """
    content = _span(raw, locator.offset, locator.length)
    if Sha256.of(content) != locator.sha256:
        raise EvidenceError(
            f"the {locator.length} bytes from {locator.offset} are not those that were pointed at", hint=_CAPTURED
        )
    return content


def _newlines(raw: bytes) -> Newlines[bytes]:
    return Newlines(raw, b"\n")


def _span(raw: bytes, offset: int, length: int) -> bytes:
    if offset + length > len(raw):
        raise EvidenceError(
            f"there are no {length} bytes from {offset}: the file has {len(raw)}", hint="Point inside the file."
        )
    return raw[offset : offset + length]


def _quote(content: bytes) -> str:
    text = content.decode("utf-8", "replace")
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 3]}..."
