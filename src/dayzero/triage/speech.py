"""What all dialects say together: which line reports, is noise or fallout, begins or serves, and who writes it."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from dayzero.triage.dialect import LogDialect, Saying
from dayzero.triage.model import Exit, Role, Stage
from dayzero.triage.records import Entry
from dayzero.triage.sieve import Sieve
from dayzero.triage.traceback import Trace

DEPTH = {Role.WORKER: 3, Role.RAY: 3, Role.SCHEDULER: 3, Role.EXECUTOR: 2, Role.ENGINE_CORE: 2}
_MAX_EXITS = 32
_AGAIN = ("Scheduled restart job", " (restarting)")  # supervisors


@dataclass(frozen=True, slots=True)
class _Sieves:
    reports: Sieve
    roles: tuple[Role, ...]
    noise: Sieve
    fallout: Sieve
    exits: Sieve
    marks: Sieve
    meanings: tuple[tuple[str, str, str], ...]  # of each mark: its dialect, its kind, its stage


@cache
def _sieves(dialects: tuple[LogDialect, ...]) -> _Sieves:
    marks = [mark for dialect in dialects for mark in _marks_of(dialect)]
    reports = [saying for dialect in dialects for saying in dialect.reports]
    return _Sieves(
        Sieve([saying.pattern for saying in reports]),
        tuple(saying.role for saying in reports),
        Sieve([pattern for dialect in dialects for pattern in dialect.noise]),
        Sieve([pattern for dialect in dialects for pattern in dialect.fallout]),
        Sieve([pattern for dialect in dialects for pattern in dialect.exits]),
        Sieve([pattern for pattern, _ in marks]),
        tuple(meaning for _, meaning in marks),
    )


def _marks_of(dialect: LogDialect) -> Iterable[tuple[re.Pattern[str], tuple[str, str, str]]]:
    if dialect.signature is not None:
        yield dialect.signature, (dialect.name, "signature", "")
    for kind in ("began", "started", "versions"):
        for pattern in getattr(dialect, kind):
            yield pattern, (dialect.name, kind, "")
    for mark in dialect.stages:
        yield mark.pattern, (dialect.name, "stage", mark.stage)


def beginnings(dialects: Sequence[LogDialect]) -> tuple[str, ...]:
    """Give words of which the first line of each attempt holds one."""
    return (*Sieve([pattern for dialect in dialects for pattern in dialect.began]).words, *_AGAIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What a log says of itself.

    Attributes:
        engine: Which engine wrote it; ``""`` when it does not say.
        version: That engine's version.
        began: Lines with which an attempt begins.
        started: Lines that say that the engine serves, in its own words; in anybody's where the log names no engine.
        perhaps: Lines that say so in another engine's words: they count where nothing fell.
        stages: The last stage of each process.
    """

    engine: str
    version: str
    began: frozenset[int]
    started: frozenset[int]
    perhaps: frozenset[int]
    stages: tuple[Stage, ...]


class Speech:
    """The dialects' sayings in one place; what was asked of a text once is remembered as long as this lives.

    Args:
        dialects: Every dialect that may have written the log.
    """

    def __init__(self, dialects: Sequence[LogDialect]) -> None:
        self.dialects = tuple(dialects)
        self._sieves = _sieves(self.dialects)
        self._reports: dict[str, tuple[Role, re.Match[str], re.Pattern[str]] | None] = {}
        self._noise: dict[str, bool] = {}

    def report(self, text: str) -> tuple[Role, re.Match[str], re.Pattern[str]] | None:
        """Find the report that a line is."""
        if text not in self._reports:
            found = self._sieves.reports.first(text)
            self._reports[text] = (self._sieves.roles[found[0]], found[1], found[1].re) if found else None
        return self._reports[text]

    def ends_message(self, text: str) -> bool:
        """Say whether a line stands on its own and continues no exception."""
        return not text[:1].isspace() and (self.report(text) is not None or self.is_noise(text))

    def is_noise(self, text: str) -> bool:
        """Say whether a line is known to mean nothing."""
        if text not in self._noise:
            self._noise[text] = self._sieves.noise.first(text) is not None
        return self._noise[text]

    def is_fallout(self, text: str) -> bool:
        """Say whether an exception shows that another process went first."""
        return self._sieves.fallout.first(text) is not None

    def cascades(self, engine: str) -> bool:
        """Say whether each caller of an engine reports an error again."""
        return any(dialect.cascades for dialect in self.dialects if dialect.name == engine)

    def role(self, process: str, trace: Trace | None) -> Role:
        """Say which part a process has, by its name or by what its traceback runs through."""
        named = (
            saying.role
            for dialect in self.dialects
            for saying in dialect.process_roles
            if process and saying.pattern.match(process)
        )
        by_name = next(named, Role.SERVER)
        by_frames = _by_frames(trace, [saying for dialect in self.dialects for saying in dialect.frame_roles])
        return by_name if by_frames is Role.SERVER or DEPTH.get(by_name, 0) >= DEPTH.get(by_frames, 0) else by_frames

    def exits(self, entries: Sequence[Entry]) -> tuple[Exit, ...]:
        """Find how processes ended, the first 32."""
        seen: list[Exit] = []
        for entry in entries:
            found = None if entry.quiet else self._sieves.exits.first(entry.text)
            if found is not None:
                process = found[1].groupdict().get("process") or entry.service or entry.process
                seen.append(Exit(process=process, status=found[1]["status"], line=entry.number))
                if len(seen) == _MAX_EXITS:
                    break
        return tuple(seen)

    def marks(self, entries: Sequence[Entry]) -> Marks:
        """Read what the log says of itself, in one pass."""
        sieve, meanings = self._sieves.marks, self._sieves.meanings
        signed: Counter[str] = Counter()
        stages: dict[tuple[str, str], Stage] = {}
        lines: dict[tuple[str, str], list[int]] = {}
        versions: dict[str, str] = {}
        for entry in entries:
            if entry.quiet and not entry.record:
                continue  # no text
            for index in sieve.candidates(entry.text):
                dialect, kind, stage = meanings[index]
                found = sieve.patterns[index].search(entry.text)
                if found is None:
                    continue
                if kind == "signature":
                    signed[dialect] += 1
                elif kind == "stage":
                    process = entry.process or entry.service
                    stages[entry.process, entry.pid] = Stage(process=process, stage=stage, line=entry.number)
                elif kind == "versions":
                    versions.setdefault(dialect, found["version"])
                else:
                    lines.setdefault((dialect, kind), []).append(entry.number)
        engine = max(signed.items(), key=lambda item: item[1], default=("", 0))[0]
        perhaps = _of("started", lines)
        return Marks(
            engine=engine,
            version=versions.get(engine, ""),
            began=_of("began", lines),
            started=frozenset(lines.get((engine, "started"), ())) if engine else perhaps,
            perhaps=perhaps,
            stages=tuple(stages.values()),
        )


def _of(kind: str, lines: Mapping[tuple[str, str], Sequence[int]]) -> frozenset[int]:
    return frozenset(number for (_, of), numbers in lines.items() if of == kind for number in numbers)


def _by_frames(trace: Trace | None, sayings: Sequence[Saying]) -> Role:
    frames = [f"{frame.file}:{frame.function}" for raised in trace.raised for frame in raised.frames] if trace else []
    whole = "\n".join(frames)
    return next((saying.role for saying in sayings if saying.pattern.search(whole)), Role.SERVER)
