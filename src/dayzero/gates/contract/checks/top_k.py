"""``top_k`` 1 is greedy whatever the temperature."""

from dayzero.core.verdict import Undecided
from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import STORY
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.talk import Talk, one_line

_TIMES = 3


def _look(talk: Talk) -> Outcome:
    greedy = talk.answered(STORY).choices[0].text
    texts = [talk.offered("top_k", STORY, top_k=1, temperature=1.5).choices[0].text for _ in range(_TIMES)]
    if len(set(texts)) > 1:
        return Broken(f"top_k 1 gives different texts: {one_line(texts[0])} and others")
    if texts[0] != greedy:
        return Undecided("top_k 1 repeats itself, but differs from temperature 0")
    return Holds(f"{_TIMES} answers with top_k 1 at temperature 1.5 are the greedy one")


CHECK = Check(name="top-k", promise="top_k 1 is greedy whatever the temperature", look=_look)
