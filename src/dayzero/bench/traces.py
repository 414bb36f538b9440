"""Read traces of requests: when each came, how long it was, and what it had in common with others.

A format's own keys only: a key that is not known could change what a line means, so it is an error and not passed over.

=============  =====================================================================================================
``mooncake``   JSON lines as Mooncake published them (FAST'25): ``timestamp`` in ms, ``input_length``, ``output_length``
               and ``hash_ids``, one a block of 512 prompt tokens; equal ids are equal tokens after equal tokens.
``azure``      CSV of the Azure LLM inference traces of 2023 and 2024: ``TIMESTAMP,ContextTokens,GeneratedTokens``.
``jsonl``      JSON lines of our own: ``output_tokens``, one of ``input_tokens``, ``prompt`` and ``messages``, and
               optionally ``at_s`` (on all lines or on none) and ``session``.
=============  =====================================================================================================
"""

import csv
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Final, Literal, TypeAlias

import msgspec

from dayzero.core.errors import InputError
from dayzero.core.workload import Arrival, Message

TraceFormat: TypeAlias = Literal["mooncake", "azure", "jsonl"]

_AZURE_HEADER: Final = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"]
_HINT: Final = "See docs/reference/loads.md for the formats of traces."


class _BadLineError(Exception):
    """A line is not of the format; the message says why."""


_Found: TypeAlias = Iterator[tuple[int, Callable[[], Arrival]]]


def parse_trace(
    lines: Iterable[str], kind: TraceFormat, source: str, *, most: int | None = None
) -> tuple[Arrival, ...]:
    """Read the requests of a trace, in order of their times; the first one comes at 0.

    Args:
        lines: Text of the file. No more of them are read than needed.
        kind: The format.
        source: What to call it in errors.
        most: Requests to read; all when left out.

    Raises:
        InputError: A line is not of the format (the message starts with ``source:line:``), or there is no request.
    """
    arrivals = []
    for number, read in islice(_READERS[kind](lines), most):
        try:
            arrivals.append(read())
        except (_BadLineError, msgspec.MsgspecError, UnicodeError) as error:
            raise InputError(f"{source}:{number}: {error}", hint=_HINT) from error
        except InputError as error:
            raise InputError(f"{source}:{number}: {error.message}", hint=error.hint) from error
    if not arrivals:
        raise InputError(f"{source}: no request in it", hint=_HINT)
    first = min(arrival.at_s for arrival in arrivals)
    return tuple(sorted((replace(each, at_s=each.at_s - first) for each in arrivals), key=lambda each: each.at_s))


class _MooncakeLine(msgspec.Struct, forbid_unknown_fields=True):
    timestamp: float
    input_length: int
    output_length: int
    hash_ids: tuple[int, ...] = ()


class _MessageLine(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    content: str


class _PlainLine(msgspec.Struct, forbid_unknown_fields=True):
    output_tokens: int
    input_tokens: int | None = None
    prompt: str | None = None
    messages: tuple[_MessageLine, ...] | None = None
    at_s: float | None = None
    session: str = ""


def _mooncake(lines: Iterable[str]) -> _Found:
    for number, text in _full(lines):

        def read(text: str = text) -> Arrival:
            line = msgspec.json.decode(text, type=_MooncakeLine)
            return Arrival(
                at_s=line.timestamp / 1000,
                input_tokens=line.input_length,
                output_tokens=line.output_length,
                blocks=line.hash_ids,
            )

        yield number, read


def _azure(lines: Iterable[str]) -> _Found:
    rows = csv.reader(lines)
    header = next(rows, [])
    if header != _AZURE_HEADER:

        def refuse() -> Arrival:
            raise _BadLineError(f"expected the header {','.join(_AZURE_HEADER)}, got {','.join(header)!r}")

        yield 1, refuse
    for row in rows:

        def read(row: list[str] = row) -> Arrival:
            return _azure_row(row)

        if row:
            yield rows.line_num, read


def _azure_row(row: list[str]) -> Arrival:
    try:
        at, context, generated = row
        when = datetime.fromisoformat(at)
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return Arrival(at_s=when.timestamp(), input_tokens=int(context), output_tokens=int(generated))
    except ValueError as error:
        raise _BadLineError(str(error)) from error


def _plain(lines: Iterable[str]) -> _Found:
    timed: list[bool] = []  # whether the first line has a time
    for number, text in _full(lines):

        def read(text: str = text) -> Arrival:
            line = msgspec.json.decode(text, type=_PlainLine)
            timed.append(line.at_s is not None)
            if timed[0] != timed[-1]:
                raise _BadLineError("at_s must stand on every line or on none")
            return _plain_line(line)

        yield number, read


def _plain_line(line: _PlainLine) -> Arrival:
    match line:
        case _PlainLine(input_tokens=int(tokens), prompt=None, messages=None):
            prompt: str | tuple[Message, ...] = ""
        case _PlainLine(input_tokens=None, prompt=str(prompt), messages=None) if prompt:
            tokens = 0
        case _PlainLine(input_tokens=None, prompt=None, messages=(_, *_) as messages):
            tokens, prompt = 0, tuple(Message(message.role, message.content) for message in messages)
        case _:
            raise _BadLineError("exactly one of input_tokens, prompt and messages is needed")
    return Arrival(
        at_s=line.at_s or 0.0,
        input_tokens=tokens,
        output_tokens=line.output_tokens,
        session=line.session,
        prompt=prompt,
    )


def _full(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


_READERS: Final[dict[TraceFormat, Callable[[Iterable[str]], _Found]]] = {
    "mooncake": _mooncake,
    "azure": _azure,
    "jsonl": _plain,
}
