"""May two numbers stand beside each other? Only where they were taken in the same way under the same load."""

from dataclasses import replace
from decimal import Decimal, InvalidOperation

from dayzero.catalog.model import Measurement, Shown
from dayzero.core.package import ClaimRef
from dayzero.core.workload import Cell, Workload

_TWO_DECIMALS = Decimal("0.01")
_LOAD = "cell"


def not_comparable(left: tuple[ClaimRef, Workload], right: tuple[ClaimRef, Workload]) -> str:
    """Say why two numbers cannot be set against each other, ``""`` where they can.

    Args:
        left: What is asked for, and under which workload.
        right: The same of the other one.
    """
    (one, _), (other, _) = left, right
    if one.unit != other.unit:
        return f"the unit is {one.unit or 'none'} here and {other.unit or 'none'} there"
    if (one.extractor, one.pointer) != (other.extractor, other.pointer):
        return "they are read out of their raw files in different ways"
    asked, wanted = dict(one.parameters), dict(other.parameters)
    for name in sorted({*asked, *wanted} - {_LOAD, "decimals"}):
        if asked.get(name) != wanted.get(name):
            return f"the {name} is {asked.get(name, 'not given')} here and {wanted.get(name, 'not given')} there"
    if load_of(*left) != load_of(*right):
        return "the load is another one"
    return ""


def load_of(ref: ClaimRef, workload: Workload) -> tuple[int, Cell] | None:
    """Give the load of a number, so that equal loads are equal: the seed and the cell, whatever it is called."""
    name = dict(ref.parameters).get(_LOAD, "")
    cell = next((cell for cell in workload.cells if cell.name == name), None)
    return None if cell is None else (workload.seed, replace(cell, name=""))


def kind_of(ref: ClaimRef) -> tuple[object, ...]:
    """Give what a number is, without its load: two packages' numbers of one kind are looked at together."""
    rest = tuple(sorted((name, value) for name, value in ref.parameters if name not in {_LOAD, "decimals"}))
    return (ref.extractor, ref.pointer, ref.unit, rest)


def ratio(before: Measurement, after: Measurement) -> str:
    """Divide the later by the earlier, with two decimals; ``""`` where either is not shown, is no number, or is zero."""
    if not isinstance(before.figure, Shown) or not isinstance(after.figure, Shown):
        return ""
    try:
        below, above = Decimal(before.figure.claim.value), Decimal(after.figure.claim.value)
        return str((above / below).quantize(_TWO_DECIMALS)) if below else ""
    except InvalidOperation:
        return ""


def figure_words(measurement: Measurement) -> str:
    """Print a number with its unit, ``""`` where none is shown."""
    return measurement.figure.claim.text if isinstance(measurement.figure, Shown) else ""
