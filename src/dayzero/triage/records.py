"""Read what a line says, and who says it: prefixes of processes and records, JSON records, text escaped into one line."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import msgspec

from dayzero.triage.dialect import LogDialect
from dayzero.triage.kept import tells
from dayzero.triage.sieve import Openers
from dayzero.triage.transport import Line, last_of_bar

_MAX_PREFIXES = 4
_HEAD, _TAIL = 4096, 1024  # no rule needs more of one line, and every pattern stays cheap
_LOW = ("I", "D")
_LEVELS = {"E": "E", "C": "E", "F": "E", "W": "W", "I": "I", "D": "D", "T": "D", "N": "I"}

# Python's own logging in its usual forms; engines add theirs through their dialects.
_PYTHON = (
    re.compile(
        r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?\]?[ \t|:-]+(?:\[?(?P<source>[\w.]+)\]?[ |:-]+)?"
        r"\[?(?P<level>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\b\]?(?:[ \t]+(?P<file>[\w/.]+\.py:\d+))?[ \t|:-]*"
    ),
    re.compile(r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL):(?P<source>[\w.]+):"),
    re.compile(r"(?P<level>INFO|WARNING|ERROR|CRITICAL): {2,}"),  # uvicorn
)
_ESCAPED_NEWLINE = re.compile(r"\\n")
_ESCAPED_QUOTE = re.compile(r"\\([\"'])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What one line says.

    Attributes:
        number: Line in the log.
        service: Who carried it (a compose service, a unit, a pod); ``""`` where nothing says.
        process: The name in its innermost process prefix.
        pid: That process's id.
        level: ``E``, ``W``, ``I``, ``D``; ``""`` where the line does not say.
        source: Where the program logged it (``core.py:708``).
        text: The message.
        record: Whether a record prefix opened it.
        quiet: Whether it is a plain record of low level without a word that a rule or a traceback could need, or no text.
        starts: Where the text is joined of several lines: offset and line of each.
    """

    number: int
    text: str
    service: str = ""
    process: str = ""
    pid: str = ""
    level: str = ""
    source: str = ""
    record: bool = False
    quiet: bool = False
    starts: tuple[tuple[int, int], ...] = ()

    def line_of(self, offset: int) -> int:
        """Give the line on which a character of the text stands."""
        return next((number for start, number in reversed(self.starts) if start <= offset), self.number)

    @property
    def stream(self) -> tuple[str, str, str, str]:
        """Name what it belongs to: lines of one stream follow each other as they were written."""
        said = f"{self.source} {self.level}" if self.record else ""
        return (self.service, "" if self.pid else self.process, self.pid, said)


class _Fields(msgspec.Struct, frozen=True):
    message: str | None = None


class _JsonRecord(msgspec.Struct, frozen=True):
    """A record of a JSON formatter: Python's names, Rust tracing's, and the usual others."""

    message: str | None = None
    msg: str | None = None
    levelname: str | None = None
    level: str | int | None = None
    severity: str | None = None
    name: str | None = None
    target: str | None = None
    processName: str | None = None  # noqa: N815  (Python logging's name)
    process: int | str | None = None
    vllm_process_name: str | None = None
    exc_info: str | None = None
    exception: str | None = None
    stack_trace: str | None = None
    error: str | None = None
    fields: _Fields | None = None


_JSON = msgspec.json.Decoder(_JsonRecord)


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Every prefix and suffix that the dialects know; Python's own forms come last."""

    processes: Openers
    records: Openers
    suffixes: tuple[re.Pattern[str], ...]


@cache
def prefixes_of(dialects: tuple[LogDialect, ...]) -> Prefixes:
    """Collect what some dialects write around their messages."""
    return Prefixes(
        Openers(tuple(pattern for dialect in dialects for pattern in dialect.process_prefixes)),
        Openers((*(pattern for dialect in dialects for pattern in dialect.record_prefixes), *_PYTHON)),
        tuple(pattern for dialect in dialects for pattern in dialect.suffixes),
    )


def _level(word: str | None) -> str:
    return _LEVELS.get(word[:1].upper(), "") if word else ""


def _json_entry(entry: Entry) -> Iterator[Entry] | None:
    text = entry.text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        row = _JSON.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    message = row.message or row.msg or (row.fields.message if row.fields else None)
    if message is None:
        return None
    level = row.levelname or row.severity or (row.level if isinstance(row.level, str) else None)
    process = row.vllm_process_name or row.processName or entry.process
    base = replace(
        entry,
        process="" if process == "MainProcess" else process,
        pid=str(row.process) if row.process is not None else entry.pid,
        level=_level(level),
        source=row.name or row.target or "json",
        record=True,
    )
    details = (row.exc_info, row.exception, row.stack_trace, row.error)
    body = "\n".join((message, *(text for text in details if text)))
    if "\n" not in body:
        return iter((replace(base, text=clipped(body), quiet=base.level in _LOW and not tells(body)),))
    return (replace(base, text=clipped(part)) for part in body.split("\n"))


def _unescaped(entry: Entry) -> Iterator[Entry]:
    text = entry.text
    if text.count("\\n") > 1 or ("\\n" in text and "Traceback (most recent" in text):
        for part in _ESCAPED_NEWLINE.split(_ESCAPED_QUOTE.sub(r"\1", text.strip('"'))):
            yield replace(entry, text=clipped(part), quiet=False)
    else:
        yield replace(entry, text=clipped(text))


def clipped(text: str) -> str:
    """Give the two ends of a long line."""
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]} [...] {text[-_TAIL:]}"


class _Peeling:
    """One line whose prefixes come off, outermost first."""

    __slots__ = ("level", "pid", "process", "record", "source", "text")

    def __init__(self, line: Line) -> None:
        self.text, self.process, self.pid = line.text, "", line.pid
        self.level, self.source, self.record = "", "", False

    def peel(self, prefixes: Prefixes) -> None:
        """Take off prefixes until none is left: a launcher's logger may stand around an engine's."""
        for _ in range(_MAX_PREFIXES):
            before = self.text
            for _ in range(_MAX_PREFIXES):
                found = prefixes.processes.match(self.text)
                if found is None:
                    break
                self._process(found)
            found = prefixes.records.match(self.text)
            if found is not None:
                self._record(found)
            if self.text == before or found is None:
                return

    def _process(self, found: re.Match[str]) -> None:
        groups = found.groupdict()
        self.process = groups.get("name") or self.process
        self.pid = groups.get("pid") or self.pid
        self.text = self.text[found.end() :]

    def _record(self, found: re.Match[str]) -> None:
        groups = found.groupdict()
        process = (groups.get("process") or "").strip()
        self.level = _level(groups.get("level")) or self.level
        self.source = groups.get("source") or groups.get("file") or self.source or "log"
        self.pid = groups.get("pid") or ("" if process and not self.process else self.pid)
        self.process = process or self.process
        self.text, self.record = self.text[found.end() :], True

    def entry(self, number: int, service: str) -> Entry:
        """Give what is left as an entry."""
        quiet = self.text.count("\ufffd") * 4 > len(self.text) or (
            self.record and self.level in _LOW and not tells(self.text)
        )
        return Entry(
            number=number,
            text=self.text,
            service=service,
            process=self.process,
            pid=self.pid,
            level=self.level,
            source=self.source,
            record=self.record,
            quiet=quiet,
        )


def entries(lines: Iterable[Line], prefixes: Prefixes) -> Iterator[Entry]:
    """Read each line; a JSON or escaped record gives several entries with one number."""
    for line in lines:
        peeling = _Peeling(line)
        peeling.peel(prefixes)
        if "\r" in peeling.text:
            peeling.text = last_of_bar(peeling.text)
            peeling.peel(prefixes)
        if "[repeated " in peeling.text:
            for pattern in prefixes.suffixes:
                peeling.text = pattern.sub("", peeling.text).rstrip()
        text = peeling.text
        if "{" in text[:8] or "\\n" in text:
            entry = peeling.entry(line.number, line.service)
            yield from _json_entry(entry) or _unescaped(entry)
        else:
            peeling.text = clipped(text)
            yield peeling.entry(line.number, line.service)


def joined_cells(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Join a table's wrapped cells: a row whose first cells are empty continues the last cell of the row above."""
    held: Entry | None = None
    for entry in entries:
        cells = entry.text.strip()
        row = cells[1:-1].split("|") if len(cells) > 1 and cells[0] == cells[-1] == "|" else []
        continues = len(row) > 1 and held is not None and not any(cell.strip() for cell in row[:-1])
        if held is not None and continues:
            text = row[-1].removeprefix(" ")
            held = replace(held, text=held.text + text, starts=(*held.starts, (len(held.text), entry.number)))
            continue
        if held is not None:
            yield held
            held = None
        if len(row) > 1 and row[0].strip():
            held = replace(entry, text=row[-1].strip(), starts=((0, entry.number),))
        else:
            yield entry
    if held is not None:
        yield held
