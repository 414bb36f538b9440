"""Run a search to its end: the package first, then seeds, steps and samples, with baselines in between."""

import math
from typing import Final, Literal, TypeAlias

from dayzero.core.errors import DayzeroError
from dayzero.optimize.choose import Chooser, Chosen
from dayzero.optimize.facts import Begun, Ended
from dayzero.optimize.model import WALLED, Outcome, Role, changed, in_words
from dayzero.optimize.plan import Plan, Tools, View, view
from dayzero.optimize.ports import Told
from dayzero.optimize.space import flags_of
from dayzero.optimize.standing import Placed
from dayzero.optimize.stop import Watch, boundaries, ratio

End: TypeAlias = Literal["budget", "trials", "exhausted", "stock"]

_STOCK_TRIES: Final = 2


def search(plan: Plan, tools: Tools) -> End:
    """Search until the budget, the starts or the combinations are used up, or the package itself does not serve.

    Raises:
        KeyboardInterrupt: Somebody asked for the end; the trial in flight is written down as interrupted.
    """
    for lost in view(plan, tools.journal).state.lost(plan.worker):
        _end(plan, tools, lost.number, _void("interrupted", "its worker ended without a word", 0.0), None)
    while True:
        # What is chosen is written down before another worker chooses.
        with tools.journal.turn():
            now = view(plan, tools.journal)
            end = _over(now)
            if end is not None:
                return end
            chosen = Chooser(plan, tools, now).choose()
            if chosen is None:
                return "exhausted"
            begun = _begun(plan, tools, now, chosen)
        _run(plan, tools, now, begun)


def _over(now: View) -> End | None:
    stock = [one for one in now.state.trials if one.role == "stock" and one.kind != "interrupted"]
    fell = any(one.kind in WALLED for one in stock)
    if now.standing.stock is None and (fell or len(stock) >= _STOCK_TRIES):
        return "stock"
    if now.left is not None and now.left <= 0:
        return "trials"
    return "budget" if now.left_s <= 0 or now.left_s < now.expected_s else None


def _begun(plan: Plan, tools: Tools, now: View, chosen: Chosen) -> Begun:
    """Open a trial, and write down that it begins."""
    number, point = (chosen.number, chosen.point) if chosen.number is not None else tools.sampler.ask(chosen.point)
    tools.told(f"trial {number}, {chosen.role}: {in_words(changed(point, plan.space.stock))}", now)
    begun = Begun(at_s=tools.clock(), worker=plan.worker, number=number, role=chosen.role, point=point)
    tools.journal.write(begun)
    return begun


def _run(plan: Plan, tools: Tools, now: View, begun: Begun) -> None:
    """Make one trial that was written down, and write down how it ended."""
    number, began_s = begun.number, begun.at_s
    watch = _watch(plan, now, begun.role)
    try:
        outcome = tools.bench.measure(number, flags_of(plan.space, begun.point), watch)
    except KeyboardInterrupt:
        stopped = _void("interrupted", "somebody asked for the end", tools.clock() - began_s)
        _end(plan, tools, number, stopped, None)
        raise
    except DayzeroError as error:
        _end(plan, tools, number, _void("failed", error.message, tools.clock() - began_s), None)
        raise
    _end(plan, tools, number, outcome, now)


def _void(kind: Literal["interrupted", "failed"], reason: str, seconds: float) -> Outcome:
    return Outcome(kind=kind, reason=reason, seconds=seconds, figures={}, missing={})


def _end(plan: Plan, tools: Tools, number: int, outcome: Outcome, then: View | None) -> None:
    """Write down how a trial ended, and tell the sampler.

    Args:
        plan: What was fixed.
        tools: What is worked with.
        number: Of the trial.
        outcome: What came of it.
        then: Where the search stood when it began; ``None`` for one that brought nothing.
    """
    tools.journal.write(Ended(at_s=tools.clock(), worker=plan.worker, number=number, outcome=outcome))
    tools.sampler.tell(number, Told(how="void") if then is None else _told(plan, outcome, then))
    said = f"trial {number} {outcome.kind}" + (f": {outcome.reason}" if outcome.reason else "")
    tools.told(said, view(plan, tools.journal))


def _told(plan: Plan, outcome: Outcome, then: View) -> Told:
    """Say what a sampler learns; its values are on the first baseline's scale, as far as drift is known."""
    values, best = plan.goal.values(outcome), then.standing.best
    if values is not None:
        level = then.standing.baselines[-1].level if then.standing.baselines else tuple(0.0 for _ in values)
        scaled = tuple(value / math.exp(moved) for value, moved in zip(values, level, strict=True))
        return Told(how="whole", values=scaled, violations=plan.goal.violations(outcome))
    if outcome.kind == "stopped" and best is not None and best.values and best.trial.outcome:
        slower = math.exp(ratio(outcome.blocks, best.trial.outcome.blocks, plan.rule.alpha).value)
        inverse = plan.goal.objectives[0].inverse
        return Told(how="partly", values=(best.values[0] / slower if inverse else best.values[0] * slower,))
    return Told(how="bad" if outcome.kind in WALLED else "void")


def _watch(plan: Plan, now: View, role: Role) -> Watch:
    """Say against what a trial is held while it runs; the package itself and several objectives against nothing."""
    best, first = now.standing.best, plan.goal.objectives[0]
    held = role not in {"stock", "baseline"} and len(plan.goal.objectives) == 1 and first.of_speed
    blocks = best.trial.outcome.blocks if held and best is not None and best.trial.outcome else ()
    return Watch(
        rule=plan.rule,
        best=blocks,
        warmup=plan.warmup,
        bounds=boundaries(plan.requests),
        shift=_moved_since(now, best) * (-1 if first.inverse else 1) if blocks else 0.0,
    )


def _moved_since(now: View, best: Placed | None) -> float:
    """Give the logarithm of the level when the best trial ran over the level now."""
    if best is None or not now.standing.baselines:
        return 0.0
    return math.log(best.scale[0]) - now.standing.baselines[-1].level[0]
