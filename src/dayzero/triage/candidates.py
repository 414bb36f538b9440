"""Turn a log's lines into what could have caused the failure, and what only reports it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from dayzero.advisories.walls.model import WallRule
from dayzero.triage.model import Role
from dayzero.triage.records import Entry
from dayzero.triage.rules import Context, Match, match_exception, match_line
from dayzero.triage.speech import DEPTH, Speech
from dayzero.triage.traceback import Raised, Relation, Trace, belongs_to_traceback
from dayzero.triage.unloaded import features, reason

_BOX_LINES = 60
_BOOKKEEPING = ("StopIteration", "StopAsyncIteration", "CalledProcessError", "Empty", "GeneratorExit")
_EMBEDDED_ERROR = re.compile(r"(?<![\w.])(?P<type>[\w.]{0,120}(?:Error|Exception))\b(?:: |\()")
# What a compiler, a linker or a build tool calls an error, wherever a message quotes it.
_COMPILER = re.compile(
    r"^\s*(?:[^\s:]{1,200}(?::\d+|\(\d+\))(?::\d+)?: (?:fatal )?error\b"
    r"|(?:nvcc|hipcc|ptxas|cc1plus|clang|gcc|g\+\+) +fatal *:"
    r"|(?:\S*/)?(?:nvcc|hipcc|clang\S*|gcc|g\+\+|c\+\+|cc1plus|ld\S*|collect2|lld|nvlink|fatbinary|cicc|cmake|CMake)"
    r"(?: E|: (?:fatal )?e)rror\b"
    r"|(?:\S*/)?ld: cannot find )",
)
# A child that reads what its parent sent, while the parent falls.
_PIPE = re.compile(
    r"multiprocessing/(?:spawn\.py:(?:_main|spawn_main|main)|(?:connection|reduction|synchronize)\.py:\w+)$"
)
# A native stack, and what a traceback leaves where a prefix that nobody knows stands before its lines.
_OF_FRAMES = re.compile(
    r"^frame #\d+: |File \"[^\"]+\", line \d+|\b(?:raise|except) [\w.]+[(:]|\braise [\w.]+$|Traceback \(most recent call"
)
_RULE = re.compile(r"-{40,}\s*$")  # of a launcher's box
_SENTENCE = re.compile(r"(?!(?:\[?WARN|\[?INFO|Primary job))(?:\S+ ){3,}\S*[^:\s]\s*$")
_BROKEN_OFF = ("EOFError", "UnpicklingError", "BrokenPipeError", "ConnectionResetError", "FileNotFoundError")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An exception, or a line that a rule knows, that may be the root.

    Attributes:
        number: Its line.
        text: The message that names the cause, all its lines.
        said: The line of it that names the cause.
        service: Whose log it stands in.
        process: Which process wrote it.
        role: That process's part.
        level: Level of the record that holds it.
        match: The rule that knows it.
        raised: The exception, where it is one.
        trace: The traceback that it was chosen from.
        fallout: Whether it only shows that another process went first.
    """

    number: int
    text: str
    said: str
    service: str
    process: str
    role: Role
    level: str
    match: Match | None
    raised: Raised | None
    trace: Trace | None
    fallout: bool

    @property
    def depth(self) -> int:
        """Rank its process: workers lie deepest."""
        return DEPTH.get(self.role, 1)

    @property
    def native(self) -> bool:
        """Say whether it ended its process from native code, which no logger names."""
        return self.trace is not None and self.trace.native

    @property
    def soft(self) -> bool:
        """Say whether the program itself took it lightly."""
        return self.level in ("W", "D")

    @property
    def diagnostic(self) -> bool:
        """Say whether it is a compiler's or a linker's own error, outside an exception."""
        return self.raised is None and _COMPILER.match(self.text) is not None


def _choose(trace: Trace, speech: Speech, context: Context) -> tuple[Raised, Match | None] | None:
    """Choose the exception of a trace that names its cause.

    What is printed inside another's message lies deeper than it. Of exceptions raised from one another, the last known one
    speaks the user's language; of those raised while another was handled, the first is the cause.
    """
    named = [
        (raised, match_exception(raised, trace.service, context))
        for raised in trace.raised
        if speech.report(raised.lines[0][1]) is None
    ]
    if len(named) > 1:
        named = [pair for pair in named if pair[0].name not in _BOOKKEEPING] or named
        named = [pair for pair in named if pair[1] is None or not pair[1].rule.refuses] or named
    embedded = [pair for pair in named if pair[0].relation is Relation.EMBEDDED]
    pool = embedded or named
    known = [pair for pair in pool if pair[1] is not None] or [pair for pair in named if pair[1] is not None]
    if not known:
        return _unknown(pool)
    best = known[-1]
    for earlier in reversed(known[:-1]):
        other_wall = best[1] and earlier[1] and best[1].rule.wall != earlier[1].rule.wall
        says_more = best[1] and earlier[1] and not other_wall and earlier[1].rule.priority > best[1].rule.priority
        if (best[0].relation is Relation.DURING and other_wall) or says_more or _quotes(best[0], earlier[0]):
            best = earlier
    return next(pair for pair in named if pair[0].lines[0][1] == best[0].lines[0][1])


def _quotes(outer: Raised, inner: Raised) -> bool:
    said = inner.lines[0][1].partition(": ")[2]
    return bool(said) and said != outer.lines[0][1].partition(": ")[2] and said in outer.text


def _unknown(pool: list[tuple[Raised, Match | None]]) -> tuple[Raised, Match | None] | None:
    if not pool:
        return None
    first, last = pool[0], pool[-1]
    if last[0].relation is Relation.CAUSED and not _quotes(last[0], first[0]):
        return last
    return first if any(pair[0].relation is Relation.DURING for pair in pool) or _quotes(last[0], first[0]) else last


def _detail(raised: Raised) -> tuple[int, str]:
    """Give the line that names the cause inside an exception's message: a compiler's error, or pydantic's, after a header."""
    inside = raised.lines[1:]
    compiler = next((line for line in inside if _COMPILER.match(line[1])), None)
    if compiler is not None:
        return compiler
    indented = next((line for line in inside if line[1][:1].isspace() and line[1].strip()), None)
    return indented if raised.name == "ValidationError" and indented else raised.lines[0]


def _broken_off(raised: Raised) -> bool:
    last = raised.frames[-1] if raised.frames else None
    return raised.name in _BROKEN_OFF and last is not None and bool(_PIPE.search(f"{last.file}:{last.function}"))


def exceptions(context: Context, speech: Speech) -> Iterator[Candidate]:
    """Give one candidate per traceback that says more than that something else failed."""
    for trace in context.traces:
        chosen = None if trace.ignored else _choose(trace, speech, context)
        if chosen is None:
            continue
        raised, match = chosen
        number, said = _detail(raised)
        if match is not None and (number == raised.number or match.number > raised.number):
            number, said = match.number, match.line
        yield Candidate(
            number=number,
            text=raised.text,
            said=said,
            service=trace.service,
            process=trace.process or trace.pid,
            role=speech.role(trace.process, trace),
            level=trace.level,
            match=match,
            raised=raised,
            trace=trace,
            fallout=speech.is_fallout(raised.text) or _broken_off(raised),
        )


def lines(context: Context, speech: Speech, taken: frozenset[int]) -> Iterator[Candidate]:
    """Give a candidate per line outside tracebacks that a rule knows, or that a program calls an error."""
    seen: dict[str, WallRule | None] = {}
    told = {number for trace in context.traces for raised in trace.raised for number, _ in raised.lines}
    boxed = _boxed(context.entries) - told
    for entry in context.entries:
        text = entry.text
        if (
            entry.quiet
            or entry.number in taken
            or not text.strip()
            or (text[:4] == "    " and "Reason:" not in text)
            or speech.is_noise(text)
        ):
            continue
        if (text in seen and seen[text] is None) or belongs_to_traceback(text) or _OF_FRAMES.search(text):
            continue
        reported = speech.report(text)
        if reported is not None and reported[0] is Role.CONSEQUENCE:
            continue
        match = _known(entry, context)
        seen[text] = match.rule if match else None
        if match is None and (reported is not None or not (_calls_itself_error(entry) or entry.number in boxed)):
            continue
        yield Candidate(
            number=match.number if match else entry.number,
            text=text,
            said=text,
            service=entry.service,
            process=entry.process or entry.pid,
            role=speech.role(entry.process, None),
            level=entry.level,
            match=match,
            raised=None,
            trace=None,
            fallout=speech.is_fallout(text),
        )


def _known(entry: Entry, context: Context) -> Match | None:
    """Find the rule that knows a line; of a warning that something did not load, the one that knows the reason."""
    match = match_line(entry, context)
    inner = reason(entry.number, entry.text) if entry.level in ("W", "", "E") and features(entry.text) else None
    why = match_exception(inner, entry.service, context) if inner else None
    if why is None or (match is not None and (not match.rule.explains or match.rule.wall == why.rule.wall)):
        return match
    return replace(why, line=entry.text)


def _boxed(entries: Sequence[Entry]) -> frozenset[int]:
    """Give the first line of each box that a launcher draws with a rule above and one below."""
    rules = [index for index, entry in enumerate(entries) if entry.text[:1] == "-" and _RULE.match(entry.text)]
    firsts = (
        next((entry for entry in entries[above + 1 : below] if entry.text.strip()), None)
        for above, below in pairwise(rules)
        if below - above < _BOX_LINES
    )
    return frozenset(
        entry.number for entry in firsts if entry is not None and not entry.record and _SENTENCE.match(entry.text)
    )


def _calls_itself_error(entry: Entry) -> bool:
    if entry.level == "E":
        return True
    if entry.record:
        return False
    text = entry.text
    return text.lower().startswith("error: ") or bool(_EMBEDDED_ERROR.search(text) or _COMPILER.match(text))
