"""A parameter that does not exist is refused: else a misspelt one is never noticed."""

from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import STORY
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.talk import Talk, refusal


def _look(talk: Talk) -> Outcome:
    call = talk.call(STORY, max_tokens=1, temprature=0.7)
    answer = talk.raw(call.path, call.body)
    wrong = refusal(answer, "a misspelt temprature")
    return Broken(f"{wrong}: nobody would notice") if wrong else Holds(f"refused with {answer.status}")


CHECK = Check(name="unknown-parameter", promise="a parameter that does not exist is refused with 4xx", look=_look)
