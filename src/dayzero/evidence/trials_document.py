"""The JSON document of what trials support, schema ``dayzero/trials/v1``."""

from collections.abc import Sequence

from dayzero.core.verdict import Proven, Refuted, Verdict
from dayzero.evidence.design import (
    Comparison,
    Conditions,
    Confounded,
    NoContrast,
    NotAttributed,
    Support,
    Supported,
    Unreplicated,
    distinct,
    varied,
)
from dayzero.evidence.exact import ALPHA, Rate
from dayzero.evidence.model import Explanation
from dayzero.evidence.repeats import NoPlan, Plan, Repeats, steps

SCHEMA = "dayzero/trials/v1"


def trials_document(
    explanation: Explanation, answers: Sequence[Support], verdict: Verdict, plans: Sequence[Plan]
) -> dict[str, object]:
    """Write an explanation's trials, what they support for each factor, and the plans that were asked for."""
    counted = {trial.name for trial in distinct(explanation.trials)}
    return {
        "schema": SCHEMA,
        "slug": explanation.slug,
        "statement": explanation.statement,
        "verdict": verdict_word(verdict),
        "reason": verdict.reason,
        "alpha": float(ALPHA),
        "trials": [
            {
                "name": trial.name,
                "conditions": dict(trial.conditions),
                "outcome": trial.outcome,
                "raw": trial.raw.hex,
                "counted": trial.name in counted,
            }
            for trial in explanation.trials
        ],
        "changed": list(varied(explanation.trials)),
        "answers": [_answer(answer) for answer in answers],
        "plans": [_plan(plan) for plan in plans],
    }


def verdict_word(verdict: Verdict) -> str:
    """Say the answer as one about the trials: that they support nothing does not refute what was asserted."""
    match verdict:
        case Proven():
            return "supported"
        case Refuted():
            return "unsupported"
        case _:
            return "undecided"


def answer_word(answer: Support) -> str:
    """Name an answer in one word."""
    match answer:
        case Supported():
            return "supported"
        case NotAttributed():
            return "unsupported"
        case Confounded():
            return "confounded"
        case Unreplicated():
            return "unreplicated"
        case NoContrast():
            return "no-contrast"


def rate_document(rate: Rate) -> dict[str, object]:
    """Write a rate and its exact interval, rounded to six decimals."""
    return {"events": rate.events, "trials": rate.trials, "low": round(rate.low, 6), "high": round(rate.high, 6)}


def _answer(answer: Support) -> dict[str, object]:
    told: dict[str, object] = {"factor": answer.factor, "answer": answer_word(answer), "reason": answer.reason}
    match answer:
        case Supported(comparison=comparison):
            told["comparisons"] = [_comparison(comparison)]
        case NotAttributed(comparisons=comparisons):
            told["comparisons"] = [_comparison(each) for each in comparisons]
        case Confounded(together=together):
            told["together"] = list(together)
        case Unreplicated(held=held, single=single):
            told |= {"held": _held(held), "single": list(single)}
        case NoContrast():
            pass
    return told


def _comparison(comparison: Comparison) -> dict[str, object]:
    return {
        "held": _held(comparison.held),
        "levels": [{"level": each.level, **rate_document(each.rate)} for each in comparison.levels],
        "p_value": float(comparison.p_value),
    }


def _plan(plan: Plan) -> dict[str, object]:
    match plan:
        case NoPlan():
            return {"factor": plan.factor, "repeats": None, "reason": plan.reason}
        case Repeats():
            return {
                "factor": plan.factor,
                "repeats": plan.each,
                "starts": plan.starts,
                "event": plan.event,
                "assumed": [{"level": each.level, **rate_document(each.rate)} for each in plan.levels],
                "power": float(plan.power),
                "sighting": plan.sighting,
                "held": _held((*plan.held, *plan.chosen)),
                "steps": list(steps(plan)),
            }


def _held(held: Conditions) -> dict[str, str]:
    return dict(held)
