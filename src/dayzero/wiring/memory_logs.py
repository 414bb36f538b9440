"""Read an engine's log, however it was carried, for what it says of memory."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from dayzero.adapters.log_files import pieces
from dayzero.core.errors import InputError
from dayzero.fit.memory_log import MemoryDialect, MemoryLog, Said, gather
from dayzero.triage.records import entries, prefixes_of
from dayzero.triage.transport import carried, compose_services, tags_of, whole_lines
from dayzero.wiring.plugins import log_dialects, memory_dialects

_HEAD = 4000  # lines from which the form of what stands before each line is learned
_LONG = 4096  # a list of settings is longer than what triage keeps of a line
_MOST = 1 << 20  # characters of one line


def memory_log(path: Path) -> MemoryLog:
    """Read what a log says of memory: of its last start, in the words of the engine that says most.

    Raises:
        InputError: It cannot be read, or no figure of memory stands in it.
    """
    dialects = memory_dialects()
    services = _by_service(_lines(path, dialects))
    logs = [gather(lines, dialect) for lines in services for dialect in dialects]
    best = max(logs, key=_weight, default=None)
    if best is None or not _weight(best):
        raise InputError(
            f"{path} says nothing of memory that is understood",
            hint="Give the log of an engine's start, from its first line to where it serves or falls.",
        )
    return best


def _weight(log: MemoryLog) -> int:
    return len(log.readings) + (log.shortage is not None) + bool(log.stated.flags) + bool(log.stated.parallelism)


def _by_service(lines: Iterable[tuple[str, Said]]) -> tuple[tuple[Said, ...], ...]:
    found: dict[str, list[Said]] = {}
    for service, said in lines:
        found.setdefault(service, []).append(said)
    return tuple(tuple(said) for said in found.values())


def _lines(path: Path, dialects: tuple[MemoryDialect, ...]) -> Iterator[tuple[str, Said]]:
    whole = whole_lines(_numbered(path))
    head = list(islice(whole, _HEAD))
    services = compose_services(head)
    tags = tags_of(head, services)
    needles = frozenset(needle for dialect in dialects for needle in dialect.needles)
    telling = ((number, text) for number, text in chain(head, whole) if any(needle in text for needle in needles))
    prefixes = prefixes_of(log_dialects())
    for line in carried(telling, services, tags):
        for entry in entries((line,), prefixes):
            text = line.text if len(line.text) > _LONG and entry.source != "json" else entry.text
            yield line.service, Said(line.number, _process(entry.process, entry.pid), text)


def _process(name: str, pid: str) -> str:
    """Name a rank: by its name where that counts them, else with its process id."""
    return name if any(letter.isdigit() for letter in name) or not pid else f"{name} {pid}".strip()


def _numbered(path: Path) -> Iterator[tuple[int, str]]:
    number, rest = 1, b""
    for piece in pieces(path):
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield number, line[:_MOST].decode("utf-8", "replace")
            number += 1
        rest = rest if len(rest) <= _MOST else rest[:_MOST]
    if rest:
        yield number, rest.decode("utf-8", "replace")
