"""``max_tokens`` is respected, and ``finish_reason`` says that it was the limit."""

from dayzero.core.verdict import Undecided
from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import STORY
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.talk import Talk, usage_of

_LIMITS = (1, 5)


def _look(talk: Talk) -> Outcome:
    longer = usage_of(talk.answered(STORY))[1]
    for limit in _LIMITS:
        reply = talk.answered(STORY, max_tokens=limit)
        tokens, finish = usage_of(reply)[1], reply.choices[0].finish
        if tokens > limit:
            return Broken(f"max_tokens {limit} gives {tokens} tokens")
        if longer <= limit:
            return Undecided(f"the answer ends by itself after {longer} tokens")
        if finish != "length":
            return Broken(f"finish_reason is {finish or 'missing'!r} where max_tokens {limit} ended the answer")
    return Holds("limits of 1 and 5 tokens end the answer, and finish_reason says so")


CHECK = Check(name="max-tokens", promise="max_tokens ends the answer, and finish_reason says so", look=_look)
