"""Put pins, machines and loads into words, once, so that the page and the JSON say the same."""

import re
from collections.abc import Mapping

from dayzero.catalog.model import FitState
from dayzero.core.hardware import System
from dayzero.core.pins import FromSeed, HubRevision, InDistribution, ModelOrigin
from dayzero.core.workload import Cell, Workload
from dayzero.evidence.model import LineLocator, Locator, PointerLocator, WholeFile

_PERCENTILE = re.compile(r"p(\d{1,2})")
_STATISTICS: Mapping[str, str] = {
    "p50": "median (50th percentile)",
    "mean": "mean",
    "min": "minimum",
    "max": "maximum",
    "total": "over the whole cell",
}
_FIT: Mapping[FitState, str] = {
    FitState.MEASURED_FITS: "Fits, measured",
    FitState.COMPUTED_FITS: "Fits, computed",
    FitState.MEASURED_DOES_NOT_FIT: "Does not fit, measured",
    FitState.UNKNOWN: "Fit unknown",
}


def fit_words(state: FitState) -> str:
    """Say the fit state."""
    return _FIT[state]


def statistic_words(parameters: tuple[tuple[str, str], ...]) -> str:
    """Say which statistic an extraction takes; ``""`` where it names none."""
    name = dict(parameters).get("statistic", "")
    percentile = _PERCENTILE.fullmatch(name)
    if name in _STATISTICS or percentile is None:
        return _STATISTICS.get(name, name)
    return f"{_ordinal(int(percentile[1]))} percentile"


def load_words(parameters: tuple[tuple[str, str], ...], workload: Workload) -> str:
    """Say under which load the number was taken; ``""`` where the extraction names no cell of the grid."""
    name = dict(parameters).get("cell", "")
    cell = next((cell for cell in workload.cells if cell.name == name), None)
    return "" if cell is None else f"{cell_words(cell)}; prompts from seed {workload.seed}"


def cell_words(cell: Cell) -> str:
    """Say one point of the grid: how many at once, how many in all, how long."""
    return (
        f"{_count(cell.concurrency, 'request')} in flight, {cell.requests} measured after {cell.warmup_requests} warm-up, "
        f"{_count(cell.input_tokens, 'prompt token')} and {_count(cell.output_tokens, 'output token')} each"
    )


def floor_words(system: System) -> str:
    """Say what a machine has to have, as one sentence."""
    if not system.accelerators:
        return f"A CPU-only machine with at least {system.memory} of memory for the engine ({system.name})."
    if system.accelerators == 1:
        return f"One {system.accelerator} GPU with at least {system.memory} of memory ({system.name})."
    return f"{system.accelerators} {system.accelerator} GPUs, each with at least {system.memory} of memory ({system.name})."


def origin_words(origin: ModelOrigin) -> str:
    """Name where the weights come from so that it names one set of bytes; digests that belong to it stand beside it."""
    match origin:
        case HubRevision(repository=repository, revision=revision):
            return f"{repository}@{revision}"
        case InDistribution(distribution=distribution, version=version, folder=folder):
            return f"{distribution}=={version}, folder {folder}"
        case FromSeed(generator=generator, seed=seed):
            return f"generator {generator}, seed {seed}"


def wheel_platform(filename: str) -> str:
    """Read the platform tag of a wheel's file name: its last part, with and without a build tag (PEP 427)."""
    return filename.removesuffix(".whl").rpartition("-")[2]


def place_words(locator: Locator) -> str:
    """Say where in the raw file a number stands."""
    match locator:
        case WholeFile():
            return "whole file"
        case LineLocator(line=line):
            return f"line {line}"
        case PointerLocator(pointer=pointer):
            return f"value at {pointer or 'the root'}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _ordinal(number: int) -> str:
    last, teens = number % 10, range(11, 14)
    suffix = "th" if number % 100 in teens else {1: "st", 2: "nd", 3: "rd"}.get(last, "th")
    return f"{number}{suffix}"
