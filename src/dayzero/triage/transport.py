"""Take off what carried a line: container runtimes, compose, journals, CI runners, wrappers, colours, progress bars."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from dayzero.triage.sieve import Openers
from dayzero.triage.tags import Tags, learned

MAX_JOINED = 1 << 18
_MAX_LAYERS = 6

# An escape that lost its first byte on the way is still one.
_ESCAPES = re.compile(
    r"(?:\x1b|(?<![\w\x1b])(?=\[\d{1,2}(?:;\d{1,3}){0,4}m))"
    r"(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])|_bk;t=\d+\x07"
)
_CLOCK = r"\d\d:\d\d:\d\d"
_ISO = rf"\d{{4}}-\d\d-\d\dT{_CLOCK}(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)"

# What a level of indirection writes before a line. Groups: service, pid.
_CRI = re.compile(rf"{_ISO} (?P<stream>stdout|stderr) (?P<tag>[FP])(?::\w+)* ")
_LAYERS = Openers(
    (
        re.compile(
            rf"(?:[A-Z][a-z]{{2}} [ \d]?\d {_CLOCK}(?:\.\d+)?|{_ISO}) \S+ (?P<service>[^\s\[\]:|]+)\[(?P<pid>\d+)\]: ?"
        ),  # journal
        re.compile(rf"[A-Z][a-z]{{2}} [ \d]?\d {_CLOCK} [\w.-]+ (?P<service>kernel|systemd): "),
        re.compile(rf"{_ISO} [0-9a-f]{{2}}[OE](?:[ +]|$)"),  # a CI runner's stream and direction
        re.compile(rf"{_ISO}(?:[ \t]|$)"),  # docker --timestamps, hosted CI
        re.compile(r"\{[A-Za-z_]\w*=\"[^\"\n]*\"(?:, ?[A-Za-z_]\w*=\"[^\"\n]*\")*\}(?:[ \t]|$)"),  # log queries
        re.compile(r"\[[\w.-]+,(?P<pid>\d+)\](?:<\w+>): ?"),  # mpirun --tag-output
        re.compile(rf"\[{_ISO}\] ?"),  # CI
        re.compile(rf"\[?[A-Z][a-z]{{2}} [ \d]?\d +{_CLOCK}\.\d+\]? \| "),  # Modal
        re.compile(rf"\d{{4}}-\d\d-\d\d {_CLOCK}[.,]\d+ \[(?:[A-Z][a-z]+|[A-Z]+)\] (?:\([A-Za-z]\w*\) )?"),  # wrapper
        re.compile(r"\[pod/(?P<service>[^\]\s]+)\] "),  # kubectl logs --prefix
    )
)
_COMPOSE = re.compile(r"(?P<service>[A-Za-z0-9][\w.-]*) {1,60}\| ?")
_COMPOSE_END = re.compile(r"(?P<service>[A-Za-z0-9][\w.-]*) exited with code (?P<code>\d+)(?P<again> \(restarting\))?$")


@dataclass(frozen=True, slots=True)
class Line:
    """One line without what carried it; ``number`` counts as ``sed -n Np`` does."""

    number: int
    text: str
    service: str = ""
    pid: str = ""
    ended: bool = False  # the supervisor says that the service's attempt ended here


class _Wrapped(msgspec.Struct, frozen=True):
    """A line inside a runtime's or a collector's JSON object."""

    log: str | None = None  # docker's json-file, fluent-bit
    line: str | None = None
    body: str | None = None
    message: str | None = None
    msg: str | None = None
    stream: object = None
    kubernetes: object = None
    docker: object = None
    agent: object = None
    container_name: object = None
    container_id: object = None
    textPayload: str | None = None  # noqa: N815  (Cloud Logging's name)
    MESSAGE: str | None = None  # journalctl -o json
    SYSLOG_IDENTIFIER: str | None = None
    PID: str | None = msgspec.field(default=None, name="_PID")


_WRAPPED = msgspec.json.Decoder(_Wrapped)


@dataclass(frozen=True, slots=True)
class _Peeled:
    text: str
    service: str
    pid: str


def without_escapes(text: str) -> str:
    """Take off colours and other terminal escapes."""
    return _ESCAPES.sub("", text) if "\x1b" in text or "_bk;" in text or "[0m" in text else text


def last_of_bar(text: str) -> str:
    """Give what a terminal would show last of a line that carriage returns overwrite."""
    text = text.rstrip("\r")
    return next((part for part in reversed(text.split("\r")) if part.strip()), "") if "\r" in text else text


def _unwrap(text: str) -> _Peeled | None:
    if not (text.startswith("{") and text.rstrip().endswith("}")):
        return None
    try:
        wrapped = _WRAPPED.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    inner = _inner(wrapped)
    if inner is None:
        return None
    pod = wrapped.kubernetes.get("pod_name") if isinstance(wrapped.kubernetes, dict) else None
    service = wrapped.SYSLOG_IDENTIFIER or (pod if isinstance(pod, str) else "")
    return _Peeled(inner.removesuffix("\n"), service, wrapped.PID or "")


def _inner(wrapped: _Wrapped) -> str | None:
    """Give the line inside; a message without what a collector adds is a program's own record and stays."""
    own = wrapped.message if wrapped.message is not None else wrapped.msg
    added = (
        wrapped.stream,
        wrapped.kubernetes,
        wrapped.docker,
        wrapped.agent,
        wrapped.container_name,
        wrapped.container_id,
    )
    if own is not None:
        return wrapped.log or own if any(part is not None for part in added) else None
    named = (wrapped.log, wrapped.textPayload, wrapped.MESSAGE, wrapped.line, wrapped.body)
    return next((text for text in named if text is not None), None)


def _peel(text: str, services: frozenset[str]) -> _Peeled:
    service, pid = "", ""
    for _ in range(_MAX_LAYERS):
        wrapped = _unwrap(text) if text[:1] == "{" else None
        if wrapped is not None:
            text, service, pid = without_escapes(wrapped.text), wrapped.service or service, wrapped.pid or pid
        found = _LAYERS.match(text)
        if found is not None:
            groups = found.groupdict()
            service, pid = groups.get("service") or service, groups.get("pid") or pid
        else:
            found = _compose(text)
            if found is None or found["service"] not in services:
                break
            service = found["service"]
        text = text[found.end() :]
    return _Peeled(text, service, pid)


def _compose(text: str) -> re.Match[str] | None:
    return _COMPOSE.match(text) if " |" in text[:120] else None


def whole_lines(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Join what a container runtime cut into partial lines, under the first part's number; take escapes and NULs off."""
    parts: dict[str, tuple[int, str]] = {}
    for number, raw in lines:
        text = without_escapes(raw.replace("\x00", "") if "\x00" in raw else raw)
        found = _CRI.match(text) if text[:1].isdigit() else None
        if found is None:
            yield number, text
            continue
        first, begun = parts.pop(found["stream"], (number, ""))
        text = (begun + text[found.end() :])[:MAX_JOINED]
        if found["tag"] == "P":
            parts[found["stream"]] = (first, text)
        else:
            yield first, text
    yield from parts.values()


def compose_services(lines: Iterable[tuple[int, str]]) -> frozenset[str]:
    """Say which words before a bar are services: those that recur."""
    seen: Counter[str] = Counter()
    for _, text in lines:
        rest = _peel(text, frozenset()).text if " |" in text or text[:1] == "{" else ""
        for _ in range(2):  # compose inside compose
            found = _compose(rest)
            if found is None:
                break
            seen[found["service"]] += 1
            rest = rest[found.end() :]
    return frozenset(name for name, count in seen.items() if count > 1)


def tags_of(lines: Iterable[tuple[int, str]], services: frozenset[str]) -> Tags | None:
    """Find the leading piece that stands before every line, if there is one."""
    return learned(_peel(text, services).text for _, text in lines)


def carried(lines: Iterable[tuple[int, str]], services: frozenset[str], tags: Tags | None = None) -> Iterator[Line]:
    """Give each line without its transport.

    Args:
        lines: What :func:`whole_lines` gave.
        services: What :func:`compose_services` found.
        tags: What :func:`tags_of` found.
    """
    for number, text in lines:
        peeled = _peel(text, services)
        end = _COMPOSE_END.match(peeled.text.rstrip("\r")) if services else None
        if end and end["service"] in services:
            yield Line(number, peeled.text, end["service"], "", ended=True)
        elif tags is not None and (found := tags.match(peeled.text)) is not None:
            rank = found["tag"].strip("[]").removeprefix("rank")
            rest = peeled.text[found.end() :]
            if rank.isdigit():
                yield Line(number, rest, peeled.service, peeled.pid or rank)
            else:
                yield Line(number, rest, peeled.service or found["tag"].strip("[]"), peeled.pid)
        else:
            yield Line(number, peeled.text, peeled.service, peeled.pid)
