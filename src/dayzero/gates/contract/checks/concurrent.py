"""Requests at the same time do not mix."""

from itertools import takewhile

from dayzero.core.verdict import Undecided
from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import MANY
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.reply import Reply, read
from dayzero.gates.contract.talk import Talk, require, usage_of


def _look(talk: Talk) -> Outcome:
    alone = [talk.answered(prompt) for prompt in MANY]
    together = [require(read(answer)) for answer in talk.send(*(talk.call(prompt) for prompt in MANY))]
    names = [reply.id for reply in (*alone, *together) if reply.id]
    if len(set(names)) < len(names):
        return Broken("two answers have one id")
    for number, (one, other) in enumerate(zip(alone, together, strict=True)):
        if usage_of(one)[0] != usage_of(other)[0]:
            return Broken(
                f"prompt {number + 1} has {usage_of(one)[0]} tokens alone, {usage_of(other)[0]} beside others"
            )
        nearest = max(range(len(alone)), key=lambda index: (_shared(alone[index], other), index == number))
        # Short beginnings are shared by chance; whole answers are not.
        if nearest != number and 2 * _shared(alone[nearest], other) >= len(other.choices[0].text):
            return Broken(f"the answer to prompt {number + 1} is that to prompt {nearest + 1}")
        if not _shared(one, other) and one.choices[0].text:
            return Undecided(f"the answer to prompt {number + 1} begins like no answer that was given alone")
    changed = sum(one.choices[0].text != other.choices[0].text for one, other in zip(alone, together, strict=True))
    also = f"; {changed} went on differently than alone" if changed else ", word for word as alone"
    return Holds(f"{len(MANY)} at once, each answer its own{also}")


def _shared(one: Reply, other: Reply) -> int:
    """Count the characters that two answers begin with alike: batches change single tokens, not whom an answer is for."""
    pairs = zip(one.choices[0].text, other.choices[0].text, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


CHECK = Check(name="concurrent", promise="requests at the same time do not mix", look=_look)
