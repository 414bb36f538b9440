"""``n`` gives that many choices."""

from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import STORY
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.talk import Talk

_ASKED = 3


def _look(talk: Talk) -> Outcome:
    reply = talk.offered("n", STORY, n=_ASKED, temperature=1.0)
    if len(reply.choices) != _ASKED:
        return Broken(f"{_ASKED} choices were asked for, and {len(reply.choices)} came with distinct indices")
    return Holds(f"{_ASKED} choices")


CHECK = Check(name="n", promise="n choices are given where n are asked for", look=_look)
