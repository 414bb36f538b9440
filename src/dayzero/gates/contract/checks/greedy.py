"""Temperature 0 gives the same answer again."""

from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import STORY
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.talk import Talk, one_line

_TIMES = 3


def _look(talk: Talk) -> Outcome:
    texts = [talk.answered(STORY).choices[0].text for _ in range(_TIMES)]
    for number, text in enumerate(texts[1:], 2):
        if text != texts[0]:
            return Broken(f"answer {number} to one prompt differs: {one_line(texts[0])}, then {one_line(text)}")
    return Holds(f"{_TIMES} equal answers")


CHECK = Check(name="greedy-repeats", promise="temperature 0 gives the same answer again", look=_look)
