"""Count the tokens of a text with the server's own tokenizer."""

from collections.abc import Mapping
from typing import Final

from dayzero.gates.contract.model import NotOffered
from dayzero.gates.contract.reply import json_object
from dayzero.gates.contract.talk import COMPLETIONS, Talk, end

_OK: Final = 200


def counted(talk: Talk, prompt: str) -> int:
    """Count the tokens of a prompt as the server would send it to the model; the check ends where it has no way to tell.

    vLLM's ``/tokenize`` takes messages; llama.cpp writes them out at ``/apply-template`` and tokenizes the text.
    """
    if talk.route == COMPLETIONS:
        text_forms: tuple[Mapping[str, object], ...] = (
            {"content": prompt, "add_special": True},
            {"model": talk.model, "prompt": prompt, "add_special_tokens": True},
        )
        return _first(talk, text_forms)
    messages = [{"role": "user", "content": prompt}]
    applied = talk.raw("/apply-template", {"messages": messages})
    written = (json_object(applied.body) or {}).get("prompt") if applied.status == _OK else None
    if isinstance(written, str):
        return _first(talk, ({"content": written, "add_special": True, "parse_special": True},))
    return _first(talk, ({"model": talk.model, "messages": messages, "add_generation_prompt": True},))


def _first(talk: Talk, forms: tuple[Mapping[str, object], ...]) -> int:
    count = next((count for form in forms if (count := _tokens(talk, form))), 0)
    if not count:
        end(NotOffered("/tokenize is not there, so the server's count has nothing to be held against"))
    return count


def _tokens(talk: Talk, form: Mapping[str, object]) -> int:
    answer = talk.raw("/tokenize", form)
    tokens = (json_object(answer.body) or {}).get("tokens") if answer.status == _OK else None
    return len(tokens) if isinstance(tokens, list) else 0
