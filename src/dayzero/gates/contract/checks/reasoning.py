"""Reasoning stands apart from the content."""

from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import STORY
from dayzero.gates.contract.model import Broken, Holds, NotOffered, Outcome
from dayzero.gates.contract.talk import Talk, one_line

_MARKS = ("<think>", "</think>", "<|channel|>", "◁think▷", "◁/think▷", "[THINK]", "[/THINK]")
_TOKENS = 256


def _look(talk: Talk) -> Outcome:
    if not talk.chat:
        return NotOffered("there is no chat route")
    whole, streamed = talk.answered(STORY, max_tokens=_TOKENS), talk.streamed(STORY, max_tokens=_TOKENS)
    for how, reply in (("", whole), (" where streamed", streamed)):
        choice = reply.choices[0]
        mark = next((mark for mark in _MARKS if mark in choice.text), "")
        if mark:
            return Broken(f"the content holds {mark!r}{how}: {one_line(choice.text)}")
    if whole.choices[0].reasoning and not streamed.choices[0].reasoning:
        return Broken("reasoning stands apart, but not where streamed")
    if not whole.choices[0].reasoning:
        return NotOffered("the model gave no reasoning")
    return Holds("reasoning comes in a field of its own, streamed too")


CHECK = Check(name="reasoning", promise="reasoning stands apart from the content", look=_look)
