"""Group the answers of many logs: the same failure on forty nodes is one row."""

from collections.abc import Sequence
from dataclasses import dataclass

from dayzero.triage.document import verdict
from dayzero.triage.model import CauseNotInLog, Diagnosis, NamedWall, RootFound, Started


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Logs with one answer.

    Attributes:
        answer: ``root-found``, ``cause-not-in-log`` or ``started``.
        what: What they share: the wall and its category, the fingerprint of an unknown root, or why there is none.
        logs: Name and line of each, in the order given; the line is 0 where the answer has none.
        example: The root's text in the first of them.
    """

    answer: str
    what: str
    logs: tuple[tuple[str, int], ...]
    example: str


def grouped(answers: Sequence[tuple[str, Diagnosis]]) -> tuple[Group, ...]:
    """Group answers, the largest group first.

    Args:
        answers: Name and diagnosis of each log.
    """
    groups: dict[tuple[str, str], list[tuple[str, int, str]]] = {}
    for name, diagnosis in answers:
        what, line, text = _row(diagnosis)
        groups.setdefault((verdict(diagnosis), what), []).append((name, line, text))
    made = (
        Group(answer=answer, what=what, logs=tuple((name, line) for name, line, _ in rows), example=rows[0][2])
        for (answer, what), rows in groups.items()
    )
    return tuple(sorted(made, key=lambda group: (-len(group.logs), group.what)))


def of_group(group: Group) -> dict[str, object]:
    """Write the logs that share one answer."""
    logs = [{"log": name, "line": line} for name, line in group.logs]
    return {"verdict": group.answer, "what": group.what, "count": len(logs), "example": group.example, "logs": logs}


def _row(diagnosis: Diagnosis) -> tuple[str, int, str]:
    match diagnosis:
        case RootFound(wall=NamedWall(wall=wall, category=category), root=root):
            return wall if wall == category else f"{wall}: {category}", root.line, root.text
        case RootFound(fingerprint=fingerprint, root=root):
            at = f" at {fingerprint.frame}" if fingerprint.frame else ""
            return f"no known wall: {fingerprint.exception or 'no exception'}{at}", root.line, root.text
        case CauseNotInLog(reason=reason, last=last):
            return reason, 0 if last is None else last.line, "" if last is None else last.text
        case Started(marker=marker):
            return "serves", marker.line, marker.text
