"""Compare two arms on this machine, and keep what the answer rests on."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dayzero import __version__
from dayzero.adapters.disk import write_whole
from dayzero.adapters.file_digest import digest_of
from dayzero.bench.metrics import minimum_sample
from dayzero.bench.windows import document
from dayzero.bench.windows.model import Design, InstrumentBad, Label, Result, Served
from dayzero.bench.windows.ports import Listener
from dayzero.bench.windows.run import run
from dayzero.core.errors import InputError
from dayzero.wiring.laboratory import new_folder
from dayzero.wiring.window_arms import WINDOWS, Arm, LocalArms, RunningArm, Waiting

PLAN, RESULT, RECEIPT = "plan.json", "window.json", "receipt.json"

_SHORTEST: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What came of it, and where it stands.

    Attributes:
        arms: What each arm was found to be.
        result: The result.
        receipt: The receipt; ``None`` where nothing was found out about the arms.
        again: Names of the windows that were taken a second time.
    """

    arms: Mapping[Label, Served]
    result: Result
    receipt: Path | None
    again: tuple[str, ...] = ()


def compare(
    design: Design, arms: Mapping[Label, Arm], folder: Path, listener: Listener, waiting: Waiting
) -> Comparison:
    """Compare two arms: the plan is on disk before the first request, every window keeps its raw reads and its rows.

    Args:
        design: What is fixed beforehand.
        arms: The arms, by their labels.
        folder: An empty folder.
        listener: Is told of each window, and of the certificate.
        waiting: Is told what happens inside a window.

    Raises:
        InputError: The design cannot be carried out, or the folder is not empty.
        RemoteError: The disk refused.
    """
    _require_possible(design, arms)
    new_folder(folder)
    _write(folder / PLAN, document.of_plan(design, {label: str(one) for label, one in arms.items()}))
    with LocalArms(arms, folder, waiting, restarts=design.restarts) as local:
        result = run(design, local, listener)
        found, again = dict(local.found), tuple(local.again)
    _write(folder / RESULT, document.of_result(design, found, result, again=again))
    if isinstance(result, InstrumentBad):
        return Comparison(arms=found, result=result, receipt=None, again=again)
    receipt = folder / RECEIPT
    client = f"dayzero {__version__}"
    _write(receipt, document.of_receipt(found, result, _digests(folder), client=client))
    return Comparison(arms=found, result=result, receipt=receipt, again=again)


def _require_possible(design: Design, arms: Mapping[Label, Arm]) -> None:
    cell, percentile = design.cell, design.primary.percentile
    if cell.requests < _SHORTEST * cell.concurrency:
        raise InputError(
            f"a window of {cell.requests} requests, {cell.concurrency} in flight, ends before it is steady",
            hint=f"Give at least {_SHORTEST * cell.concurrency} requests a window.",
        )
    if percentile is not None and cell.requests < minimum_sample(percentile):
        raise InputError(
            f"{cell.requests} requests a window cannot certify {design.primary}",
            hint=f"Give at least {minimum_sample(percentile)} requests a window, or another --primary.",
        )
    running = [label for label, one in arms.items() if isinstance(one, RunningArm)]
    if design.restarts and running:
        raise InputError(
            f"arm {running[0]} runs already and cannot be restarted from here",
            hint="Give two packages, or leave out --one-at-a-time.",
        )


def _digests(folder: Path) -> list[tuple[str, str]]:
    return [(str(file.relative_to(folder)), digest_of(file).hex) for file in sorted(_files(folder))]


def _files(folder: Path) -> Iterator[Path]:
    """Give every file that the result rests on: plan, result, raw files, logs; not the weights."""
    yield from (folder / PLAN, folder / RESULT)
    for pattern in (f"{WINDOWS}/*/*", "arm-*/logs/*"):
        yield from folder.glob(pattern)


def _write(path: Path, content: Mapping[str, object]) -> None:
    write_whole(path, json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")
