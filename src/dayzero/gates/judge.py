"""Judge the captures of a gate: what cannot be read, what the instrument is worth, what was found."""

from collections.abc import Mapping, Sequence

from dayzero.core.verdict import Undecided
from dayzero.gates.certificate import LEAST_COVERAGE, Controls, certify, coverage
from dayzero.gates.divergence import Comparison, Reading, compare, in_common, read
from dayzero.gates.equivalence import tests
from dayzero.gates.faults import capture_faults, faults
from dayzero.gates.figures import figures
from dayzero.gates.model import (
    FEWEST_PROMPTS,
    Arm,
    Capture,
    Different,
    DistributionPlan,
    GateVerdict,
    Inconclusive,
    Instrument,
    Judged,
    JudgedArm,
    NoInstrument,
    Same,
    Tested,
)
from dayzero.gates.report import percent, reasons, tested_words
from dayzero.gates.size import needed

_SERVERS = ("A1", "A2", "B1", "B2")
_POSITIVE = "positive"


def judge(plan: DistributionPlan, captures: Mapping[str, Capture]) -> Judged:
    """Judge a whole attempt, at its last look.

    Args:
        plan: What was fixed beforehand.
        captures: All of them, by :attr:`Capture.key`; the capture's own arm and name count.
    """
    return judge_at(plan, captures, len(plan.look_sizes))


def judge_at(plan: DistributionPlan, captures: Mapping[str, Capture], look: int) -> Judged:
    """Judge the prompts that are in by a look, from 1, with what that look may spend."""
    prompts = plan.look_sizes[look - 1]
    found = {(capture.arm, capture.name): capture for capture in captures.values()}
    arms = tuple(
        _arm(plan, arm, {name: capture for (of, name), capture in found.items() if of is arm}, look)
        for arm in plan.arms
    )
    return Judged(plan=plan, look=look, prompts=prompts, verdict=_together(arms), arms=arms)


def _together(arms: Sequence[JudgedArm]) -> GateVerdict:
    """Put the arms together: one difference is one; failing that, one arm that cannot say leaves all unsaid."""
    said = {
        kind: tuple(reason for arm in arms if isinstance(arm.verdict, kind) for reason in _reasons(arm))
        for kind in (Different, Undecided, NoInstrument, Inconclusive)
    }
    if said[Different]:
        return Different(said[Different])
    if said[Undecided]:
        return Undecided("; ".join(said[Undecided]))
    if said[NoInstrument]:
        return NoInstrument(said[NoInstrument])
    if said[Inconclusive]:
        return Inconclusive(said[Inconclusive])
    return Same(tuple(reason for arm in arms for reason in _reasons(arm)))


def _reasons(arm: JudgedArm) -> tuple[str, ...]:
    return tuple(f"{arm.arm.value}: {reason}" for reason in reasons(arm.verdict))


def _arm(plan: DistributionPlan, arm: Arm, captures: Mapping[str, Capture], look: int) -> JudgedArm:
    prompts = plan.look_sizes[look - 1]
    unread = _unread(plan, arm, captures, prompts)
    if unread is not None:
        return JudgedArm(arm=arm, verdict=unread)
    readings = {name: read(captures[name], prompts) for name in _SERVERS}
    places = [in_common(arm, tuple(readings.values()), prompt) for prompt in range(prompts)]
    own_a = compare("A against itself", readings, (("A1", "A2"),), places)
    own_b = compare("B against itself", readings, (("B1", "B2"),), places)
    test = compare("A against B", readings, (("A1", "B1"), ("A2", "B2")), places)
    controls = _controls(plan, readings, captures.get(_POSITIVE), own_a, own_b)
    instrument = certify(plan, controls)
    found = tests(plan, test, (own_a, own_b), look)
    compared = (own_a, own_b, test, *((controls.positive,) if controls.positive else ()))
    return JudgedArm(
        arm=arm,
        verdict=_verdict(instrument, found, test),
        instrument=instrument,
        figures=tuple(figures(plan, comparison) for comparison in compared),
        tests=found,
    )


def _unread(
    plan: DistributionPlan, arm: Arm, captures: Mapping[str, Capture], prompts: int
) -> Undecided | NoInstrument | None:
    """Say why the captures cannot be compared, or that a control is missing; ``None`` where they can."""
    missing = [name for name in _SERVERS if name not in captures]
    wrong = faults(plan, arm, [captures[name] for name in _SERVERS if name in captures], prompts)
    if len(missing) == len(_SERVERS):
        return Undecided(f"nothing was captured in the {arm.value} arm")
    if wrong:
        return Undecided("; ".join(wrong))
    if {"A1", "B1"} & set(missing):
        return Undecided(f"{', '.join(missing)} was not captured")
    if missing:
        servers = " and ".join(name[0] for name in missing)
        return NoInstrument(
            (f"no control: {servers} was not captured a second time, so nothing says how far it is from itself",)
        )
    if prompts < FEWEST_PROMPTS:
        return Undecided(f"{prompts} prompts are too few for an interval that can be trusted: {needed(plan).because}")
    return None


def _controls(
    plan: DistributionPlan, readings: Mapping[str, Reading], positive: Capture | None, a: Comparison, b: Comparison
) -> Controls:
    """Line the positive control up with the first two captures of A."""
    if positive is None:
        return Controls(a=a, b=b, positive=None, positive_control=None, why_not="it was not captured")
    prompts = len(a.prompts)
    wrong = capture_faults(plan, positive, prompts)
    if wrong:
        return Controls(a=a, b=b, positive=None, positive_control=None, why_not=f"it cannot be read: {wrong[0]}")
    with_positive = {"A1": readings["A1"], "A2": readings["A2"], _POSITIVE: read(positive, prompts)}
    places = [in_common(positive.arm, tuple(with_positive.values()), prompt) for prompt in range(prompts)]
    if not all(places):
        why = f"it has no place in common with A in prompt {next(n for n, at in enumerate(places) if not at)}"
        return Controls(a=a, b=b, positive=None, positive_control=None, why_not=why)
    return Controls(
        a=a,
        b=b,
        positive=compare("positive control", with_positive, (("A1", _POSITIVE),), places),
        positive_control=compare("A against itself", with_positive, (("A1", "A2"),), places),
    )


def _verdict(instrument: Instrument, found: Sequence[Tested], test: Comparison) -> GateVerdict:
    if isinstance(instrument, NoInstrument):
        return instrument
    differ = tuple(tested_words(one) for one in found if one.decided == "different")
    if differ:
        return Different(differ)
    if all(one.decided == "same" for one in found):
        share = coverage(test)
        if share < LEAST_COVERAGE:
            why = f"A and B share enough candidates at only {percent(share)} of the places: too little to call them the same"
            return NoInstrument((why,), instrument.checks)
        return Same(tuple(tested_words(one) for one in found))
    return Inconclusive(tuple(tested_words(one) for one in found if not one.decided))
