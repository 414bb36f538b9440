"""Say what the interval of the primary measure means for B."""

import math

from dayzero.bench.windows.model import Interval, Measure, Verdict


def decide(effect: Interval, measure: Measure, *, margin: float) -> Verdict:
    """Decide about B by one interval.

    The margin comes first: a difference that lies wholly below what was said to matter is ``EQUIVALENT``, however surely it
    is there. An interval that holds 0 and reaches beyond the margin is ``INCONCLUSIVE``.

    Args:
        effect: The log-ratio of B over A with its interval.
        measure: What was measured, for which way is better.
        margin: Share below which a difference does not matter.
    """
    bound = math.log1p(margin)
    if -bound < effect.low and effect.high < bound:
        return "EQUIVALENT"
    if effect.low > 0:
        return "BETTER" if measure.higher_is_better else "WORSE"
    if effect.high < 0:
        return "WORSE" if measure.higher_is_better else "BETTER"
    return "INCONCLUSIVE"
