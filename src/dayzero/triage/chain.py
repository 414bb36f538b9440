"""Lay out the failure: which lines carry it from the root to the last process that fell."""

import re
from collections.abc import Iterator, Sequence

from dayzero.triage.candidates import Candidate
from dayzero.triage.model import Fingerprint, Link, Role
from dayzero.triage.records import Entry
from dayzero.triage.redact import redacted
from dayzero.triage.rules import Context
from dayzero.triage.select import Choice
from dayzero.triage.speech import Speech
from dayzero.triage.traceback import Raised, Relation

_ORDER = {role: rank for rank, role in enumerate(Role)}
_SHORTEST_ECHO = 12
_PACKAGES = re.compile(r".*(?:site|dist)-packages/")
_ENGINES = "vllm|sglang|tensorrt_llm|text_generation_server|lmdeploy|ktransformers"
_ENGINE = re.compile(rf"(?:^|/)(?:{_ENGINES})/")
_CHECKOUT = re.compile(rf".*/(?=(?:{_ENGINES})/)")


def link(role: Role, number: int, text: str) -> Link:
    """Give a link of the chain, secrets redacted."""
    return Link(role=role, line=number, text=redacted(text.strip()))


def root_link(root: Candidate) -> Link:
    """Give the root's link."""
    return link(Role.ROOT, root.number, root.said)


def _within(root: Candidate) -> Iterator[Link]:
    """Give the other exceptions of the root's own traceback."""
    if root.trace is None or root.raised is None:
        return
    if root.said != root.raised.lines[0][1]:
        yield link(Role.WRAPPER, root.raised.number, root.raised.lines[0][1])
    place = root.trace.raised.index(root.raised)
    for at, raised in enumerate(root.trace.raised):
        if at != place and raised.lines[0][1] != root.raised.lines[0][1]:
            later = at > place and raised.relation is not Relation.EMBEDDED
            yield link(Role.CONSEQUENCE if later else Role.WRAPPER, raised.number, raised.lines[0][1])


def reports(context: Context, speech: Speech) -> Iterator[Link]:
    """Give the first line of each kind of report, in the order of the log."""
    seen: set[tuple[Role, str]] = set()
    clients = [
        (trace.number, trace.raised[-1].number)
        for trace in context.traces
        if speech.role(trace.process, trace) is Role.CLIENT
    ]
    for entry in context.entries:
        found = None if entry.quiet else speech.report(entry.text)
        if found is None or (found[0], found[2].pattern) in seen:
            continue
        role = found[0]
        seen.add((role, found[2].pattern))
        if role is Role.API_SERVER and any(first <= entry.number <= last for first, last in clients):
            role = Role.CLIENT
        yield link(role, entry.number, entry.text)


def chain(choice: Choice, context: Context, speech: Speech) -> tuple[Link, ...]:
    """Give every link, from the cause outwards."""
    links = list(reports(context, speech))
    root = choice.root
    if root is not None:
        links.append(root_link(root))
        links += _within(root)
        if root.match:
            links += [link(Role.EVIDENCE, entry.number, entry.text) for entry in root.match.evidence]
    if choice.explained is not None:
        role = choice.explained.role if choice.explained.role in (Role.WORKER, Role.SCHEDULER) else Role.SYMPTOM
        links.append(link(role, choice.explained.number, choice.explained.said))
    links += [link(Role.MISLEADING, one.number, one.said) for one in choice.misleading]
    ordered = sorted(links, key=lambda one: (_ORDER[one.role], one.line))
    unique: dict[int, Link] = {}
    for one in ordered:
        unique.setdefault(one.line, one)
    return tuple(unique.values())


def fingerprint(root: Candidate) -> Fingerprint:
    """Name what equal failures share: the exception's type and the engine's last frame."""
    if root.raised is None:
        return Fingerprint(exception="", frame="")
    return Fingerprint(exception=root.raised.name, frame=_last_frame(root.raised))


def _last_frame(raised: Raised) -> str:
    own = [frame for frame in raised.frames if _ENGINE.search(frame.file)]
    last = (own or list(raised.frames))[-1:]
    return "".join(f"{_packaged(frame.file)}:{frame.function}" for frame in last)


def _packaged(file: str) -> str:
    """Give the path from its package on, also of an editable install, so that two hosts' paths are equal."""
    short = _PACKAGES.sub("", file)
    return _CHECKOUT.sub("", short) if short.startswith("/") else short


def same_as(root: Candidate, context: Context, entries: Sequence[Entry]) -> tuple[int, ...]:
    """Give the other lines of the same failure: the same words, or the same exception from the same frame."""
    words = root.said.strip()
    said = words.partition(": ")[2] if root.raised and root.said == root.raised.lines[0][1] else words
    numbers: set[int] = set()
    if len(said) >= _SHORTEST_ECHO:
        numbers.update(entry.number for entry in entries if said in entry.text)
    if root.raised and root.raised.frames:
        mine = fingerprint(root)
        numbers.update(
            raised.number
            for trace in context.traces
            for raised in trace.raised
            if raised.frames and Fingerprint(exception=raised.name, frame=_last_frame(raised)) == mine
        )
    numbers.discard(root.number)
    if root.raised:
        numbers.discard(root.raised.number)
    return tuple(sorted(numbers))
