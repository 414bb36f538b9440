"""A prompt longer than the context is refused, not cut in silence."""

from dayzero.core.verdict import Undecided
from dayzero.gates.contract.check import Check
from dayzero.gates.contract.model import Broken, Holds, Outcome
from dayzero.gates.contract.reply import json_object, read
from dayzero.gates.contract.talk import Talk, fields_of, refusal

_BEYOND = 64
_OK = 200


def _look(talk: Talk) -> Outcome:
    limit = _limit(talk)
    if not limit:
        return Undecided("the server does not say how long its context is")
    # One word is at least one token in every tokenizer that splits at spaces.
    call = talk.call("word " * (limit + _BEYOND), max_tokens=1)
    answer = talk.raw(call.path, call.body)
    wrong = refusal(answer, f"a prompt of more than {limit} tokens")
    if not wrong:
        return Holds(f"a prompt longer than {limit} tokens is refused with {answer.status}")
    usage = read(answer).usage
    if answer.status == _OK and usage is not None and 0 <= usage.prompt <= limit:
        wrong += f", and usage says {usage.prompt} tokens: it was cut in silence"
    return Broken(wrong)


def _limit(talk: Talk) -> int:
    """Ask for the context of one request: vLLM lists it with the model, llama.cpp in its properties."""
    listing = json_object(talk.raw("/v1/models").body) or {}
    entries = listing.get("data")
    for entry in map(fields_of, entries if isinstance(entries, list) else []):
        length = entry.get("max_model_len")
        if entry.get("id") == talk.model and isinstance(length, int):
            return length
    properties = json_object(talk.raw("/props").body) or {}
    length = fields_of(properties.get("default_generation_settings")).get("n_ctx")
    return length if isinstance(length, int) else 0


CHECK = Check(name="context-limit", promise="a prompt longer than the context is refused with 4xx, not cut", look=_look)
