"""A seed gives the same sampled answer again, and another seed another one."""

from dayzero.core.verdict import Undecided
from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import STORY
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.talk import Talk, one_line

_SEEDS = (11, 22, 33)


def _look(talk: Talk) -> Outcome:
    first = [_sampled(talk, seed) for seed in _SEEDS]
    again = _sampled(talk, _SEEDS[0])
    if again != first[0]:
        return Broken(f"seed {_SEEDS[0]} gave {one_line(first[0])}, then {one_line(again)}")
    if len(set(first)) == 1:
        return Undecided(f"seeds {_SEEDS} all gave one text: nothing was sampled, or the seed is not read")
    return Holds("one seed gives one text, others give others")


def _sampled(talk: Talk, seed: int) -> str:
    return talk.offered("seed", STORY, temperature=1.0, seed=seed).choices[0].text


CHECK = Check(name="seed", promise="a seed gives the same sampled answer again", look=_look)
