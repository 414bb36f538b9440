"""The two shapes in which completions carry log-probabilities: the legacy maps, and the chat API's lists. Engines share both."""

from collections.abc import Mapping, Sequence
from typing import Final

from dayzero.gates.exchange import Reading, UnreadableError, candidate, reading, token_id, token_text

_TOKEN_ID: Final = "token_id:"  # noqa: S105  (a prefix of the answer's keys, no secret)


def choice(answer: Mapping[str, object]) -> Mapping[str, object]:
    """Give a completion's only choice.

    Raises:
        UnreadableError: There is none.
    """
    choices = answer.get("choices")
    if isinstance(choices, Sequence) and choices and isinstance(choices[0], Mapping):
        return choices[0]
    raise UnreadableError("the answer has no choice")


def logprobs(answer: Mapping[str, object]) -> Mapping[str, object]:
    """Give the ``logprobs`` of the only choice.

    Raises:
        UnreadableError: It carries none.
    """
    found = choice(answer).get("logprobs")
    if isinstance(found, Mapping) and found:
        return found
    raise UnreadableError("the answer carries no log-probabilities")


def listed(carrier: Mapping[str, object], name: str) -> Sequence[object]:
    """Give a list inside an answer.

    Raises:
        UnreadableError: It is missing or no list.
    """
    found = carrier.get(name)
    if isinstance(found, list):
        return found
    raise UnreadableError(f"the answer carries no {name}")


def legacy(found: Mapping[str, object]) -> tuple[Reading, ...]:
    """Read ``tokens`` and ``top_logprobs``, a map a position; a position whose map is null (a prompt's first) is left out.

    Raises:
        UnreadableError: The lists are missing, of two lengths, or hold something else.
    """
    tokens, maps = listed(found, "tokens"), listed(found, "top_logprobs")
    if len(tokens) != len(maps):
        raise UnreadableError(f"{len(tokens)} tokens have {len(maps)} positions of log-probabilities")
    return tuple(
        _legacy(chosen, position) for chosen, position in zip(tokens, maps, strict=True) if position is not None
    )


def chat(found: Mapping[str, object]) -> tuple[Reading, ...]:
    """Read ``content``, a list of positions, each with its ``top_logprobs``; ids are taken where they are given, else bytes.

    Raises:
        UnreadableError: It is missing, or holds something else.
    """
    return tuple(_chat(position) for position in listed(found, "content"))


def by_id(readings: Sequence[Reading]) -> tuple[Reading, ...]:
    """Take positions only where every token is named by its id.

    Raises:
        UnreadableError: One is named by its text, under which two tokens may fall into one.
    """
    for one in readings:
        strange = [each.token for each in one.candidates if not each.token.startswith("id:")]
        if strange or not one.chosen.startswith("id:"):
            raise UnreadableError("tokens are named by their text, not by their ids")
    return tuple(readings)


def _legacy(chosen: object, position: object) -> Reading:
    if not isinstance(position, Mapping) or not isinstance(chosen, str):
        raise UnreadableError("a position has no map of log-probabilities")
    return reading(_named(chosen), [candidate(_named(str(key)), value) for key, value in position.items()])


def _named(key: str) -> str:
    digits = key.removeprefix(_TOKEN_ID)
    return f"id:{int(digits)}" if digits != key and digits.isdecimal() else token_text(key)


def _chat(position: object) -> Reading:
    if not isinstance(position, Mapping):
        raise UnreadableError("a position is no object")
    candidates = listed(position, "top_logprobs")
    # The token that stands there may not be among the best; it is a candidate all the same.
    return reading(_token(position), [candidate(_token(one), _logprob(one)) for one in (position, *candidates)])


def _token(entry: object) -> str:
    if not isinstance(entry, Mapping):
        raise UnreadableError("a candidate is no object")
    if "id" in entry:
        return token_id(entry["id"])
    raw, text = entry.get("bytes"), entry.get("token")
    if isinstance(raw, list) and raw and all(type(byte) is int and byte in range(256) for byte in raw):
        return f"bytes:{bytes(raw).hex()}"
    if isinstance(text, str):
        return _named(text)
    raise UnreadableError("a candidate has no token")


def _logprob(entry: object) -> object:
    return entry.get("logprob") if isinstance(entry, Mapping) else None
