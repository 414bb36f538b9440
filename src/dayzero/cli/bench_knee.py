"""``dayzero bench --url URL --sweep knee``: search for the load beyond which more of it no longer pays."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from dayzero.adapters.disk import write_whole
from dayzero.bench.model import Progress
from dayzero.bench.plans.knee import Found, Knee, Search, Step, find_knee, step_of
from dayzero.cli.bench_load import Load, check, first_level, is_open, step_workload
from dayzero.cli.main import PROVEN, UNDECIDED
from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.errors import InputError
from dayzero.core.verdict import Undecided
from dayzero.wiring.endpoint import measure_endpoint
from dayzero.wiring.look import ROWS, BenchTarget, look_at
from dayzero.wiring.run_files import document_of, write_receipt

SCHEMA: Final = "dayzero/bench-knee/v1"
KNEE: Final = "knee.json"

_RUN: Final = "run.json"
_MOST_STREAMS: Final = 1024
_HIGHEST_RATE: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """A search that has ended.

    Attributes:
        model: Model that was asked for.
        rate: Whether levels are requests a second; else they are requests in flight.
        objectives: As they were given.
        found: Its answer, and its finished steps.
        folders: Name of each step's folder; one more than the steps where the last one says nothing.
    """

    model: str
    rate: bool
    objectives: tuple[str, ...]
    found: Found
    folders: tuple[str, ...]


def knee_search(sent: Load) -> Search:
    """Say which knee is asked for.

    Raises:
        InputError: As :func:`dayzero.cli.bench_load.workload`, or a rate's knee is asked for without an objective.
    """
    check(sent)
    limit = _HIGHEST_RATE if is_open(sent) else float(sent.max_in_flight or _MOST_STREAMS)
    return Search(start=float(first_level(sent)), limit=limit, whole=not is_open(sent), objective=bool(sent.slo))


def find(target: BenchTarget, sent: Load, search: Search, on_progress: Callable[[Progress], None]) -> Searched:
    """Measure step by step, each into a folder of its own; the server is looked at once.

    Args:
        target: What is measured, and the folder of all steps.
        sent: The load's options.
        search: What is looked for.
        on_progress: Told how far a step is.

    Raises:
        InputError: The folder holds a search already, or a search is to be resumed.
        RemoteError: The endpoint cannot be reached.
    """
    if target.resumes:
        raise InputError("a search for the knee is not resumed", hint="Start it again in another folder.")
    if target.folder.exists() and any(target.folder.iterdir()):
        raise InputError(f"{target.folder} is not empty", hint="Choose another folder with -o.")
    looked = look_at(target.connection, target.model)
    folders: list[str] = []

    def measure(level: float, number: int) -> Step | Undecided:
        name = f"step-{number:02}-{'c' if search.whole else 'r'}{level:g}"
        folders.append(name)
        processes = min(target.processes, int(level)) if search.whole else target.processes
        place = replace(target, folder=target.folder / name, processes=processes)
        measured = measure_endpoint(place, step_workload(sent, level, number), on_progress, looked=looked)
        write_receipt(measured, place.folder)
        content = json.dumps(document_of(measured, place.folder / ROWS), indent=2, ensure_ascii=False)
        write_whole(place.folder / _RUN, content.encode() + b"\n")
        step = step_of(level, measured.report)
        _say(number, level, step)
        return step

    found = find_knee(search, measure)
    return Searched(
        model=looked.found.how.model,
        rate=not search.whole,
        objectives=sent.slo,
        found=found,
        folders=tuple(folders),
    )


def tell(searched: Searched, folder: Path, output_format: OutputFormat) -> int:
    """Write ``knee.json``, print the result, and give the exit code.

    Args:
        searched: The search.
        folder: Its folder.
        output_format: How it is printed.
    """
    written = _document(searched)
    write_whole(folder / KNEE, json.dumps(written, indent=2, ensure_ascii=False).encode() + b"\n")
    if output_format == "json":
        print_json(written)
    else:
        print("\n".join(_lines(searched, folder)))
    return PROVEN if isinstance(searched.found.answer, Knee) else UNDECIDED


def _say(number: int, level: float, step: Step | Undecided) -> None:
    """Tell of each step as it ends, on stderr: a search takes minutes."""
    said = f"says nothing: {step.reason}" if isinstance(step, Undecided) else _figures(step)
    print(f"step {number + 1}: {level:g}: {said}", file=sys.stderr, flush=True)


def _figures(step: Step) -> str:
    rate = f"{step.output_tok_s:.1f} tok/s"
    return rate if step.attained is None else f"{rate}, {step.attained:.1%} kept every objective"


def _document(searched: Searched) -> dict[str, object]:
    answer = searched.found.answer
    knee = answer if isinstance(answer, Knee) else None
    return {
        "schema": SCHEMA,
        "model": searched.model,
        "levels": _unit(searched),
        "objectives": list(searched.objectives),
        "knee": None if knee is None else knee.level,
        "other_side": None if knee is None else knee.other,
        "reason": answer.reason,
        "steps": [
            {"level": step.level, "output_tok_s": step.output_tok_s, "attained": step.attained, "folder": folder}
            for step, folder in zip(searched.found.steps, searched.folders, strict=False)
        ],
    }


def _unit(searched: Searched) -> str:
    return "requests a second" if searched.rate else "in flight"


def _lines(searched: Searched, folder: Path) -> Iterator[str]:
    answer, steps = searched.found.answer, searched.found.steps
    yield f"{searched.model}: {len(steps)} steps{''.join(f', {text}' for text in searched.objectives)}"
    yield from _table(steps, _unit(searched), attained=bool(searched.objectives))
    match answer:
        case Knee(level=level, other=other, reason=reason):
            beside = "" if other is None else f"; the nearest level on its other side is {other:g}"
            yield f"knee: {level:g} {_unit(searched)}: {reason}{beside}"
        case Undecided(reason=reason):
            yield f"knee: undecided: {reason}"
    yield f"kept: {folder / KNEE}, and a folder a step"


def _table(steps: Sequence[Step], unit: str, *, attained: bool) -> Iterator[str]:
    """Write one line a level, the lowest first, with every step that was measured at it."""
    width = len(unit)
    yield f"  {unit}  {'output tok/s':<24}{'  kept every objective' if attained else ''}".rstrip()
    for level in sorted({step.level for step in steps}):
        own = [step for step in steps if step.level == level]
        rates = ", ".join(f"{step.output_tok_s:.1f}" for step in own)
        shares = ", ".join(f"{step.attained:.1%}" for step in own if step.attained is not None)
        yield f"  {level:>{width}g}  {rates:<24}  {shares}".rstrip()
