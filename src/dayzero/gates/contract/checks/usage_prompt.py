"""``usage.prompt_tokens`` is what the server's own tokenizer counts."""

from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import MANY
from dayzero.gates.contract.checks.tokenize import counted
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.talk import Talk, usage_of


def _look(talk: Talk) -> Outcome:
    for prompt in MANY[:2]:
        own, given = counted(talk, prompt), usage_of(talk.answered(prompt, max_tokens=1))[0]
        if own != given:
            return Broken(f"usage says {given} prompt tokens, /tokenize counts {own}")
    return Holds("two prompts, counted alike by usage and /tokenize")


CHECK = Check(name="usage-prompt", promise="usage counts the prompt as /tokenize does", look=_look)
