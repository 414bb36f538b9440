"""Read an answer of the completions or chat route; whatever shape it has, reading it does not fail."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dayzero.gates.contract.model import Answer

_OK = 200
_QUOTE = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a function: its name, and its arguments as the model wrote them."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One choice, put together from all chunks where it was streamed.

    Attributes:
        text: Its content.
        reasoning: What was given as reasoning, apart from the content.
        finish: Why it ended, ``""`` where that is not said.
        finishes: How often a reason was given.
        calls: The functions that it calls.
        logprobs: One entry a token, where they were given.
    """

    text: str
    reasoning: str
    finish: str
    finishes: int
    calls: tuple[ToolCall, ...]
    logprobs: tuple[Mapping[str, object], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts as the server gives them; -1 for one that is not there."""

    prompt: int
    completion: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer, read.

    Attributes:
        status: HTTP status, 0 where none came.
        said: What it says of an error, or the beginning of a body that is no answer; ``""`` where all is well.
        choices: By their index.
        usage: Token counts, ``None`` where there are none.
        id: Its name.
        chunks: Text of each chunk that had one, where it was streamed.
        done: Whether the stream ended with its mark.
    """

    status: int
    said: str
    choices: tuple[Choice, ...] = ()
    usage: Usage | None = None
    id: str = ""
    chunks: tuple[str, ...] = ()
    done: bool = False

    @property
    def ok(self) -> bool:
        """Whether it is an answer to what was asked."""
        return self.status == _OK and bool(self.choices) and not self.said


def read(answer: Answer) -> Reply:
    """Read an answer."""
    if answer.error or answer.status != _OK:
        return Reply(status=answer.status, said=answer.error or _message(answer.body))
    if answer.events:
        return _streamed(answer)
    document = _object(answer.body)
    choices = {index: [choice] for index, choice in _choices(document)}
    return Reply(
        status=answer.status,
        said="" if choices else _message(answer.body),
        choices=tuple(_choice(parts, "message") for _, parts in sorted(choices.items())),
        usage=_usage(document),
        id=_text(document.get("id")),
    )


def json_object(text: str | bytes) -> Mapping[str, object] | None:
    """Read a JSON object; ``None`` where it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _streamed(answer: Answer) -> Reply:
    documents = [_object(event) for event in answer.events if event.strip() != b"[DONE]"]
    choices: dict[int, list[Mapping[str, object]]] = {}
    for document in documents:
        for index, choice in _choices(document):
            choices.setdefault(index, []).append(choice)
    failed = next((event for event, one in zip(answer.events, documents, strict=False) if "error" in one), b"")
    first = [_part(choice, "delta") for choice in choices.get(0, [])]
    return Reply(
        status=answer.status,
        said=_message(failed) if failed or not choices else "",
        choices=tuple(_choice(parts, "delta") for _, parts in sorted(choices.items())),
        usage=next((usage for one in reversed(documents) if (usage := _usage(one)) is not None), None),
        id=next((name for one in documents if (name := _text(one.get("id")))), ""),
        chunks=tuple(text for text in map(_content, first) if text),
        done=answer.events[-1].strip() == b"[DONE]",
    )


def _choices(document: Mapping[str, object]) -> Iterator[tuple[int, Mapping[str, object]]]:
    entries = document.get("choices")
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            index = entry.get("index")
            yield index if isinstance(index, int) else 0, entry


def _choice(parts: Sequence[Mapping[str, object]], key: str) -> Choice:
    said = [_part(part, key) for part in parts]
    finishes = [reason for part in parts if (reason := _text(part.get("finish_reason")))]
    return Choice(
        text="".join(map(_content, said)),
        reasoning="".join(_text(one.get("reasoning_content")) or _text(one.get("reasoning")) for one in said),
        finish=finishes[-1] if finishes else "",
        finishes=len(finishes),
        calls=_calls(said),
        logprobs=tuple(entry for part in parts for entry in _logprobs(part)),
    )


def _part(choice: Mapping[str, object], key: str) -> Mapping[str, object]:
    """Give the message or delta of a chat choice; a completion's choice is its own."""
    inner = choice.get(key)
    return inner if isinstance(inner, dict) else choice


def _content(part: Mapping[str, object]) -> str:
    return _text(part.get("content")) or _text(part.get("text"))


def _calls(parts: Sequence[Mapping[str, object]]) -> tuple[ToolCall, ...]:
    names: dict[int, str] = {}
    written: dict[int, str] = {}
    for part in parts:
        entries = part.get("tool_calls")
        for place, entry in enumerate(entries if isinstance(entries, list) else []):
            function = entry.get("function") if isinstance(entry, dict) else None
            if not isinstance(function, dict):
                continue
            at = entry.get("index", place)
            index = at if isinstance(at, int) else place
            names[index] = names.get(index, "") + _text(function.get("name"))
            written[index] = written.get(index, "") + _text(function.get("arguments"))
    return tuple(ToolCall(name=names[index], arguments=written[index]) for index in sorted(names))


def _logprobs(choice: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Give an entry a token, from the chat API's shape and from that of completions."""
    given = choice.get("logprobs")
    if not isinstance(given, dict):
        return
    content = given.get("content")
    if isinstance(content, list):
        yield from (entry for entry in content if isinstance(entry, dict))
        return
    tokens, values, tops = given.get("tokens"), given.get("token_logprobs"), given.get("top_logprobs")
    if isinstance(tokens, list) and isinstance(values, list):
        best = tops if isinstance(tops, list) else [None] * len(tokens)
        for token, value, top in zip(tokens, values, best, strict=False):
            yield {"token": token, "logprob": value, "top_logprobs": list(top) if isinstance(top, dict) else []}


def _usage(document: Mapping[str, object]) -> Usage | None:
    given = document.get("usage")
    if not isinstance(given, dict):
        return None
    prompt, completion, total = (
        value if type(value := given.get(f"{name}_tokens")) is int else -1 for name in ("prompt", "completion", "total")
    )
    return Usage(prompt=prompt, completion=completion, total=total)


def _object(content: bytes) -> Mapping[str, object]:
    return json_object(content) or {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _message(body: bytes) -> str:
    document = _object(body)
    error = document.get("error", document.get("detail"))
    message = error.get("message") if isinstance(error, dict) else error
    text = message if isinstance(message, str) else body.decode(errors="replace")
    return " ".join(text.split())[:_QUOTE] or "an empty body"
