"""Look at the data while they come in: each look spends its part of the error, and a stop is final."""

from collections.abc import Mapping

from dayzero.gates.judge import judge_at
from dayzero.gates.model import Capture, Continue, DistributionPlan, Inconclusive, Judged, NoInstrument, Stop


def look(plan: DistributionPlan, captures: Mapping[str, Capture], look_number: int) -> Stop | Continue:
    """Judge what is in, and say whether the attempt ends.

    It ends at the last look; before it, when the captures cannot be read, when the instrument has a fault that more prompts do
    not mend, and when every measure lies below its margin or one lies beyond it.

    Args:
        plan: What was fixed beforehand.
        captures: At least the prompts of this look; further ones are not read.
        look_number: From 1, of :attr:`DistributionPlan.look_sizes`.
    """
    judged = judge_at(plan, captures, look_number)
    sizes = plan.look_sizes
    if look_number == len(sizes) or not _may_turn(judged):
        return Stop(judged)
    return Continue(judged, sizes[look_number])


def _may_turn(judged: Judged) -> bool:
    """Say whether more prompts may turn this into a verdict."""
    if isinstance(judged.verdict, NoInstrument):
        unsound = [arm.instrument for arm in judged.arms if isinstance(arm.instrument, NoInstrument)]
        checks = [check for one in unsound for check in one.checks if not check.holds]
        return bool(checks) and all(check.mends for check in checks)
    return isinstance(judged.verdict, Inconclusive)
