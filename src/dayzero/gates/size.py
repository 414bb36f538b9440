"""Say beforehand how many prompts a gate needs."""

from dataclasses import dataclass

from dayzero.gates.model import FEWEST_PROMPTS, DistributionPlan, SampleSize
from dayzero.gates.statistics import prompts_for, spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """What is assumed about a difference that is as large as its margin, before anything was measured.

    Attributes:
        spread: Standard deviation of a place's divergence over its mean. Published runs over full vocabularies show about
            2.5 (llama.cpp's KL tables); routing flips of mixtures of experts lie above.
        design_effect: By how much the places of one prompt say less than as many independent ones.
    """

    spread: float = 3.0
    design_effect: float = 3.0


def needed(plan: DistributionPlan, assumed: Assumed | None = None) -> SampleSize:
    """Say how many prompts find a difference as large as the margin 4 times in 5, whichever measure it shows in.

    Args:
        plan: What is to be measured.
        assumed: About the spread; the published one where nothing is known better.
    """
    given = assumed or Assumed()
    of_a_prompt = (given.design_effect / plan.positions) ** 0.5
    sds = {
        "divergence": (given.spread * plan.margin_nat * of_a_prompt, plan.margin_nat),
        "clear flips and far tail": (plan.margin_flip**0.5 * of_a_prompt, plan.margin_flip),
    }
    alpha = final_level(plan, plan.alpha_different)
    each = {name: max(FEWEST_PROMPTS, prompts_for(sd, margin, alpha=alpha)) for name, (sd, margin) in sds.items()}
    name = max(each, key=each.__getitem__)
    reason = (
        f"{each[name]} prompts of {plan.positions} places find a difference at the margin 4 times in 5 "
        f"({name} asks for most; a spread of {given.spread:g} times the mean and a design effect of {given.design_effect:g} "
        "are assumed)"
    )
    if each[name] == FEWEST_PROMPTS:
        reason = f"{FEWEST_PROMPTS} prompts are the fewest whose interval can be trusted; the margins ask for no more"
    return SampleSize(prompts=each[name], because=reason, each=each)


def final_level(plan: DistributionPlan, alpha: float) -> float:
    """Give the one-sided level that is left for the last look."""
    return level_at(plan, alpha, len(plan.look_sizes))


def level_at(plan: DistributionPlan, alpha: float, look: int) -> float:
    """Give the one-sided level that a look, from 1, may use."""
    return spent(alpha, tuple(size / plan.prompts for size in plan.look_sizes))[look - 1]
