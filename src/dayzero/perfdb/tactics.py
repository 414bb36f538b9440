"""Which candidates of an operator's tuner are wrong, and can "none" be believed? Only where a planted wrong one was caught."""

import itertools
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from typing import Any

import msgspec

from dayzero.core.errors import InputError

SCHEMA = "dayzero/perfdb-tactics/v1"


class Operator(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An operator, at one model's shape.

    Attributes:
        name: Its name.
        maker: What makes its inputs, as ``MODULE:FUNCTION`` of :mod:`dayzero.collector`.
        package: Distribution that it is in.
        columns: The shape.
        plant: What makes a candidate invalid on purpose.
        source: Where its candidates are from.
        kernel: Triton kernel whose launch is forced, as ``MODULE:NAME``.
        autotuned: Whether the kernel's own tuner lists the candidates.
        grid: Values that are multiplied out where it does not.
        device: ``cuda`` or ``cpu``.
    """

    name: str
    maker: str
    package: str
    columns: dict[str, str | int]
    plant: str
    source: str
    kernel: str = ""
    autotuned: bool = False
    grid: dict[str, tuple[int, ...]] = {}
    device: str = "cuda"


class _Operators(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    operator: tuple[Operator, ...]


class Fate(StrEnum):
    """What became of a candidate."""

    VALID = "valid"
    WRONG = "wrong result"
    FAILED = "raised an error"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"
    UNTRIED = "not tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One candidate.

    Attributes:
        candidate: Its settings.
        fate: What became of it.
        planted: Whether it was made invalid on purpose.
        line: Its line in the run, from 1.
        message: What was said where it is not valid.
    """

    candidate: Mapping[str, Any]
    fate: Fate
    planted: bool
    line: int
    message: str


def operators() -> tuple[Operator, ...]:
    """Read the operators whose candidates can be tried."""
    text = files("dayzero.perfdb").joinpath("tactics.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _Operators, strict=True).operator


def operator_named(name: str) -> Operator:
    """Look one up.

    Raises:
        InputError: There is none of that name.
    """
    found = next((one for one in operators() if one.name == name), None)
    if found is None:
        raise InputError(f"no operator is called {name!r}", hint=f"There are {', '.join(o.name for o in operators())}.")
    return found


def declared(operator: Operator) -> tuple[Mapping[str, Any], ...]:
    """Multiply the declared candidates out."""
    return tuple(dict(zip(operator.grid, values, strict=True)) for values in itertools.product(*operator.grid.values()))


def fate_of(line: Mapping[str, Any]) -> Fate:
    """Say what a line of the run says of its candidate."""
    if line["state"] == "measured":
        return Fate.VALID
    if line["state"] == "unsupported":
        return Fate.UNTRIED
    found = {"WrongResult": Fate.WRONG, "TimedOut": Fate.TIMED_OUT, "Crashed": Fate.CRASHED}
    return found.get(line["error"]["class"], Fate.FAILED)


def verdict(tried: Sequence[Tried]) -> str:
    """Answer "is every candidate valid?": ``proven``, ``refuted`` or ``undecided``.

    It is undecided where none is valid, which says more of the machine than of the candidates; where one was not tried; and, unless
    one is seen to be invalid, where the planted one was not caught.
    """
    fates = {one.fate for one in tried if not one.planted}
    if Fate.VALID not in fates:
        return "undecided"
    if fates - {Fate.VALID, Fate.UNTRIED}:
        return "refuted"
    caught = any(one.planted and one.fate is Fate.WRONG for one in tried)
    return "proven" if caught and Fate.UNTRIED not in fates else "undecided"


def key_of(operator: Operator, candidate: Mapping[str, Any], *, planted: bool) -> str:
    """Name a candidate in a run."""
    return json.dumps([operator.name, sorted(candidate.items()), planted])
