"""Log-probabilities come where they are asked for, one entry a token, and only then."""

from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import STORY
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.talk import Talk, usage_of

_TOP = 3
_TOKENS = 8


def _look(talk: Talk) -> Outcome:
    if talk.answered(STORY, max_tokens=_TOKENS).choices[0].logprobs:
        return Broken("log-probabilities come without being asked for")
    asked = {"logprobs": True, "top_logprobs": _TOP} if talk.chat else {"logprobs": _TOP}
    reply = talk.offered("logprobs", STORY, max_tokens=_TOKENS, **asked)
    entries, tokens = reply.choices[0].logprobs, usage_of(reply)[1]
    if not entries:
        return Broken("log-probabilities were asked for, and none came")
    if len(entries) != tokens:
        return Broken(f"{len(entries)} entries for {tokens} tokens")
    for number, entry in enumerate(entries, 1):
        value, top = entry.get("logprob"), entry.get("top_logprobs")
        if not isinstance(value, int | float) or not value <= 0:  # NaN is not
            return Broken(f"entry {number} is no log-probability: {value!r}")
        if not isinstance(top, list) or not top:
            return Broken(f"entry {number} has no alternatives, and {_TOP} were asked for")
    return Holds(f"{tokens} tokens, each with its alternatives")


CHECK = Check(name="logprobs", promise="log-probabilities come where asked for, one a token, and only then", look=_look)
