"""Print a diagnosis for a reader: what killed it and what to do first, how it fell afterwards."""

import shutil
import textwrap
from collections.abc import Sequence
from typing import TextIO, TypeAlias

from dayzero.audit.model import Check
from dayzero.core.verdict import verdict_word
from dayzero.triage.groups import Group
from dayzero.triage.model import CauseNotInLog, Diagnosis, Link, Log, NamedWall, RootFound, Started
from dayzero.wiring.triage import memory_budget

_LABEL = 14
_NARROWEST = 60
_MOST_SAME = 12
_MOST_LINKS = 16
_MOST_FILES = 3
_MOST_PLACES = 5
_CHAIN_TEXT = 160
_WHAT = 100

Row: TypeAlias = tuple[str, str]


def print_rows(rows: Sequence[Row], out: TextIO) -> None:
    """Print labelled rows; on a terminal long ones are wrapped under their label, in a file each stays one line."""
    width = max(shutil.get_terminal_size().columns, _NARROWEST) - _LABEL if out.isatty() else 0
    for label, text in rows:
        lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) if width else [text]
        for at, line in enumerate(lines or [""]):
            print(f"{label if not at else '':<{_LABEL}}{line}".rstrip(), file=out)


def print_table(groups: Sequence[Group]) -> None:
    """Print the groups of a folder, the largest first."""
    width = max((len(group.answer) for group in groups), default=0)
    for group in groups:
        print(f"{len(group.logs):>4}  {group.answer:<{width}}  {group.what}")
        if group.example:
            print(f"      {_short(group.example, _WHAT)}")
        for name, line in group.logs[:_MOST_FILES]:
            print(f"      {name}:{line}" if line else f"      {name}")
        if len(group.logs) > _MOST_FILES:
            print(f"      and {len(group.logs) - _MOST_FILES} more")


def answer_rows(name: str, diagnosis: Diagnosis) -> list[Row]:
    """Write one answer as rows.

    Args:
        name: What the log is called.
        diagnosis: The answer.
    """
    match diagnosis:
        case RootFound():
            rows = [("root cause", f"{name}:{diagnosis.root.line}"), ("", diagnosis.root.text)]
            rows += [("raised at", f"{at.file}:{at.line} in {at.function}") for at in diagnosis.frames[-1:]]
            rows += _wall(diagnosis)
            rows += [("careful", advice) for advice in diagnosis.advice]
            rows += _chain(diagnosis.chain)
            rows += [("same as", _same_as(diagnosis.same_as))] if diagnosis.same_as else []
        case CauseNotInLog():
            rows = [("not in log", diagnosis.reason)]
            rows += [("collect", what) for what in diagnosis.collect]
            rows += _chain(diagnosis.chain)
        case Started():
            rows = [("started", f"{name}:{diagnosis.marker.line}"), ("", diagnosis.marker.text)]
            if diagnosis.later is not None:
                rows += [("later", f"{diagnosis.later.line}: {diagnosis.later.text}")]
    return [*rows, ("log", _log(diagnosis.log))]


def audit_rows(checks: Sequence[Check]) -> list[Row]:
    """Write what the builds' files say, each answer with its places."""
    rows: list[Row] = []
    for check in checks:
        places = [("", f"  {place}") for place in check.verdict.places[:_MOST_PLACES]]
        rows += [("audit", f"{check.question} {verdict_word(check.verdict)}: {check.verdict.reason}"), *places]
        if len(check.verdict.places) > _MOST_PLACES:
            rows += [("", f"  and {len(check.verdict.places) - _MOST_PLACES} more places")]
    return rows


def _wall(found: RootFound) -> list[Row]:
    numbers = [("numbers", _numbers(found))] if found.numbers else []
    budget = memory_budget(found)
    numbers += [] if budget is None else [("fit", budget.verdict.reason)]
    wall = found.wall
    if not isinstance(wall, NamedWall):
        mark = found.fingerprint
        at = f" at {mark.frame}" if mark.frame else ""
        return [
            ("wall", f"none that is known; grouped as {mark.exception or 'a line without exception'}{at}"),
            *numbers,
        ]
    standing = f"confirmed by {wall.resolution.confirmed_by}" if wall.resolution.confirmed else "unconfirmed"
    reference = f"; {wall.resolution.reference}" if wall.resolution.reference else ""
    rows = [
        ("wall", f"{wall.wall}: {wall.title}"),
        ("resolution", wall.resolution.text),
        ("", f"({standing}{reference})"),
    ]
    rows += [("would confirm", wall.would_confirm)] if wall.would_confirm else []
    return [*rows, *numbers, ("rule", f"{wall.rule}, version {wall.version}")]


def _numbers(found: RootFound) -> str:
    return ", ".join(
        f"{number.name} {number.value}{' ' if number.unit else ''}{number.unit} (line {number.line})"
        for number in found.numbers
    )


def _same_as(numbers: Sequence[int]) -> str:
    more = len(numbers) - _MOST_SAME
    shown = ", ".join(map(str, numbers[:_MOST_SAME])) + (f" and {more} more" if more > 0 else "")
    return f"line{'s' if len(numbers) > 1 else ''} {shown}"


def _chain(chain: Sequence[Link]) -> list[Row]:
    rows = [(f"{link.line}: [{link.role.value}]", link.text) for link in chain[:_MOST_LINKS]]
    more = len(chain) - _MOST_LINKS
    texts = [f"{head} {_short(text, _CHAIN_TEXT)}" for head, text in rows] + ([f"and {more} more"] if more > 0 else [])
    return [("chain" if not at else "", text) for at, text in enumerate(texts)]


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} [...]"


def _log(log: Log) -> str:
    engine = " ".join(word for word in (log.engine, log.version) if word) or "engine not recognised"
    attempts = f", the last of {log.attempts} starts" if log.attempts > 1 else ""
    scanned = f", {log.left_out} of them only scanned" if log.left_out else ""
    return f"{engine}, {log.lines} lines{scanned}{attempts}, sha256 {log.sha256}"
