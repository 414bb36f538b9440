"""Put pins, machines and loads into words, once, so that the page and the JSON say the same."""

import re
from collections.abc import Mapping

from dayzero.catalog.model import FitState
from dayzero.catalog.page_model import PageState
from dayzero.core.hardware import System
from dayzero.core.pins import FromSeed, HubRevision, InDistribution, ModelOrigin, Proxy
from dayzero.core.workload import Cell, ClosedLoop, Workload, pace_words
from dayzero.evidence.locator import (
    CsvLocator,
    JsonlLocator,
    LineLocator,
    Locator,
    MemberLocator,
    PointerLocator,
    RangeLocator,
    SpanLocator,
    WholeFile,
)
from dayzero.evidence.model import Extraction

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
    FitState.COMPUTED_DOES_NOT_FIT: "Does not fit, computed",
    FitState.UNKNOWN: "Fit unknown",
}

_STATES: Mapping[PageState, str] = {
    PageState.STANDING: "The claim stands: its value may be quoted.",
    PageState.FLAGGED: "The claim stands, and something was said on it that a reader has to know.",
    PageState.SUPERSEDED: "A later claim took its place.",
    PageState.CORRECTED: "It was extracted or written wrongly; the next claim is the right one.",
    PageState.WITHDRAWN: "It is no longer asserted. What it rests on stays.",
    PageState.RETRACTED: "It should not have been published. Its value is not printed; the record of it stays.",
    PageState.UNSUPPORTED: "What it rests on is gone, so it has no value now.",
    PageState.UNCITABLE: "A value exists and is withheld, because no raw file stands under it.",
}


def state_words(state: PageState) -> str:
    """Say what a claim's state means."""
    return _STATES[state]


def extraction_words(extraction: Extraction) -> str:
    """Say how a value comes out of its raw file, as a sentence without an end."""
    asked = dict(extraction.parameters)
    decimals = (
        f", printed with {_count(int(asked['decimals']), 'decimal')}" if asked.get("decimals", "").isdigit() else ""
    )
    match extraction.extractor.partition("@")[0]:
        case "bench-rows" if {"metric", "cell"} <= set(asked):
            over = f"{asked['metric']} over the rows of cell {asked['cell']}{decimals}"
            statistic = asked.get("statistic", "")
            return over if statistic in {"", "total"} else f"the {statistic_words(extraction.parameters)} of {over}"
        case "json-value":
            return f"the value as it is written there{decimals}"
        case "text-line":
            return f"what the pattern {asked.get('pattern', '')} takes out of it"
        case "text-absence":
            return f"no line matches {asked.get('pattern', '')}, while {asked.get('control', '')} is found"
        case name:
            return f"what the extractor {name} takes out of it"


def lines_words(first: int, last: int, total: int) -> str:
    """Say which lines of how many are quoted."""
    if total == 1:
        return "the only line of the file"
    if first == last:
        return f"line {first} of {total}"
    if (first, last) == (1, total):
        return f"all {total} lines"
    return f"lines {first} to {last} of {total}" if first > 1 else f"the first {last} of {total} lines"


def rows_words(shown: int, named: int, cell: str, total: int) -> str:
    """Say which rows of a cell are quoted."""
    which = f"all {named}" if shown == named else f"the first {shown} of {named}"
    return f"{which} lines that name cell {cell} ({total} lines in all)"


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
    """Say one point of the grid: how many at once or how often, how many in all, how long."""
    plain = isinstance(cell.load, ClosedLoop) and cell.turns == 1
    pace = f"{_count(cell.concurrency, 'request')} in flight" if plain else f"requests: {pace_words(cell)}"
    shared = f", the first {cell.shared_prefix_tokens} the same for all" if cell.shared_prefix_tokens else ""
    return (
        f"{pace}, {cell.requests} measured after {cell.warmup_requests} warm-up, "
        f"{_count(cell.input_tokens, 'prompt token')} and {_count(cell.output_tokens, 'output token')} each{shared}"
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
        case Proxy(of=of, layers=layers, of_layers=whole):
            return f"the shape of {of}, {layers} of {whole} layers, no weights"


def wheel_platform(filename: str) -> str:
    """Read the platform tag of a wheel's file name: its last part, with and without a build tag (PEP 427)."""
    return filename.removesuffix(".whl").rpartition("-")[2]


def place_words(locator: Locator) -> str:
    """Say where in the raw file a number stands."""
    match locator:
        case WholeFile():
            words = "whole file"
        case LineLocator(line=line):
            words = f"line {line}"
        case RangeLocator(first=first, last=last):
            words = f"lines {first} to {last}"
        case PointerLocator(pointer=pointer):
            words = f"value at {pointer or 'the root'}"
        case JsonlLocator(line=line, pointer=pointer):
            words = f"value at {pointer or 'the root'} of line {line}"
        case CsvLocator(key_column=key_column, key=key, column=column):
            words = f"column {column} of the row whose {key_column} is {key}"
        case MemberLocator(member=member):
            words = f"member {member} of the archive"
        case SpanLocator(offset=offset, length=length):
            words = f"{_count(length, 'byte')} from byte {offset}"
    return words


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _ordinal(number: int) -> str:
    last, teens = number % 10, range(11, 14)
    suffix = "th" if number % 100 in teens else {1: "st", 2: "nd", 3: "rd"}.get(last, "th")
    return f"{number}{suffix}"
