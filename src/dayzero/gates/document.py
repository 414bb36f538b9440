"""Write what a gate found as a JSON document. The format: docs/reference/gates.md."""

import math
from collections.abc import Mapping
from dataclasses import asdict

from dayzero.gates.model import (
    Check,
    DistributionPlan,
    Estimate,
    Figures,
    Judged,
    JudgedArm,
    NoInstrument,
    Sound,
    Tested,
)
from dayzero.gates.report import reasons, word

SCHEMA = "dayzero/gate-distribution/v1"

_DIGITS = 6


def document(judged: Judged) -> dict[str, object]:
    """Write what was judged; every figure that the words name stands in it."""
    return {
        "schema": SCHEMA,
        "verdict": word(judged.verdict),
        "because": list(reasons(judged.verdict)),
        "plan": of_plan(judged.plan),
        "look": judged.look,
        "prompts": judged.prompts,
        "arms": {arm.arm.value: _arm(arm) for arm in judged.arms},
    }


def of_plan(plan: DistributionPlan) -> dict[str, object]:
    """Write all that was fixed before the first request."""
    return {**asdict(plan), "arms": [arm.value for arm in plan.arms], "look_sizes": list(plan.look_sizes)}


def _arm(arm: JudgedArm) -> dict[str, object]:
    return {
        "verdict": word(arm.verdict),
        "because": list(reasons(arm.verdict)),
        "certificate": _certificate(arm),
        "figures": [_figures(one) for one in arm.figures],
        "tests": [_tested(one) for one in arm.tests],
    }


def _certificate(arm: JudgedArm) -> dict[str, object]:
    match arm.instrument:
        case Sound(floor=floor, checks=checks):
            return {"sound": True, "floor_nat": _estimate(floor), "checks": [_check(check) for check in checks]}
        case NoInstrument(checks=checks):
            return {"sound": False, "checks": [_check(check) for check in checks]}
        case None:
            return {"sound": False, "checks": []}


def _check(check: Check) -> dict[str, object]:
    return {"name": check.name, "holds": check.holds, "found": check.found, "needed": check.needed}


def _figures(figures: Figures) -> dict[str, object]:
    return {
        "name": figures.name,
        "pairs": list(figures.pairs),
        "places": figures.positions,
        "first_token_agreement": _rounded(figures.agreement),
        "clear_flips": _rounded(figures.clear_flips),
        "forward_nat": _rounded(figures.forward),
        "backward_nat": _rounded(figures.backward),
        "divergence_nat": _estimate(figures.divergence),
        "p99_nat": _rounded(figures.p99),
        "largest_nat": _rounded(figures.largest),
        "beyond_half_a_nat": figures.far,
        "coverage": _rounded(figures.coverage),
        "groups": [_plain(asdict(group)) for group in figures.groups],
    }


def _tested(tested: Tested) -> dict[str, object]:
    return {
        "name": tested.name,
        "unit": tested.unit or "share",
        "decided": tested.decided,
        "margin": tested.margin,
        "excess": _estimate(tested.excess),
        "above": _rounded(tested.above),
        "minimum_detectable": _rounded(tested.minimum),
        "p_sign_flips": _rounded(tested.p),
        "prompts_needed": tested.prompts_needed,
    }


def _estimate(estimate: Estimate) -> dict[str, object]:
    return _plain(asdict(estimate))


def _plain(values: Mapping[str, object]) -> dict[str, object]:
    return {name: _rounded(value) if isinstance(value, float) else value for name, value in values.items()}


def _rounded(value: float) -> float:
    """Keep so many significant digits: figures here span seven orders."""
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else value
