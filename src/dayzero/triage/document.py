"""Write a diagnosis as a JSON document, schema ``dayzero/triage/v1``. The format: docs/reference/triage.md."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dayzero.triage.model import (
    CauseNotInLog,
    Diagnosis,
    Fingerprint,
    Link,
    Log,
    NamedWall,
    Quantity,
    RootFound,
    Started,
    UnknownWall,
)

SCHEMA = "dayzero/triage/v1"


def of_diagnosis(diagnosis: Diagnosis, name: str) -> dict[str, object]:
    """Write one diagnosis; the same keys in each of the three answers.

    Args:
        diagnosis: The answer.
        name: What the log is called (its path, ``stdin`` for a pipe).
    """
    return {
        "schema": SCHEMA,
        "log": name,
        **_answer(diagnosis),
        "log_sha256": diagnosis.log.sha256,
        **_log(diagnosis.log),
    }


def verdict(diagnosis: Diagnosis) -> str:
    """Name the answer: ``root-found``, ``cause-not-in-log`` or ``started``."""
    match diagnosis:
        case RootFound():
            return "root-found"
        case CauseNotInLog():
            return "cause-not-in-log"
        case Started():
            return "started"


_SILENT: Mapping[str, object] = MappingProxyType(
    {"numbers": [], "fingerprint": None, "frames": [], "misleading_advice": [], "reason": "", "collect": []}
)


def _answer(diagnosis: Diagnosis) -> dict[str, object]:
    head: dict[str, object] = {"verdict": verdict(diagnosis), "root": None, "same_as": []}
    match diagnosis:
        case RootFound(wall=wall, chain=chain):
            head |= {"root": _link(diagnosis.root), "same_as": list(diagnosis.same_as)}
            told: dict[str, object] = {
                "numbers": _numbers(diagnosis.numbers),
                "fingerprint": _fingerprint(diagnosis.fingerprint),
                "frames": [f"{frame.file}:{frame.line}:{frame.function}" for frame in diagnosis.frames],
                "misleading_advice": list(diagnosis.advice),
            }
        case CauseNotInLog(wall=wall, chain=chain):
            told = {"reason": diagnosis.reason, "collect": list(diagnosis.collect)}
        case Started(marker=marker, later=later):
            told, wall, chain = {}, UnknownWall(), (marker, *(() if later is None else (later,)))
    return {**head, **_wall(wall), "chain": [_link(link) for link in chain], **_SILENT, **told}


def _wall(wall: NamedWall | UnknownWall) -> dict[str, object]:
    match wall:
        case UnknownWall():
            return {"wall": "", "category": "", "rule": None, "resolution": None, "would_confirm": ""}
        case NamedWall():
            return {
                "wall": wall.wall,
                "category": wall.category,
                "rule": {"id": wall.rule, "version": wall.version, "title": wall.title},
                "resolution": {
                    "text": wall.resolution.text,
                    "confirmed": wall.resolution.confirmed,
                    "confirmed_by": wall.resolution.confirmed_by,
                    "reference": wall.resolution.reference,
                },
                "would_confirm": wall.would_confirm,
            }


def _link(link: Link) -> dict[str, object]:
    return {"role": link.role.value, "line": link.line, "text": link.text}


def _numbers(numbers: Sequence[Quantity]) -> list[dict[str, object]]:
    return [
        {"name": number.name, "value": number.value, "unit": number.unit, "line": number.line} for number in numbers
    ]


def _fingerprint(fingerprint: Fingerprint) -> dict[str, str]:
    return {"exception": fingerprint.exception, "frame": fingerprint.frame}


def _log(log: Log) -> dict[str, object]:
    return {
        "engine": log.engine,
        "version": log.version,
        "lines": log.lines,
        "size_bytes": log.size_bytes,
        "lines_only_scanned": log.left_out,
        "attempts": log.attempts,
        "exits": [{"process": exit_.process, "status": exit_.status, "line": exit_.line} for exit_ in log.exits],
        "stages": [{"process": stage.process, "stage": stage.stage, "line": stage.line} for stage in log.stages],
    }
