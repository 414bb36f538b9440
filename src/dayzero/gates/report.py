"""Say in words what a gate found; the command line, the document and the reasons use the same ones."""

import math
from collections.abc import Iterator, Mapping

from dayzero.core.verdict import Undecided
from dayzero.gates.model import (
    Different,
    Estimate,
    Figures,
    GateVerdict,
    Group,
    Inconclusive,
    Judged,
    JudgedArm,
    NoInstrument,
    Same,
    Sound,
    Tested,
)

_SMALLEST = 1e-7
_DIGITS = 2
_WIDTH = 12


def word(verdict: GateVerdict) -> str:
    """Give the one word of a verdict."""
    match verdict:
        case Same():
            return "same"
        case Different():
            return "different"
        case Inconclusive():
            return "inconclusive"
        case NoInstrument():
            return "unsound"
        case Undecided():
            return "undecided"


def reasons(verdict: GateVerdict) -> tuple[str, ...]:
    """Give why it is so, one sentence each."""
    return (verdict.reason,) if isinstance(verdict, Undecided) else verdict.reasons


def sentences(judged: Judged) -> tuple[str, ...]:
    """Say what was found, one line each: the verdict, then each arm with all that it rests on."""
    looks = len(judged.plan.look_sizes)
    first = f"{word(judged.verdict)}: look {judged.look} of {looks}, {judged.prompts} of {judged.plan.prompts} prompts"
    return (first, *(line for arm in judged.arms for line in _arm(judged, arm)))


def tested_words(tested: Tested) -> str:
    """Say what one measure shows."""
    margin = _of(tested, tested.margin)
    found = f"{tested.name} in excess of the control: {_found_words(tested)}"
    if tested.decided == "same":
        return f"{found}, below the margin of {margin}"
    if tested.decided == "different":
        above = f"at least {_of(tested, tested.above)} with every test of this gate counted"
        if tested.above > tested.margin:
            return f"{found}, beyond the margin of {margin} ({above})"
        return f"{found}; a difference is there ({above}), and it is not shown to lie below the margin of {margin}"
    return f"{found}: neither shown to lie below the margin of {margin}, nor to be there; {_more(tested)}"


def amount(value: float, unit: str) -> str:
    """Write a figure to two digits, without exponents; a share where there is no unit."""
    return f"{_plain(value)} {unit}" if unit else percent(value)


def percent(share: float) -> str:
    """Write a share as a percentage."""
    return f"{_plain(100 * share, digits=4)} %"


def _plain(value: float, *, digits: int = _DIGITS) -> str:
    if value == 0:
        return "0"
    if abs(value) < _SMALLEST:
        return f"{'-' if value < 0 else ''}under {_SMALLEST:.7f}"
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:.9f}".rstrip("0").rstrip(".")


def _of(tested: Tested, value: float) -> str:
    return amount(value, tested.unit)


def _found_words(tested: Tested) -> str:
    excess = tested.excess
    span = f"{_of(tested, excess.low)} to {_of(tested, excess.high)}"
    return f"{_of(tested, excess.value)} ({span}, each side at {percent(excess.level)})"


def _more(tested: Tested) -> str:
    if not tested.prompts_needed:
        return "nothing here says what would settle it"
    if tested.prompts_needed <= tested.excess.n:
        return "were the excess what it looks like, as many prompts settle it 4 times in 5: this was one of the others"
    return f"about {tested.prompts_needed} prompts settle it 4 times in 5, in an attempt of its own"


def _arm(judged: Judged, arm: JudgedArm) -> Iterator[str]:
    yield f"{arm.arm.value}: {word(arm.verdict)}"
    figures = {one.name: one for one in arm.figures}
    if len(figures) >= 3:  # noqa: PLR2004 - both controls and the test
        yield from (_line(*pair) for pair in _found(judged, arm, figures))
    if isinstance(arm.verdict, Same):
        yield _line(
            "because", "every measure lies below its margin, and the instrument was seen to find a planted defect"
        )
        return
    for reason in reasons(arm.verdict):
        yield _line("because", reason)


def _found(judged: Judged, arm: JudgedArm, figures: Mapping[str, Figures]) -> Iterator[tuple[str, str]]:
    a, b, test = (figures[name] for name in ("A against itself", "B against itself", "A against B"))
    plan = judged.plan
    allowed = amount(plan.margin_nat / 3, "nat")
    yield "floor", f"A {_at_most(a.divergence)}, B {_at_most(b.divergence)}; the margin allows {allowed}"
    yield from (("excess", _excess(tested)) for tested in arm.tests)
    yield "could see", ", ".join(_visible(tested) for tested in arm.tests)
    clear = _three(a.clear_flips, b.clear_flips, test.clear_flips)
    yield "first token", f"agrees at {_three(a.agreement, b.agreement, test.agreement)}; clear flips {clear}"
    covered = _three(a.coverage, b.coverage, test.coverage)
    yield "coverage", f"enough candidates shared at {covered}; {test.positions} places compared"
    yield "tails", "; ".join(_tail(*named) for named in (("A-A", a), ("B-B", b), ("A-B", test)))
    ways = f"B from A {amount(test.forward, 'nat')}, A from B {amount(test.backward, 'nat')}"
    yield "directions", f"{ways}; lower bounds, by {plan.k} candidates"
    yield from (("places", _group(group)) for group in test.groups)
    if isinstance(arm.instrument, Sound):
        seen = next(check for check in arm.instrument.checks if check.name == "positive control")
        yield "control", seen.found


def _excess(tested: Tested) -> str:
    found, excess = f"{tested.name} {_found_words(tested)}; margin {_of(tested, tested.margin)}", tested.excess
    if excess.low or excess.high:
        return found
    share = -math.expm1(math.log(1 - excess.level) / excess.n)
    return f"{found}; not one of {excess.n} prompts differs, so of all such prompts at most {percent(share)} do"


def _tail(name: str, figures: Figures) -> str:
    highest = f"p99 {amount(figures.p99, 'nat')}, largest {amount(figures.largest, 'nat')}"
    return f"{name} {highest}, {figures.far} of {figures.positions} beyond 0.5 nat"


def _group(group: Group) -> str:
    agrees = f"first token agrees at {percent(group.agreement)}"
    return f"{group.name}: {group.positions}, {agrees}, {amount(group.divergence, 'nat')}, thin {percent(group.thin)}"


def _visible(tested: Tested) -> str:
    if tested.minimum:
        return f"{tested.name} of {_of(tested, tested.minimum)}"
    return f"{tested.name}: none anywhere"


def _at_most(floor: Estimate) -> str:
    return f"{amount(floor.value, 'nat')} (at most {amount(floor.high, 'nat')})"


def _three(a: float, b: float, test: float) -> str:
    return f"{percent(a)} A-A, {percent(b)} B-B, {percent(test)} A-B"


def _line(name: str, text: str) -> str:
    return f"  {name:<{_WIDTH}} {text}"
