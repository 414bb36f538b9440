"""The task gate: the same items asked of two endpoints, right or wrong in each, judged at a stated margin."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dayzero.core.verdict import Undecided
from dayzero.gates.mcnemar import Table, exact_p, interval, items_needed, lowest_share, mid_p, smallest_seen
from dayzero.gates.model import Different, GateVerdict, Inconclusive, NoInstrument, Same

_FEWEST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlan:
    """What is fixed before the first request.

    Attributes:
        task: Name of the task, as lm-eval knows it.
        margin: Loss or gain in the share of right answers that does not matter.
        alpha: One-sided error of calling the same what is not; two-sided error of the test for a difference.
        limit: Items at most; 0 for all.
        filter: Which extraction rule decides; ``""`` for the task's first.
        metric: Which metric says right or wrong; ``""`` for the task's first.
        most_unscorable, most_truncated: Share of answers of an arm that may be so.
        seed: Of lm-eval's own draws (few-shot examples).
    """

    task: str
    margin: float = 0.02
    alpha: float = 0.05
    limit: int = 0
    filter: str = ""
    metric: str = ""
    most_unscorable: float = 0.02
    most_truncated: float = 0.02
    seed: int = 1234


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item as one arm answered it.

    Attributes:
        key: Which item: its task and its number there.
        asked: Digest of what was asked, prompt and target.
        score: The metric; 1 and 0 are right and wrong.
        extracted: Whether the rule found an answer in the text; one that it did not find counts as wrong.
        target: Digest of the right answer.
    """

    key: str
    asked: str
    score: float
    extracted: bool
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskArm:
    """What one endpoint answered.

    Attributes:
        items: Its items.
        truncated: Answers that ended at their limit of tokens.
        failed: Requests that brought no answer, one line each.
        rule: Digest of how answers are extracted and scored.
    """

    items: tuple[Item, ...]
    truncated: int
    failed: tuple[str, ...]
    rule: str

    @property
    def right(self) -> int:
        """Items answered right."""
        return sum(item.score == 1 for item in self.items)

    @property
    def unscorable(self) -> int:
        """Items in whose answer the rule found nothing."""
        return sum(not item.extracted for item in self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The figures.

    Attributes:
        table: The paired items.
        low, high: Bounds of the difference B less A, at ``level``.
        level: Two-sided confidence.
        exact_p, mid_p: McNemar's test.
        seen: True difference that so many items, so often discordant, show 4 times in 5.
        items_needed: Items that would show a difference of the margin 4 times in 5.
    """

    table: Table
    low: float
    high: float
    level: float
    exact_p: float
    mid_p: float
    seen: float
    items_needed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskJudged:
    """What the gate says.

    Attributes:
        plan: What was fixed.
        arms: What A and B answered.
        verdict: Same, different, inconclusive, unsound (the task cannot tell) or undecided.
        compared: The figures, ``None`` where the items cannot be paired.
        notes: What a reader should know besides.
    """

    plan: TaskPlan
    arms: Mapping[str, TaskArm]
    verdict: GateVerdict
    compared: Compared | None
    notes: tuple[str, ...] = ()


def judge_task(plan: TaskPlan, a: TaskArm, b: TaskArm) -> TaskJudged:
    """Pair the items and judge them.

    ``same`` where the whole interval lies within the margin; ``different`` where McNemar's exact test shows a difference that is
    not shown to lie within it. An unscorable or truncated answer counts as wrong; too many of them in A leave nothing to compare
    with, too many in B can still be a difference, and are never the same.
    """
    arms = {"A": a, "B": b}
    reasons = tuple(_failed(arms)) or (*_unpaired(plan, a, b), *_missing(plan, "A", a))
    if reasons:
        return TaskJudged(plan=plan, arms=arms, verdict=Undecided("; ".join(reasons)), compared=None)
    compared = _compared(plan, a, b)
    verdict = _verdict(plan, a, compared)
    gaps = tuple(_missing(plan, "B", b))
    if gaps and not isinstance(verdict, Different):
        verdict = Undecided("; ".join(gaps))
    return TaskJudged(plan=plan, arms=arms, verdict=verdict, compared=compared, notes=gaps)


def _failed(arms: Mapping[str, TaskArm]) -> Iterator[str]:
    for name, arm in arms.items():
        if arm.failed:
            yield f"{name}: {len(arm.failed)} failures, and the first is: {arm.failed[0]}"


def _unpaired(plan: TaskPlan, a: TaskArm, b: TaskArm) -> Iterator[str]:
    """Say why the items of the arms are no pairs."""
    for name, arm in (("A", a), ("B", b)):
        if len({item.key for item in arm.items}) < len(arm.items):
            yield f"{name} answered an item twice"
        odd = next((item for item in arm.items if item.score not in {0, 1}), None)
        if odd is not None:
            yield f"{name}: {plan.metric or 'the metric'} of item {odd.key} is {odd.score:g}, neither right nor wrong"
    if a.rule != b.rule:
        yield "the arms were scored by different rules"
    asked = {item.key: item.asked for item in a.items}
    if asked != {item.key: item.asked for item in b.items}:
        yield "the arms were not asked the same"
    if len(a.items) < _FEWEST:
        yield f"{len(a.items)} items are too few; {_FEWEST} are the fewest that are judged"


def _missing(plan: TaskPlan, name: str, arm: TaskArm) -> Iterator[str]:
    for what, count, most in (
        ("no answer could be extracted from", arm.unscorable, plan.most_unscorable),
        ("the limit of tokens ended", arm.truncated, plan.most_truncated),
    ):
        if count > most * len(arm.items):
            yield f"{name}: {what} {count} of {len(arm.items)} answers, and {most:.0%} may be so"


def _compared(plan: TaskPlan, a: TaskArm, b: TaskArm) -> Compared:
    other = {item.key: item.score == 1 for item in b.items}
    pairs = [(item.score == 1, other[item.key]) for item in a.items]
    table = Table(
        both=pairs.count((True, True)),
        only_a=pairs.count((True, False)),
        only_b=pairs.count((False, True)),
        neither=pairs.count((False, False)),
    )
    level = 1 - 2 * plan.alpha
    low, high = interval(table, level)
    share = max(table.discordance, plan.margin, 1 / table.n)
    return Compared(
        table=table,
        low=low,
        high=high,
        level=level,
        exact_p=exact_p(table),
        mid_p=mid_p(table),
        seen=smallest_seen(table.n, table.discordance),
        items_needed=-int(-items_needed(plan.margin, share) // 1),
    )


def _verdict(plan: TaskPlan, a: TaskArm, compared: Compared) -> GateVerdict:
    blind = _blind(plan, a)
    margin = f"{plan.margin * 100:g} points"
    if compared.exact_p <= plan.alpha and not -plan.margin < compared.low <= compared.high < plan.margin:
        return Different(
            (f"B differs from A (exact p {compared.exact_p:.2g}), and not shown to by less than {margin}",)
        )
    if blind:
        return NoInstrument((blind,))
    if -plan.margin < compared.low and compared.high < plan.margin:
        return Same((f"the whole interval lies within {margin}",))
    seen = f"{compared.table.n} items show one of {compared.seen * 100:.1f} points 4 times in 5"
    return Inconclusive(
        (
            f"the interval reaches beyond {margin}, and no difference is shown; {seen}, {margin} need {compared.items_needed}",
        )
    )


def _blind(plan: TaskPlan, a: TaskArm) -> str:
    """Say why a loss in B could not show: A itself is no better, by the margin, than one answer given to every item."""
    targets = Counter(item.target for item in a.items)
    chance = max(targets.values()) / len(a.items)
    lowest = lowest_share(a.right, len(a.items), 1 - plan.alpha)
    if lowest > chance + plan.margin:
        return ""
    guessed = f", where guessing gets {chance:.0%}" if chance else ""
    return (
        f"A answers {a.right} of {len(a.items)} right{guessed}: a loss of {plan.margin * 100:g} points could not show"
    )
