"""Fix what a distribution gate captures: the endpoints as they were found, the prompts, and every request in its order."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dayzero.gates.exchange import Asked, Job, Key, Prompt, Question, Side
from dayzero.gates.model import Arm, DistributionPlan
from dayzero.gates.probe import Seen
from dayzero.gates.prompts import Layout, Sheet

SIDES: Final[tuple[Side, ...]] = ("A", "B")
CAPTURES: Final[Mapping[Side, tuple[str, str]]] = {"A": ("A1", "A2"), "B": ("B1", "B2")}
POSITIVE: Final = "positive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """All that is fixed before the first capture.

    Attributes:
        plan: What is measured.
        layout: How long the parts of a prompt are.
        seen: The endpoints.
        sheets: The prompts.
        tokenizers: Fingerprints, ``""`` where none could be had.
        notes: What a reader of the verdict should know of the set-up.
    """

    plan: DistributionPlan
    layout: Layout
    seen: Mapping[Side, Seen]
    sheets: tuple[Sheet, ...]
    tokenizers: Mapping[Side, str]
    notes: tuple[str, ...]

    def requests(self) -> Mapping[Side, int]:
        """Count the requests that every look together takes, by endpoint."""
        looks = range(len(self.plan.look_sizes))
        jobs = [schedule(self, arm, look) for arm in self.plan.arms for look in looks]
        return {side: sum(len(one[side]) for one in jobs) for side in SIDES}


def side_of(capture: str) -> Side:
    """Say which endpoint a capture is of; the defect of the positive control is planted in A's prompts."""
    return "B" if capture.startswith("B") else "A"


def names(side: Side) -> tuple[str, ...]:
    """Name the captures of an endpoint."""
    return (*CAPTURES[side], POSITIVE) if side == "A" else CAPTURES[side]


def prompt_of(setting: Setting, arm: Arm, capture: str, number: int) -> Prompt:
    """Give the prompt of a capture."""
    sheet = setting.sheets[number]
    if arm is Arm.PREFILL:
        return sheet.whole_dropped if capture == POSITIVE else sheet.whole
    return sheet.context_dropped if capture == POSITIVE else sheet.context


def prompts_of(plan: DistributionPlan, look: int) -> range:
    """Give the prompts that come in for a look, from 0."""
    sizes = (0, *plan.look_sizes)
    return range(sizes[look], sizes[look + 1])


def schedule(setting: Setting, arm: Arm, look: int) -> Mapping[Side, tuple[Job, ...]]:
    """Put the requests of an arm before a look in their order.

    Each endpoint sees every prompt once in a first half and once in a second. Which of its two captures comes first is drawn
    for each prompt, so that drift falls on both alike; both halves are shuffled, so that the two never share a batch by design.
    """
    draw = random.Random(f"{setting.plan.seed}/{arm.value}/{look}")  # noqa: S311  (an order that anybody may repeat)
    prompts = prompts_of(setting.plan, look)
    return {side: tuple(_jobs(setting, arm, _ordered(draw, side, prompts))) for side in SIDES}


def _ordered(draw: random.Random, side: Side, prompts: Sequence[int]) -> list[tuple[str, int]]:
    halves: tuple[list[tuple[str, int]], ...] = ([], [])
    for prompt in prompts:
        for half, name in zip(halves, draw.sample(CAPTURES[side], 2), strict=True):
            half.append((name, prompt))
        if side == "A":
            draw.choice(halves).append((POSITIVE, prompt))
    for half in halves:
        draw.shuffle(half)
    return [*halves[0], *halves[1]]


def _jobs(setting: Setting, arm: Arm, ordered: Sequence[tuple[str, int]]) -> Iterator[Job]:
    for capture, number in ordered:
        prompt = prompt_of(setting, arm, capture, number)
        for part, question in enumerate(questions(setting, arm, capture, number, prompt)):
            yield Job(Key(capture, arm.value, number, part), question)


def questions(setting: Setting, arm: Arm, capture: str, number: int, prompt: Prompt) -> Iterator[Question]:
    """Put one prompt of a capture into the words of its endpoint: one request, or one a prefix."""
    seen, plan = setting.seen[side_of(capture)], setting.plan
    salt = f"{plan.seed:x}-{arm.value}-{capture}-{number}"

    def asked(given: Prompt, tokens: int) -> Asked:
        return Asked(model=seen.model, prompt=given, tokens=tokens, k=plan.k, salt=salt)

    if arm is Arm.DECODE:
        yield seen.dialect.generate(asked(prompt, plan.positions))
    elif seen.scoring == "prefix":
        for end in range(len(prompt) - plan.positions, len(prompt)):
            yield seen.dialect.generate(asked(prompt[:end], 1))
    else:
        question = seen.dialect.score(asked(prompt, 1))
        if question is not None:
            yield question
