"""A streamed answer is the same as one that comes whole."""

from dayzero.core.verdict import Undecided
from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import STORY
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.talk import Talk, one_line


def _look(talk: Talk) -> Outcome:
    whole, streamed = talk.answered(STORY), talk.streamed(STORY)
    one, other = whole.choices[0], streamed.choices[0]
    if (one.text, one.reasoning) != (other.text, other.reasoning):
        if talk.answered(STORY).choices[0].text != one.text:
            return Undecided("two whole answers differ already")
        return Broken(f"whole {one_line(one.text)}, streamed {one_line(other.text)}")
    if one.finish != other.finish or other.finishes != 1:
        return Broken(
            f"finish_reason is {one.finish!r}, and {other.finish!r} where streamed, given {other.finishes} times"
        )
    if not streamed.done:
        return Broken("the stream does not end with [DONE]")
    return Holds(f"equal texts, one finish_reason, {len(streamed.chunks)} chunks and [DONE]")


CHECK = Check(name="streaming", promise="a streamed answer is the same as a whole one", look=_look)
