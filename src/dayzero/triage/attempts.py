"""Split a log into starts: per service, at a supervisor's restart or where a program begins again after it fell."""

from collections.abc import Sequence
from dataclasses import dataclass

from dayzero.triage.records import Entry
from dayzero.triage.speech import Marks, Speech

AMBIENT = frozenset({"", "systemd", "kernel"})
_RESTARTED = "Scheduled restart job, restart counter"
_NEVER_BOUND = "while attempting to bind on address"  # uvicorn calls itself started before it binds
_MAX_SERVICES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One start of one service: its lines, and whether it served or fell."""

    service: str
    entries: tuple[Entry, ...]
    started: Entry | None
    fell: bool


def _split(
    entries: Sequence[Entry], ended: frozenset[tuple[str, int]], speech: Speech, marks: Marks
) -> list[list[Entry]]:
    runs: list[list[Entry]] = [[]]
    fell = erred = begun = False
    for entry in entries:
        begins = entry.number in marks.began
        if begins and (fell or (erred and begun)):
            runs.append([])
            fell = erred = False
        begun = begun or begins
        runs[-1].append(entry)
        if (entry.service, entry.number) in ended or _RESTARTED in entry.text:
            runs.append([])
            fell = erred = begun = False
        elif not entry.quiet:
            fell = fell or speech.report(entry.text) is not None
            erred = erred or (begun and _is_error(entry))
    return [run for run in runs if run]


def _is_error(entry: Entry) -> bool:
    return entry.level == "E" or "Traceback (most recent" in entry.text


def _read(run: Sequence[Entry], service: str, speech: Speech, marks: Marks) -> Attempt:
    loud = [entry for entry in run if not entry.quiet]
    fell = any(_is_error(entry) or speech.report(entry.text) is not None for entry in loud)
    counted = marks.started if fell else marks.perhaps
    marker = next((entry for entry in run if entry.number in counted), None)
    bound = not any(_NEVER_BOUND in entry.text for entry in loud)
    return Attempt(service=service, entries=tuple(run), started=marker if bound else None, fell=fell)


def attempts(
    entries: Sequence[Entry], ended: frozenset[tuple[str, int]], speech: Speech, marks: Marks
) -> dict[str, tuple[Attempt, ...]]:
    """Give the attempts of each service, oldest first. What supervisors and unnamed sources write belongs to every service.

    Args:
        entries: The log.
        ended: Service and line where a supervisor says that an attempt ended.
        speech: The dialects.
        marks: What the log says of itself.
    """
    own: dict[str, list[Entry]] = {}
    for entry in entries:
        own.setdefault("" if entry.service in AMBIENT else entry.service, []).append(entry)
    ambient = own.pop("", [])
    if not own or len(own) > _MAX_SERVICES:
        own, ambient = {"": list(entries)}, []
    found = {}
    for service, lines in own.items():
        mixed = sorted((*lines, *ambient), key=lambda entry: entry.number) if ambient else lines
        found[service] = tuple(_read(run, service, speech, marks) for run in _split(mixed, ended, speech, marks))
    return found
