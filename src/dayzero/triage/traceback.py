"""Read Python tracebacks out of interleaved streams: a state machine per stream.

It survives lost indentation, frames without source, chained and embedded exceptions, notes, remote tracebacks, tracebacks
whose head was cut off, and other programs' lines in between.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from dayzero.triage.model import Frame
from dayzero.triage.records import Entry

_HEADER = re.compile(r"Traceback \(most recent call last\):?\s*$")
_FRAME = re.compile(r"[\s|]*+File \"(?P<file>[^\"]+)\", line (?P<line>\d+)(?:, in (?P<function>.+))?")
_TYPE = r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?:\([\w.]+\))?"
_LOOSE = re.compile(rf"(?:\|\s*)?{_TYPE}(?::(?:\s+(?P<message>.*))?|\s*)$", re.DOTALL)
_STRICT = re.compile(
    r"(?:\|\s*)?(?P<type>(?:[A-Za-z_]\w*\.)*_?[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Iteration|NotFound|Timeout|Warning|Died|Fault|Failed)"
    r"|(?:[a-z_]\w*\.)+[A-Z]\w*|Exception)(?:\([\w.]+\))?(?::\s+(?P<message>.*)|:?\s*)$",
    re.DOTALL,
)
_WORD_FIRST = re.compile(
    r"(?:raise|return|assert|self|super|with|for|if|else|try|yield|await|import|from|print|def|class)\b"
)
_CAUSE = "The above exception was the direct cause of the following exception:"
_CONTEXT = "During handling of the above exception, another exception occurred:"
_ANNOUNCED = re.compile(r"(?:Process|Thread|Exception in thread) (?P<name>[\w:.-]+)(?: \([\w.-]+\))?:\s*$")
_IGNORED = re.compile(r"Exception ignored (?:in|on)\b|exception was never retrieved|Error in atexit")
_QUOTES = ('"""', "'''")
_MARKS = re.compile(r"[\s|]*+[~^][~^\s]*+$")
_TERMINATE = re.compile(
    r"terminate called (?:after throwing an instance of '(?P<type>[^']+)'|without an active exception)"
)
_WHAT = re.compile(r"\s*+what\(\): ")

_STRAYS = 12
_CONTINUATION = 64
_FRAMES = 400


class Relation(Enum):
    """How an exception stands to the one before it in its trace."""

    FIRST = "first"
    CAUSED = "caused"  # raised from the one before
    DURING = "during"  # raised while the one before was handled
    EMBEDDED = "embedded"  # printed inside the message of the one before


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """One exception.

    Attributes:
        type: As written, with its package where there is one.
        lines: Its exception line and the lines that continue it: number and text.
        frames: Outermost first.
        relation: To the exception before it.
    """

    type: str
    lines: tuple[tuple[int, str], ...]
    frames: tuple[Frame, ...]
    relation: Relation

    @property
    def number(self) -> int:
        """Line of the exception itself."""
        return self.lines[0][0]

    @property
    def text(self) -> str:
        """The exception line with everything that continues it."""
        return "\n".join(text for _, text in self.lines)

    @property
    def name(self) -> str:
        """Its type without the package."""
        return self.type.rsplit(".", 1)[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The exceptions that one report holds, in the order in which they were printed, and who printed them."""

    raised: tuple[Raised, ...]
    service: str
    process: str
    pid: str
    level: str
    number: int
    ignored: bool
    native: bool = False  # a C++ exception that nobody caught


@dataclass(slots=True)
class _Building:
    number: int
    frames: list[Frame] = field(default_factory=list)
    type: str = ""
    lines: list[tuple[int, str]] = field(default_factory=list)
    relation: Relation = Relation.FIRST
    indented: bool = True
    native: bool = False

    def done(self) -> Raised:
        return Raised(type=self.type, lines=tuple(self.lines), frames=tuple(self.frames), relation=self.relation)


class _Stream:
    """The state machine of one stream."""

    def __init__(self, ends_message: Callable[[str], bool]) -> None:
        self.ends_message = ends_message
        self.finished: list[Trace] = []
        self.owner = ""
        self.ignored = False
        self._reset()

    def _reset(self) -> None:
        self.raised: list[Raised] = []
        self.now: _Building | None = None
        self.relation = Relation.FIRST
        self.strays = 0
        self.first: Entry | None = None
        self.ignored_now = False

    def close(self) -> None:
        """Finish what is open."""
        if self.now and self.now.type:
            self.raised.append(self.now.done())
        if self.raised and self.first:
            self.finished.append(
                Trace(
                    raised=tuple(self.raised),
                    service=self.first.service,
                    process=self.first.process or self.owner,
                    pid=self.first.pid,
                    level=self.first.level,
                    number=self.first.number,
                    ignored=self.ignored_now,
                    native=bool(self.now and self.now.native),
                )
            )
            self.owner = ""
        self._reset()

    def waits_for_frames(self) -> bool:
        """Say whether a header came and nothing after it."""
        return self.now is not None and not self.now.frames and not self.now.type

    def adopt(self, other: "_Stream") -> None:
        """Take over a traceback whose header stood in a record, while its frames stand bare."""
        self.close()
        self.raised, self.now, self.relation = other.raised, other.now, other.relation
        self.first, self.ignored_now = other.first, other.ignored_now
        other._reset()  # noqa: SLF001  (same class)

    def feed(self, entry: Entry) -> None:
        """Take the stream's next line."""
        text = entry.text
        stripped = text.strip()
        if "Traceback (most recent" in text and _HEADER.search(text):
            self._header(entry)
        elif text.startswith("terminate called"):
            self._terminate(entry)
        elif stripped in (_CAUSE, _CONTEXT):
            self._connect(stripped)
        elif 'File "' in text and _FRAME.match(text) and (self.now is not None or not self.raised):
            self._frame(entry)
        elif self.now is not None and not self.now.type:
            self._in_frames(entry)
        elif self.now is not None:
            self._in_message(entry)
        else:
            self._idle(entry)

    def _header(self, entry: Entry) -> None:
        embedded = self.now is not None and self.now.type and (entry.record or self._quoted())
        if self.now is not None and self.now.type:
            if embedded or self.relation is not Relation.FIRST:
                self.raised.append(self.now.done())
                self.now = None
            else:
                self.close()
        elif self.now is not None and self.now.frames:
            self.close()  # the head of one was cut, or its end
        relation = (
            self.relation if self.relation is not Relation.FIRST else Relation.EMBEDDED if embedded else Relation.FIRST
        )
        self._open(entry, relation)

    def _quoted(self) -> bool:
        return bool(self.now and len(self.now.lines) > 1 and self.now.lines[-1][1].strip() in _QUOTES)

    def _open(self, entry: Entry, relation: Relation) -> None:
        if self.first is None:
            self.first = entry
            self.ignored_now, self.ignored = self.ignored, False
        self.now = _Building(number=entry.number, relation=relation)
        self.relation, self.strays = Relation.FIRST, 0

    def _connect(self, connector: str) -> None:
        if self.now is not None and self.now.type:
            self.raised.append(self.now.done())
            self.now = None
        self.relation = Relation.CAUSED if connector == _CAUSE else Relation.DURING

    def _frame(self, entry: Entry) -> None:
        found = _FRAME.match(entry.text)
        if found is None:
            return
        if self.now is None:
            self._open(entry, self.relation)
        elif self.now.type:  # a remote traceback follows its exception without a header
            self.raised.append(self.now.done())
            self._open(entry, Relation.EMBEDDED)
        if self.now is not None:
            self.now.indented = entry.text[:1].isspace() or entry.text[:1] == "|"
            if len(self.now.frames) < _FRAMES:
                self.now.frames.append(
                    Frame(file=found["file"], line=int(found["line"]), function=(found["function"] or "").strip())
                )
        self.strays = 0

    def _terminate(self, entry: Entry) -> None:
        found = _TERMINATE.match(entry.text)
        if found is None:
            return
        self.close()
        self._open(entry, Relation.FIRST)
        if self.now is not None:
            self.now.type, self.now.native = found["type"] or "terminate", True
            self.now.lines = [(entry.number, entry.text)]

    def _in_frames(self, entry: Entry) -> None:
        text, now = entry.text, self.now
        if now is None or not text.strip() or (now.indented and text[:1].isspace()):
            return
        pattern = _LOOSE if now.indented and now.frames else _STRICT
        found = None if _WORD_FIRST.match(text) else pattern.match(text)
        if found:
            now.type, now.lines = found["type"], [(entry.number, text)]
            return
        self.strays += 1
        if self.strays > _STRAYS and now.indented:
            self.close()

    def _in_message(self, entry: Entry) -> None:
        now = self.now
        if now is None:
            return
        if now.native and len(now.lines) == 1 and _WHAT.match(entry.text):
            now.lines = [(entry.number, entry.text)]  # what it says names the cause better than its type
            return
        another = not now.frames and _STRICT.match(entry.text) is not None
        if another or self.ends_message(entry.text) or _ANNOUNCED.match(entry.text) or len(now.lines) > _CONTINUATION:
            self.close()
            self._idle(entry)
        else:
            now.lines.append((entry.number, entry.text))

    def _idle(self, entry: Entry) -> None:
        text = entry.text
        announced = _ANNOUNCED.match(text)
        if announced:
            self.close()
            self.owner = announced["name"]
        elif _IGNORED.search(text):
            self.ignored = True
        else:
            found = _STRICT.match(text)
            if found and (not entry.record or entry.level in ("E", "")):
                self._open(entry, self.relation)
                if self.now is not None:
                    self.now.type, self.now.lines = found["type"], [(entry.number, text)]


def belongs_to_traceback(text: str) -> bool:
    """Say whether a line is a traceback's header, one of its frames, its marks below the source or its connectors."""
    return (
        ('File "' in text and _FRAME.match(text) is not None)
        or ("Traceback (most recent" in text and _HEADER.search(text) is not None)
        or text.strip() in (_CAUSE, _CONTEXT)
        or _MARKS.match(text) is not None
    )


def traces(entries: Iterable[Entry], ends_message: Callable[[str], bool]) -> Iterator[Trace]:
    """Find every traceback and bare exception line.

    Args:
        entries: The log's lines, in order.
        ends_message: Says that a line is a report of its own, so that it cannot continue an exception's message.
    """
    streams: dict[tuple[str, str, str, str], _Stream] = {}
    waiting: dict[str, _Stream] = {}
    for entry in entries:
        key = entry.stream
        stream = streams.get(key)
        if entry.quiet and (stream is None or stream.now is None):
            continue
        if stream is None:
            stream = streams[key] = _Stream(ends_message)
        if stream.now is None and 'File "' in entry.text and _FRAME.match(entry.text):
            other = waiting.get(entry.service)
            if other is not None and other is not stream and other.waits_for_frames():
                stream.adopt(other)
        stream.feed(entry)
        if entry.record and stream.waits_for_frames():
            waiting[entry.service] = stream
        if stream.finished:
            yield from stream.finished
            stream.finished.clear()
    for stream in streams.values():
        stream.close()
        yield from stream.finished
