"""A model that is not served is refused."""

from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import STORY
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.talk import Talk, refusal


def _look(talk: Talk) -> Outcome:
    call = talk.call(STORY, model="dayzero-no-such-model", max_tokens=1)
    answer = talk.raw(call.path, call.body)
    wrong = refusal(answer, "a model that is not served")
    return Broken(wrong) if wrong else Holds(f"refused with {answer.status}")


CHECK = Check(name="unknown-model", promise="a model that is not served is refused with 4xx", look=_look)
