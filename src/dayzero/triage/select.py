"""Choose the root among the candidates."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dayzero.triage.candidates import Candidate
from dayzero.triage.model import Role
from dayzero.triage.records import Entry
from dayzero.triage.speech import Speech
from dayzero.triage.unloaded import asks_for, features

_COMPLAINS = re.compile(
    r"\w+(?:\(\))?: .*(?:fail|invalid|error|unable|cannot|corrupt|mismatch|wrong|unknown|unsupported|duplicate|missing|not )"
)


_INNER_FRAMES = 4  # an exception that says little is known by the package that raised it
# Exceptions that say that something was to be built and was not.
_BUILT = re.compile(
    r"CalledProcessError|non-zero exit status|[Nn]inja|[Ee]rror (?:building|compiling)|[Cc]ompil|[Ii]nductor|\bJIT\b|\bjit\b"
    r"|\b(?:gcc|g\+\+|clang|nvcc|hipcc|ld|cmake|make)\b|[Bb]uild|backend='|returned [1-9]"
)
_NATIVE_STATUS = re.compile(
    r"(?:\d\d:\d\d:\d\d\S* )?(?:\S+: )?\S+\.(?:cpp|cc|cxx|cu|c|h|hpp):(?:\w+:)?\d+:? (?:\w+ ){0,3}"
    r"(?:status|failed|NULL value|error|aborting|rc)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The root and what it explains; without a root, what says most about the end.

    Attributes:
        root: The cause, or ``None`` where the log does not hold it.
        explained: The exception that the root line is the cause of, where it is not the root itself.
        misleading: Later exceptions that name another cause.
        last: Without a root, the line that says most.
    """

    root: Candidate | None
    explained: Candidate | None
    misleading: tuple[Candidate, ...]
    last: Candidate | None


def _first(candidates: Sequence[Candidate]) -> Candidate | None:
    """Give the earliest one of the deepest processes; what native code says, no process is named for, counts with them."""
    deepest = max((one.depth for one in candidates), default=0)
    return min((one for one in candidates if one.native or one.depth == deepest), key=_number, default=None)


def _number(one: Candidate) -> int:
    return one.number


def _top_of_cascade(root: Candidate, entries: Sequence[Entry]) -> Candidate:
    """Go up from an error line over those that stand directly above it: of a cascade, the first says why."""
    at = next((index for index, entry in enumerate(entries) if entry.number == root.number), 0)
    top = root
    for entry in reversed(entries[:at]):
        loud = entry.level == "E" or (not entry.level and _COMPLAINS.match(entry.text))
        if not loud or entry.service != root.service:
            break
        top = replace(root, number=entry.number, text=entry.text, said=entry.text)
    return top


def _explains(line: Candidate, symptom: Candidate) -> bool:
    if line is symptom or (line.number >= symptom.number and line.process == symptom.process):
        return False
    if line.service not in (symptom.service, "") and symptom.service != "":
        return False
    frames = symptom.raised.frames[-_INNER_FRAMES:] if symptom.raised else ()
    wanted = "\n".join((symptom.text, *(frame.file for frame in frames)))
    if line.match is not None and any(pattern.search(wanted) for pattern in line.match.rule.explains):
        return True
    if line.diagnostic:
        return symptom.said == symptom.text.partition("\n")[0] and _BUILT.search(symptom.text) is not None
    return line.raised is None and line.level != "E" and asks_for(features(line.text), symptom.text)


def _first_of_native(root: Candidate, entries: Sequence[Entry]) -> Candidate:
    """Go up from a status that C++ code reports at its place in the source to the first one of the same library."""
    place = _NATIVE_STATUS.match(root.text) if root.raised is None else None
    if place is None:
        return root
    for entry in entries:
        if entry.number >= root.number:
            break
        if entry.service == root.service and _NATIVE_STATUS.match(entry.text):
            return replace(root, number=entry.number, text=entry.text, said=entry.text)
    return root


def _masked(candidates: Sequence[Candidate], entries: Sequence[Entry], speech: Speech) -> tuple[Candidate, ...]:
    hidden = []
    for dialect in speech.dialects:
        for earlier, later in dialect.masks:
            number = next((entry.number for entry in entries if earlier.search(entry.text)), None)
            if number is not None:
                hidden += [one for one in candidates if one.number > number and later.search(one.text)]
    return tuple(hidden)


def _earliest_equal(root: Candidate, lines: Sequence[Candidate]) -> Candidate:
    """Give the first line on which the same rule matched the same words: the cause is often reported again on the way out."""
    if root.match is None:
        return root
    rule, said = root.match.rule.id, root.match.said
    same = [one for one in lines if one.match and one.match.rule.id == rule and one.match.said == said]
    return min((*same, root), key=lambda one: one.number)


def choose(  # noqa: PLR0913 - all that a choice weighs
    exceptions: Sequence[Candidate],
    lines: Sequence[Candidate],
    entries: Sequence[Entry],
    speech: Speech,
    quoted: Callable[[], Candidate | None],
    *,
    cascades: bool = False,
) -> Choice:
    """Choose the root.

    A known line that explains an exception beats it. Else the earliest exception of the deepest processes is the root. Else a
    known line; else what a report quotes; else a line that calls itself an error. Lines that only show that something ended
    refuse.

    Args:
        exceptions: One candidate per traceback.
        lines: Known lines, and lines that call themselves errors.
        entries: The log.
        speech: The dialects.
        quoted: Finds the cause that a report quotes.
        cascades: Whether each caller reports an error line again.
    """
    hidden = _masked(exceptions, entries, speech)
    hard = [one for one in exceptions if not one.soft and not one.fallout and not _refuses(one)]
    strong = [one for one in hard if one not in hidden] or hard
    misleading = tuple(one for one in hidden if one not in strong)
    soft = [one for one in exceptions if one.soft]
    known = [one for one in lines if one.match and not one.match.rule.refuses]
    symptom = _first(strong)
    if symptom is not None:
        diagnostics = [one for one in lines if one.match is None and one.diagnostic]
        causes = [one for one in (*known, *diagnostics, *soft) if any(_explains(one, other) for other in strong)]
        cause = min(causes, key=lambda one: one.number, default=None)
        if cause is not None:
            explained = next((one for one in sorted(strong, key=lambda one: -one.depth) if _explains(cause, one)), None)
            cause = _first_of_native(cause, entries)
            return Choice(root=cause, explained=explained, misleading=misleading, last=None)
        return Choice(root=symptom, explained=None, misleading=misleading, last=None)
    loud = [one for one in known if one.level in ("", "E") or (one.match and one.match.rule.decisive)]
    root = _first([one for one in loud if not one.fallout]) or quoted()
    if root is not None:
        root = _first_of_native(_earliest_equal(root, known), entries)
        top = _top_of_cascade(root, entries) if cascades and root.raised is None else root
        if cascades and top.raised is None and top.number == entries[0].number:
            return Choice(root=None, explained=None, misleading=(), last=top)  # what stood above it was cut off
        return Choice(root=top, explained=None, misleading=(), last=None)
    return _without_cause(exceptions, lines, _cleared_away(entries, speech))


def _cleared_away(entries: Sequence[Entry], speech: Speech) -> float:
    """Give the line from which on a program ends by a signal what is left; infinity where none does."""
    return next(
        (entry.number for entry in entries if (found := speech.report(entry.text)) and found[0] is Role.CONSEQUENCE),
        math.inf,
    )


def _says_least(one: Candidate) -> tuple[int, int, int]:
    return -one.match.rule.priority if one.match else 0, -one.depth, one.number


def _refuses(one: Candidate) -> bool:
    return one.match is not None and one.match.rule.refuses


def _without_cause(exceptions: Sequence[Candidate], lines: Sequence[Candidate], cleared: float) -> Choice:
    """Refuse where a line only shows that something ended; else take a line that calls itself an error.

    What ended from the line ``cleared`` on was ended by the program itself and says nothing.
    """
    ended = (one for one in (*exceptions, *lines) if _refuses(one) and one.number < cleared)
    refusing = min(ended, key=_says_least, default=None)
    if refusing is not None:
        return Choice(root=None, explained=None, misleading=(), last=refusing)
    unknown = _first([one for one in lines if one.match is None and not one.fallout and not one.soft])
    fallout = _first([one for one in (*exceptions, *lines) if one.fallout and not one.soft])
    return Choice(root=unknown, explained=None, misleading=(), last=None if unknown else fallout)
