"""``usage.completion_tokens`` is true, streamed or not."""

from dayzero.core.verdict import Undecided
from dayzero.gates.contract.check import Check
from dayzero.gates.contract.checks.prompts import STORY
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.talk import Talk, usage_of

_TOKENS = 16


def _look(talk: Talk) -> Outcome:
    whole, streamed = talk.answered(STORY, max_tokens=_TOKENS), talk.streamed(STORY, max_tokens=_TOKENS)
    prompt, completion = usage_of(whole)
    if whole.usage is not None and whole.usage.total != prompt + completion:
        return Broken(f"total_tokens is {whole.usage.total}, the sum is {prompt + completion}")
    if streamed.usage is None:
        return Broken("a stream that asks for usage gets none")
    if len(streamed.chunks) > usage_of(streamed)[1]:
        return Broken(f"{len(streamed.chunks)} chunks hold text, usage says {usage_of(streamed)[1]} tokens")
    if whole.choices[0].finish != "length":
        return Undecided("the answer ended before its limit, so its length is not known otherwise")
    if completion != _TOKENS or usage_of(streamed) != (prompt, completion):
        return Broken(
            f"{_TOKENS} tokens were generated; usage says {completion}, and {usage_of(streamed)[1]} where streamed"
        )
    return Holds(f"{_TOKENS} tokens are counted as {_TOKENS}, streamed or not")


CHECK = Check(name="usage-completion", promise="usage counts what was generated, streamed or not", look=_look)
