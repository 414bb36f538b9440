"""Try an operator's candidates, each in a process of its own, and write down which must not be used."""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dayzero.adapters.collecting.run_folder import RunFolder
from dayzero.adapters.collecting.worker import Died, Workers
from dayzero.adapters.disk import write_whole
from dayzero.core.errors import InputError
from dayzero.perfdb.run import Line
from dayzero.perfdb.tactics import (
    SCHEMA,
    Operator,
    Tried,
    declared,
    fate_of,
    key_of,
    operator_named,
    verdict,
)
from dayzero.wiring import clock

TACTICS = "tactics.jsonl"
MANIFEST = "blocklist.json"
_LIST_S = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tactics:
    """An operator's candidates, and what they say together."""

    operator: Operator
    tried: tuple[Tried, ...]
    verdict: str
    manifest: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """One candidate that is to be tried."""

    key: str
    candidate: Mapping[str, Any]
    plant: str


def try_tactics(  # noqa: PLR0913  (each is one thing)
    name: str,
    folder: Path,
    python: str,
    *,
    case_s: float,
    jobs: int = 1,
    tell: Callable[[str], None] = lambda _: None,
) -> Tactics:
    """Try each candidate that has no line yet, and the planted one; then write the manifest.

    Args:
        name: The operator.
        folder: The run.
        python: Interpreter with the engine.
        case_s: How long a candidate may take.
        jobs: How many are tried at once; what they take is then not to be compared.
        tell: Is told of each.

    Raises:
        InputError: There is no such operator, or its candidates cannot be listed.
    """
    operator, run = operator_named(name), RunFolder(folder)
    with run.held():
        run.mend_chain(TACTICS)
        candidates = _listed(operator, folder, python) if operator.autotuned else declared(operator)
        if not candidates:
            raise InputError(f"{operator.kernel} has no candidates", hint="Name an operator whose kernel has a tuner.")
        trials = [_Trial(key=key_of(operator, c, planted=False), candidate=c, plant="") for c in candidates]
        trials.append(
            _Trial(key=key_of(operator, candidates[0], planted=True), candidate=candidates[0], plant=operator.plant)
        )
        done = {str(line["case"]) for line in run.lines(TACTICS)}
        left = [trial for trial in trials if trial.key not in done]
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            logs = (folder / f"tactic-{number}.log" for number in range(len(left)))
            for line in pool.map(lambda trial, log: _try(operator, trial, python, log, case_s), left, logs):
                run.add(TACTICS, {**line, "jobs": jobs})
                tell(f"{line['candidate']}{' planted' if line['plant'] else ''}: {fate_of(line)}")
        return _written(operator, run)


def _listed(operator: Operator, folder: Path, python: str) -> tuple[Mapping[str, Any], ...]:
    workers = Workers(python, folder / "candidates.log")
    try:
        reply = workers.ask({"do": "candidates", "kernel": operator.kernel}, _LIST_S)
    finally:
        workers.end()
    if isinstance(reply, Died) or "candidates" not in reply:
        why = reply.message if isinstance(reply, Died) else reply["error"]["message"]
        raise InputError(f"the candidates cannot be listed: {why}", hint="Name the engine's interpreter with --python.")
    return tuple(reply["candidates"])


def _try(operator: Operator, trial: _Trial, python: str, log: Path, case_s: float) -> Line:
    forced = {"maker": operator.maker, "kernel": operator.kernel, "candidate": trial.candidate, "plant": trial.plant}
    request = {
        "do": "case",
        "kind": "triton_candidate" if operator.kernel else operator.maker.partition(":")[2],
        "columns": operator.columns,
        "options": {**forced, "device": operator.device},
        "trace": False,
    }
    workers = Workers(python, log)
    try:
        at, printed = clock.now(), workers.printed
        reply = workers.ask(request, case_s)
        line: dict[str, Any] = {
            "case": trial.key,
            "candidate": dict(trial.candidate),
            "plant": trial.plant,
            "began_at": at,
        }
        if isinstance(reply, Died):
            return line | {
                "state": "failed",
                "error": {"class": reply.error, "message": reply.message, "raw": list(reply.raw)},
            }
        told = {name: reply[name] for name in ("state", "error", "check", "latency_us", "files") if name in reply}
        if "error" in told:
            told["error"] = {**told["error"], "raw": list(workers.raw(printed))}
        return line | told
    finally:
        workers.end()


def _written(operator: Operator, run: RunFolder) -> Tactics:
    own = key_of(operator, {}, planted=False).partition(",")[0]
    tried = tuple(
        Tried(
            candidate=line["candidate"],
            fate=fate_of(line),
            planted=bool(line["plant"]),
            line=number,
            message=line.get("error", {}).get("message", ""),
        )
        for number, line in enumerate(run.lines(TACTICS), start=1)
        if str(line["case"]).startswith(own)
    )
    said = verdict(tried)
    manifest = run.root / MANIFEST
    told = {
        "schema": SCHEMA,
        "operator": operator.name,
        "kernel": operator.kernel,
        "columns": operator.columns,
        "every_candidate_valid": said,
        "blocked": [asdict(one) for one in tried if not one.planted and one.fate != "valid"],
        "candidates": [asdict(one) for one in tried if not one.planted],
        "control": [asdict(one) for one in tried if one.planted],
    }
    write_whole(manifest, json.dumps(told, indent=2).encode() + b"\n")
    return Tactics(operator=operator, tried=tried, verdict=said, manifest=manifest)
