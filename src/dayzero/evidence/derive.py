"""Compute numbers from other claims: exactly, by a rule of a closed list, and from what stands only.

A rule takes the inputs as they are printed, so that a reader who has the page can compute the same. The arithmetic is exact
(fractions of the printed decimals); the result is rounded once, half to even, to the decimals that are printed.
A changed definition gets a new version; the old one stays.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dayzero.core.errors import EvidenceError
from dayzero.evidence.model import Claim, Derived
from dayzero.evidence.state import Missing, Standing, State

_NUMBER = re.compile(r"-?[0-9]{1,100}(?:\.[0-9]{1,100})?(?:[eE][-+]?[0-9]{1,2})?")
_MOST_DECIMALS = 15
_BYTES_PER_GIB = 2**30
_WHOLE = 100
_BYTE_UNITS = ("B", "byte", "bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedDraft:
    """A derived claim before its value is known; the fields are those of :class:`~dayzero.evidence.model.Derived`."""

    slug: str
    label: str
    unit: str
    rule: str
    inputs: tuple[str, ...]
    decimals: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One way to compute a number.

    Attributes:
        takes: How many inputs; a negative number means that many or more.
        formula: What it computes, in words.
        unit_fault: What is wrong with the units of the inputs and of the result, ``""`` where nothing is.
        compute: The result.
    """

    takes: int
    formula: str
    unit_fault: Callable[[Sequence[str], str], str]
    compute: Callable[[Sequence[Fraction]], Fraction]


def make_derived(standings: Mapping[str, State], draft: DerivedDraft) -> Derived:
    """Make a derived claim: the value is what the rule gives for the claims that stand.

    Args:
        standings: Where each slug stands now.
        draft: Everything but the value.

    Raises:
        EvidenceError: An input does not stand or is no number, the rule is not one of this version or cannot take these
            inputs, or the unit is not the one that it gives.
        InputError: The slug, label or unit cannot be cited on one line.
    """
    return Derived(
        slug=draft.slug,
        label=draft.label,
        value=derived_value(standings, draft),
        unit=draft.unit,
        rule=draft.rule,
        inputs=draft.inputs,
        decimals=draft.decimals,
    )


def derived_value(standings: Mapping[str, State], asked: DerivedDraft | Derived) -> str:
    """Compute a derived value from the claims that stand.

    Raises:
        EvidenceError: As for :func:`make_derived`.
    """
    rule = RULES.get(asked.rule)
    if rule is None:
        raise EvidenceError(
            f"no rule is called {asked.rule}", hint=f"This version has {', '.join(RULES)}; a newer one may have more."
        )
    if not 0 <= asked.decimals <= _MOST_DECIMALS:
        raise EvidenceError(
            f"decimals must be 0 to {_MOST_DECIMALS}, not {asked.decimals}", hint="Print fewer; they are rounded."
        )
    if not (len(asked.inputs) == rule.takes or len(asked.inputs) >= -rule.takes > 0):
        wanted = f"{rule.takes}" if rule.takes > 0 else f"{-rule.takes} or more"
        raise EvidenceError(f"{asked.rule} takes {wanted} inputs, not {len(asked.inputs)}", hint=rule.formula)
    claims = tuple(_number_claim(standings, slug) for slug in asked.inputs)
    fault = rule.unit_fault([claim.unit for claim in claims], asked.unit)
    if fault:
        raise EvidenceError(f"{asked.rule}: {fault}", hint=rule.formula)
    try:
        result = rule.compute([Fraction(claim.value) for claim in claims])
    except ZeroDivisionError as error:
        raise EvidenceError(f"{asked.rule} divides by {asked.inputs[-1]}, which is zero", hint=rule.formula) from error
    return _printed(result, asked.decimals)


def _number_claim(standings: Mapping[str, State], slug: str) -> Claim | Derived:
    match standings.get(slug, Missing(slug)):
        case Standing(claim=Claim() | Derived() as claim):
            if not _NUMBER.fullmatch(claim.value):
                raise EvidenceError(f"{slug} is no number: {claim.value!r}", hint="Derive numbers from numbers.")
            return claim
        case Standing():
            raise EvidenceError(f"{slug} is an explanation, not a number", hint="Derive numbers from numbers.")
        case Missing():
            raise EvidenceError(f"no claim is called {slug}", hint="File the claim that enters first.")
        case _:
            raise EvidenceError(f"{slug} does not stand", hint="Derive from claims that stand.")


def _printed(value: Fraction, decimals: int) -> str:
    scaled = round(value * 10**decimals)  # of a fraction: exact, half to even
    digits = str(abs(scaled)).rjust(decimals + 1, "0")
    whole, part = digits[: len(digits) - decimals], digits[len(digits) - decimals :]
    return ("-" if scaled < 0 else "") + (f"{whole}.{part}" if decimals else whole)


def _same_unit(units: Sequence[str], unit: str) -> str:
    given = sorted({*units, unit})
    return "" if len(given) == 1 else f"the units differ: {', '.join(name or 'none' for name in given)}"


def _ratio_unit(units: Sequence[str], unit: str) -> str:
    over, under = units
    if over == under:
        return "" if unit in {"", "x"} else f"the units cancel out, so the unit is none or x, not {unit}"
    wanted = f"{over}/{under}"
    return "" if unit == wanted else f"the unit is {wanted}, not {unit or 'none'}"


def _percent_unit(units: Sequence[str], unit: str) -> str:
    return _same_unit(units, units[0]) or ("" if unit == "%" else f"the unit is %, not {unit or 'none'}")


def _gib_unit(units: Sequence[str], unit: str) -> str:
    if units[0] not in _BYTE_UNITS:
        return f"the input is in {units[0] or 'no unit'}, not in bytes"
    return "" if unit == "GiB" else f"the unit is GiB, not {unit or 'none'}"


RULES: Mapping[str, Rule] = {
    "ratio@1": Rule(
        takes=2,
        formula="The first over the second.",
        unit_fault=_ratio_unit,
        compute=lambda inputs: inputs[0] / inputs[1],
    ),
    "difference@1": Rule(
        takes=2,
        formula="The first less the second.",
        unit_fault=_same_unit,
        compute=lambda inputs: inputs[0] - inputs[1],
    ),
    "delta-pct@1": Rule(
        takes=2,
        formula="By how many percent of the second the first is more than the second.",
        unit_fault=_percent_unit,
        compute=lambda inputs: (inputs[0] - inputs[1]) / inputs[1] * _WHOLE,
    ),
    "sum@1": Rule(
        takes=-2,
        formula="All of them added.",
        unit_fault=_same_unit,
        compute=lambda inputs: sum(inputs, Fraction(0)),
    ),
    "gibibytes@1": Rule(
        takes=1,
        formula="A number of bytes over 2^30.",
        unit_fault=_gib_unit,
        compute=lambda inputs: inputs[0] / _BYTES_PER_GIB,
    ),
}
