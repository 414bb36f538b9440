"""Diagnose logs with every dialect and rule that is installed, and hand their numbers to fit."""

from collections.abc import Callable, Iterable
from pathlib import Path

from dayzero.adapters.log_files import logs_under, pieces, pipe
from dayzero.core.errors import InputError
from dayzero.core.hardware import HostMemory
from dayzero.core.quantities import Bytes
from dayzero.fit.check import fit_host
from dayzero.fit.model import HostReport, Term
from dayzero.triage.diagnose import Heard, Reader
from dayzero.triage.diagnose import diagnose as diagnose_bytes
from dayzero.triage.model import Diagnosis, Quantity, RootFound, Started
from dayzero.wiring.definitions import walls
from dayzero.wiring.plugins import log_dialects

PIPE = "stdin"

_SILENCE_S = 1.0
_SILENCES = 5
_NEWS = {Heard.DIED: "it fell; reading what still comes", Heard.STARTED: "it serves"}
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "kB": 10**3, "MB": 10**6, "GB": 10**9}
_NEEDED = ("needed", "tried", "requested", "asked", "weights")
_THERE = ("available", "free", "budget")


def diagnose(log: bytes | Iterable[bytes]) -> Diagnosis:
    """Diagnose one log."""
    return diagnose_bytes(log, log_dialects(), walls())


def diagnose_file(path: Path) -> Diagnosis:
    """Diagnose a file.

    Raises:
        InputError: It cannot be read.
    """
    return diagnose(pieces(path))


def diagnose_folder(folder: Path) -> tuple[tuple[tuple[str, Diagnosis], ...], tuple[str, ...]]:
    """Diagnose every log of a folder; they are named by their path below it.

    Returns:
        The answers, and why the logs without one could not be read.

    Raises:
        InputError: It holds none.
    """
    dialects, rules = log_dialects(), walls()
    answers, unread = [], []
    for file in logs_under(folder):
        try:
            answers.append((str(file.relative_to(folder)), diagnose_bytes(pieces(file), dialects, rules)))
        except InputError as error:
            unread.append(error.message)
    return tuple(answers), tuple(unread)


def follow(descriptor: int, on_news: Callable[[str], None]) -> Diagnosis:
    """Read a pipe while the engine starts, and answer when it has died or the pipe has ended.

    After the sign of a death, what still comes is read until nothing came for a second: the rest of its tracebacks. A log
    that falls silent after a cause without such a sign is told as news; the process may still run.

    Args:
        descriptor: The pipe.
        on_news: Told when the engine serves, when it has died, and when it fell silent after a cause.
    """
    reader = Reader(log_dialects(), walls())
    told: set[Heard] = set()
    silent = 0
    for piece in pipe(descriptor, _SILENCE_S):
        if not piece:
            silent += 1
            if Heard.DIED in told:
                break
            if silent == _SILENCES:
                _tell_so_far(reader.so_far(), on_news)
            continue
        silent = 0
        heard = reader.feed(piece)
        if heard is not Heard.NOTHING and heard not in told:
            told.add(heard)
            on_news(_NEWS[heard])
    return reader.end()


def _tell_so_far(diagnosis: Diagnosis, on_news: Callable[[str], None]) -> None:
    if isinstance(diagnosis, RootFound):
        on_news(f"silent; so far the cause is line {diagnosis.root.line}: {diagnosis.root.text}")


def memory_budget(diagnosis: Diagnosis) -> HostReport | None:
    """Put the sizes that a diagnosis names into a budget: what was needed against what was there; ``None`` where it names none."""
    if not isinstance(diagnosis, RootFound):
        return None
    needed, there = _first(diagnosis.numbers, _NEEDED), _first(diagnosis.numbers, _THERE)
    if needed is None or there is None:
        return None
    term = Term(name=needed[0].name, size=needed[1], source=f"line {needed[0].line} of the log")
    return fit_host((term,), HostMemory(total=there[1], available=there[1], source=f"line {there[0].line} of the log"))


def serves(diagnosis: Diagnosis) -> bool:
    """Say whether the engine came up and did not fall afterwards."""
    return isinstance(diagnosis, Started) and diagnosis.later is None


def _first(numbers: Iterable[Quantity], names: tuple[str, ...]) -> tuple[Quantity, Bytes] | None:
    sized = [
        (number, Bytes(round(float(number.value) * _UNITS[number.unit])))
        for number in numbers
        if number.unit in _UNITS and number.value.replace(".", "", 1).isdigit()
    ]
    return next((pair for name in names for pair in sized if pair[0].name == name), None)
