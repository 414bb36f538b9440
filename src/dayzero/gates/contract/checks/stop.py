"""A stop string ends the answer before it."""

from dayzero.core.verdict import Undecided
from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import STORY
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.reply import Reply
from dayzero.gates.contract.talk import Talk, one_line

_SHORTEST = 12


def _look(talk: Talk) -> Outcome:
    text = talk.answered(STORY).choices[0].text
    if len(text) < _SHORTEST:
        return Undecided(f"the answer is too short to be stopped: {one_line(text)}")
    middle = len(text) // 2
    stop = text[middle : middle + 4]
    return judged(talk.answered(STORY, stop=[stop]), text, stop)


def judged(reply: Reply, text: str, stop: str) -> Outcome:
    """Say whether an answer ended at a stop string.

    Args:
        reply: The answer with the stop string.
        text: The answer without it.
        stop: The stop string, which stands in it.
    """
    choice, expected = reply.choices[0], text[: text.index(stop)]
    if stop in choice.text:
        return Broken(f"the answer holds the stop string {stop!r}: {one_line(choice.text)}")
    if not expected.startswith(choice.text) and not choice.text.startswith(expected):
        return Undecided("the same prompt went on differently, so the stop string need not come")
    if choice.text != expected:
        return Broken(f"stopped at {stop!r}, the answer should end in {expected[-12:]!r}, not {choice.text[-12:]!r}")
    if choice.finish != "stop":
        return Broken(f"finish_reason is {choice.finish or 'missing'!r} where a stop string came")
    return Holds(f"ended before {stop!r}")


CHECK = Check(name="stop", promise="a stop string ends the answer before it", look=_look)
