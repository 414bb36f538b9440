"""Temperature is read: a high one gives different answers."""

from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import STORY
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.talk import Talk

_TIMES = 4


def _look(talk: Talk) -> Outcome:
    texts = {talk.answered(STORY, temperature=1.5).choices[0].text for _ in range(_TIMES)}
    if len(texts) == 1:
        return Broken(f"{_TIMES} answers at temperature 1.5 are one text")
    return Holds(f"{len(texts)} texts in {_TIMES} answers at temperature 1.5")


CHECK = Check(name="temperature", promise="a high temperature gives different answers", look=_look)
