"""Put the answer together."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dayzero.advisories.walls.model import WallRule
from dayzero.triage import candidates
from dayzero.triage.attempts import Attempt, attempts
from dayzero.triage.candidates import Candidate
from dayzero.triage.chain import chain, fingerprint, link, reports, root_link, same_as
from dayzero.triage.dialect import LogDialect
from dayzero.triage.kept import Kept
from dayzero.triage.model import (
    CauseNotInLog,
    Diagnosis,
    Link,
    Log,
    NamedWall,
    Quantity,
    Resolution,
    Role,
    RootFound,
    Started,
    UnknownWall,
)
from dayzero.triage.records import Entry, entries, joined_cells, prefixes_of
from dayzero.triage.redact import redacted
from dayzero.triage.rules import Context, match_exception, spoken
from dayzero.triage.select import Choice, choose
from dayzero.triage.speech import Speech
from dayzero.triage.traceback import Raised, Relation, traces
from dayzero.triage.transport import carried, compose_services, tags_of, whole_lines

_MAX_CANDIDATES = 2000
_MEMORY = re.compile(r"[Aa]llocat|[Mm]emory")
_LEDGER = re.compile(
    r"(?P<value>\d[\d.]*) (?P<unit>[KMGT]i?B) (?P<name>already allocated|current active|total capacity|reserved|free)\b"
    r"|(?:buffer of size|[Rr]equested (?:size|amount|buffer)[^\d\n]{0,40}) ?\(?(?P<bytes>\d{4,})\b"
)
_LONGEST_VALUE = 200  # a set of a thousand tensor names is no value


def answer(
    kept: Kept, dialects: Sequence[LogDialect], walls: Sequence[WallRule], *, sha256: str, size_bytes: int
) -> Diagnosis:
    """Answer from what was kept of a log."""
    speech = Speech(dialects)
    whole = list(whole_lines(kept.numbered()))
    services = compose_services(whole)
    lines = list(carried(whole, services, tags_of(whole, services)))
    everything = tuple(joined_cells(entries(lines, prefixes_of(speech.dialects))))
    marks = speech.marks(everything)
    ended = frozenset((line.service, line.number) for line in lines if line.ended)
    tried = attempts(everything, ended, speech, marks)
    chosen = [attempt for runs in tried.values() if (attempt := _last_that_ended(runs)) is not None]
    fallen = [attempt for attempt in chosen if attempt.started is None]
    log = Log(
        sha256=sha256,
        size_bytes=size_bytes,
        lines=kept.lines,
        left_out=kept.left_out,
        engine=marks.engine,
        version=marks.version,
        attempts=kept.begun + (_most(tried) or 1),
        exits=speech.exits(everything),
        stages=marks.stages,
    )
    rules = spoken(walls, marks.engine)
    if not fallen and chosen:
        return _started(chosen[0], log, speech, rules)
    read = tuple({id(entry): entry for attempt in fallen for entry in attempt.entries}.values()) or everything
    return _failed(tuple(sorted(read, key=lambda entry: entry.number)), everything, log, speech, rules)


def _most(tried: Mapping[str, Sequence[Attempt]]) -> int:
    return max((sum(run.fell or run.started is not None for run in runs) for runs in tried.values()), default=0)


def _last_that_ended(runs: Sequence[Attempt]) -> Attempt | None:
    return next((run for run in reversed(runs) if run.fell or run.started is not None), None)


def _candidates(context: Context, speech: Speech) -> tuple[list[Candidate], list[Candidate]]:
    raised = candidates.exceptions(context, speech)
    taken = frozenset(
        one.number for trace in context.traces for one in trace.raised if speech.report(one.lines[0][1]) is None
    )
    return _distinct(raised), _distinct(candidates.lines(context, speech, taken))


def _distinct(found: Iterable[Candidate]) -> list[Candidate]:
    """Keep the first of equal candidates, and no more than choosing can weigh against one another."""
    first: dict[tuple[str, str, str], Candidate] = {}
    for one in found:
        first.setdefault((one.process, one.level, one.text), one)
        if len(first) == _MAX_CANDIDATES:
            break
    return list(first.values())


def _started(attempt: Attempt, log: Log, speech: Speech, walls: Sequence[WallRule]) -> Started:
    marker = attempt.started
    number = marker.number if marker else 0
    after = tuple(entry for entry in attempt.entries if entry.number > number)
    context = Context(after, tuple(traces(after, speech.ends_message)), walls)
    hard = [one for one in candidates.exceptions(context, speech) if not one.soft and not one.fallout]
    fell = (one for one in reports(context, speech) if one.role is not Role.CONSEQUENCE)
    later = next((root_link(one) for one in hard), None) or next(fell, None)
    text = marker.text if marker else ""
    return Started(marker=link(Role.SERVER, number, text), later=later, log=log)


def _failed(
    read: tuple[Entry, ...], everything: tuple[Entry, ...], log: Log, speech: Speech, walls: Sequence[WallRule]
) -> Diagnosis:
    context = Context(read, tuple(traces(read, speech.ends_message)), walls)
    raised, known = _candidates(context, speech)
    choice = choose(raised, known, read, speech, lambda: _quoted(context, speech), cascades=speech.cascades(log.engine))
    links = chain(choice, context, speech)
    root = choice.root
    if root is None:
        return _refused(choice, links, log)
    advice = [
        reason
        for dialect in speech.dialects
        for pattern, reason in dialect.misleading_advice
        if pattern.search(root.text)
    ]
    mark = fingerprint(root)
    return RootFound(
        root=root_link(root),
        same_as=same_as(root, context, everything),
        chain=links,
        wall=_wall(root),
        numbers=_numbers(root),
        fingerprint=replace(mark, frame=redacted(mark.frame)),
        frames=tuple(replace(at, file=redacted(at.file)) for at in root.raised.frames) if root.raised else (),
        advice=tuple(advice),
        log=log,
    )


def _quoted(context: Context, speech: Speech) -> Candidate | None:
    """Find the cause that a report quotes, where the process that met it left no lines of its own."""
    for entry in context.entries:
        found = None if entry.quiet else speech.report(entry.text)
        words = found[1].groupdict().get("quoted") if found else None
        if not words:
            continue
        name = re.match(r"(?:\w+\.)*\w+(?=: )", words)
        raised = Raised(
            type=name[0] if name else "", lines=((entry.number, words),), frames=(), relation=Relation.FIRST
        )
        return Candidate(
            number=entry.number,
            text=words,
            said=words,
            service=entry.service,
            process=entry.process,
            role=Role.EXECUTOR,
            level="E",
            match=match_exception(raised, entry.service, context),
            raised=raised,
            trace=None,
            fallout=False,
        )
    return None


def _wall(candidate: Candidate) -> NamedWall | UnknownWall:
    if candidate.match is None:
        return UnknownWall()
    rule = candidate.match.rule
    return NamedWall(
        wall=rule.wall,
        category=rule.category,
        rule=rule.id,
        version=rule.version,
        title=rule.title,
        resolution=Resolution(
            text=rule.remedy.text, confirmed_by=rule.remedy.confirmed_by, reference=rule.remedy.reference
        ),
        would_confirm=rule.would_confirm,
    )


def _numbers(root: Candidate) -> tuple[Quantity, ...]:
    """Give what the rule's groups carry, and of a memory ledger also the rows that the rule does not name."""
    if root.match is None:
        return ()
    numbers = list(root.match.numbers)
    seen = {(one.value, one.unit) for one in numbers}
    for found in _LEDGER.finditer(root.text) if _MEMORY.search(root.text) else ():
        value, unit = found["value"] or found["bytes"], found["unit"] or "bytes"
        name = (found["name"] or "requested").replace(" ", "_")
        if (value, unit) not in seen:
            numbers.append(Quantity(name=name, value=value, unit=unit, line=root.number))
    return tuple(replace(one, value=_short(redacted(one.value))) for one in numbers)


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]} [...]"


def _refused(choice: Choice, links: tuple[Link, ...], log: Log) -> CauseNotInLog:
    last = choice.last
    collect = [
        "the whole log from the process's first line, of every process and rank (kubectl logs --previous after a restart)"
    ]
    if last is not None and last.match is not None and last.match.rule.refuses:
        reason = last.match.rule.title
        collect.insert(0, last.match.rule.remedy.text)
    elif links:
        reason = "These lines only report that something else failed; what failed stands above them or in another process's log."
    else:
        reason = "Nothing in these lines says that the engine served, or that it failed."
    final = link(Role.SERVER, last.number, last.text) if last else links[-1] if links else None
    return CauseNotInLog(
        last=final,
        chain=links,
        reason=reason,
        collect=tuple(collect),
        wall=_wall(last) if last and last.match and last.match.rule.refuses else UnknownWall(),
        log=log,
    )
