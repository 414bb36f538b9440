"""What one streamed answer of an OpenAI-compatible endpoint says, and when each part of it came.

A chunk carries content when its ``text``, or its delta's ``content``, ``refusal``, ``reasoning``, ``reasoning_content``,
``tool_calls`` or ``function_call``, is not empty. One that only names the role, ends the answer or counts tokens does not.
Where the engine sends a completions chunk for each token (:attr:`dayzero.bench.ports.Dialect.tokens_without_text`), one with
empty text counts.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from dayzero.bench.http1 import MalformedResponseError, ResponseReader
from dayzero.bench.model import Usage
from dayzero.bench.sse import SseSplitter
from dayzero.core.errors import RemoteError

_OK: Final = 200
_ERROR_BODY_BYTES: Final = 4096
_ERROR_TEXT: Final = 300
_LONGEST_ERROR: Final = 500
_QUOTE: Final = 80
_NARROW_NS: Final = 50_000  # an arrival that is known this well is known
_LATE_NS: Final = (
    2_000_000  # in a read that took longer, an end of the answer can have come long after the content before it
)
_NONE, _REASONING, _ANSWER = range(3)
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)  # the last one: nested thousands deep
_TOKEN_MADE: Final = (None, "length")  # a chunk that ends the answer otherwise may hold no token


class _Delta(msgspec.Struct, gc=False):
    content: object = None
    refusal: object = None
    reasoning: object = None
    reasoning_content: object = None
    tool_calls: object = None
    function_call: object = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta | None = None
    text: object = None
    finish_reason: object = None


class _Chunk(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: object = None
    error: None = None  # one that is there is no usual chunk


_NO_CHUNK: Final = _Chunk()
_UNREAD: Final = _Chunk()
_decode: Final = msgspec.json.Decoder(_Chunk).decode

Read: TypeAlias = tuple[bytes, int, int, int]
"""Its bytes, when the last of them arrived, when the first certainly had not, and when the client had it; ns."""


class _BadEventError(Exception):
    """The rest of the answer cannot be measured; its text goes into the row."""


class Answer:
    """One answer, taken read by read.

    Attributes:
        content_ns: Arrival of each chunk with content.
        censored: (position in ``content_ns``, earliest ns) of those whose read held something after them that may have come later.
        reasoning_chunks: How many of them are reasoning only.
        first_byte_ns, first_event_ns, answer_ns: As in :class:`dayzero.bench.model.Row`.
        completed_ns: Stamp of the read that completed the response; 0 until then.
        error: What went wrong first, ``""`` while nothing has.

    Args:
        tokens_without_text: Whether a completions chunk with empty text stands for a token.
    """

    __slots__ = (
        "_body",
        "_ends_in_content",
        "_finished",
        "_flows",
        "_last_ns",
        "_reader",
        "_splitter",
        "_tokens_without_text",
        "_usage_event",
        "answer_ns",
        "censored",
        "completed_ns",
        "content_ns",
        "error",
        "first_byte_ns",
        "first_event_ns",
        "reasoning_chunks",
    )

    def __init__(self, *, tokens_without_text: bool = False) -> None:
        self._tokens_without_text = tokens_without_text
        self.content_ns = array("q")
        self.censored: list[tuple[int, int]] = []
        self.reasoning_chunks = 0
        self.first_byte_ns = self.first_event_ns = self.answer_ns = self.completed_ns = 0
        self.error = ""
        self._reader = ResponseReader()
        self._splitter = SseSplitter()
        self._body = b""  # of an answer that is no stream, its beginning
        self._usage_event = b""
        self._finished = self._ends_in_content = False
        self._flows = False  # whether the stream has begun, is no error, and the last read ended with an event
        self._last_ns = 0

    @property
    def status(self) -> int:
        """Its HTTP status, 0 when there was none."""
        return self._reader.status

    def take_all(self, reads: Sequence[Read]) -> None:
        """Take some reads, in order: together what is one event each, and the others one by one."""
        at = 0
        while at < len(reads):
            if taken := self._take_events(reads[at:]) if self._flows else 0:
                at += taken
            else:
                data, stamp_ns, floor_ns, _ = reads[at]
                self.take(data, stamp_ns, floor_ns)
                at += 1

    def take(self, data: bytes, stamp_ns: int, floor_ns: int) -> None:
        """Take one read.

        Args:
            data: Its bytes.
            stamp_ns: When the last of them arrived.
            floor_ns: When the first of them had certainly not arrived.
        """
        try:
            pieces = self._reader.feed(data)
        except MalformedResponseError as error:
            pieces = error.pieces
            self._take_body(pieces, stamp_ns, floor_ns)
            self._fail(str(error))
        else:
            if pieces:
                self._take_body(pieces, stamp_ns, floor_ns)
        self._last_ns = stamp_ns
        self._flows = bool(self.first_event_ns) and not self.error and self._splitter.idle
        if self._reader.complete and not self.completed_ns:
            self.completed_ns = stamp_ns

    def end(self, error: str) -> None:
        """Learn that nothing more comes.

        Args:
            error: What the client saw go wrong, ``""`` for nothing.
        """
        if not error:
            try:
                self._reader.close()
            except MalformedResponseError as fault:
                error = str(fault)
        refused = self.status not in {0, _OK}
        if refused:
            self._fail(_refusal(self.status, self._body))
        if error:
            self._fail(error)
        if self.error:
            return
        for event in self._splitter.close():
            self._take_event(event, self._last_ns)
        if not self._finished:
            kind = self._reader.headers.get("content-type", "without a content type")
            self._fail(f"stream: it ended without [DONE] and without a finish_reason ({kind})")
        if not self.content_ns:
            self._fail("stream: no chunk carried text")

    def usage(self, read: Callable[[Mapping[str, object]], Usage | None]) -> Usage | None:
        """Give the counts of the last chunk that has some.

        Args:
            read: Reads them as the endpoint's dialect writes them.
        """
        return read(msgspec.json.decode(self._usage_event)) if self._usage_event else None

    def _take_body(self, pieces: list[bytes], stamp_ns: int, floor_ns: int) -> None:
        if self.error or not pieces:
            return
        self.first_byte_ns = self.first_byte_ns or stamp_ns
        if self._reader.status != _OK:
            self._body += b"".join(pieces)[: _ERROR_BODY_BYTES - len(self._body)]
            return
        if not self.first_event_ns and self._reader.headers.get("content-encoding", "identity") != "identity":
            self._fail("stream: the server compressed it against the request, so nothing can be stamped")
            return
        before = len(self.content_ns)
        try:
            for piece in pieces:
                for event in self._splitter.feed(piece):
                    self._take_event(event, stamp_ns)
        except (RemoteError, _BadEventError) as error:
            self._fail(str(error))
        after = len(self.content_ns)
        if after == before:
            return
        earliest = max(floor_ns, self._last_ns)
        # The stamp of a read is that of its last bytes, which mostly are its last content.
        own = after - (self._ends_in_content or stamp_ns - earliest <= _LATE_NS)
        if own > before and stamp_ns - earliest > _NARROW_NS:
            self.censored += [(position, earliest) for position in range(before, own)]

    def _take_events(self, reads: Sequence[Read]) -> int:
        """Take the reads at the beginning of some that are one event each; give how many, or up to which one was bad."""
        events = self._reader.events_alone(read[0] for read in reads)
        taken = 0
        try:
            for event, (_, stamp_ns, _, _) in zip(events, reads, strict=False):
                taken += 1
                self._last_ns = stamp_ns
                chunk = _decoded(event)
                choices = chunk.choices
                if choices is not None and len(choices) == 1 and not chunk.usage:
                    choice = choices[0]
                    delta = choice.delta
                    if (choice.text if delta is None else delta.content) and not choice.finish_reason:
                        self.content_ns.append(stamp_ns)
                        self.answer_ns = self.answer_ns or stamp_ns
                        self._ends_in_content = True
                        continue
                self._take_chunk(chunk, event, stamp_ns)
        except _BadEventError as error:
            self._fail(str(error))
        return taken

    def _take_event(self, event: bytes, stamp_ns: int) -> None:
        if not self.first_event_ns:
            self.first_event_ns = stamp_ns
        self._take_chunk(_decoded(event), event, stamp_ns)

    def _take_chunk(self, chunk: _Chunk, event: bytes, stamp_ns: int) -> None:
        if chunk.choices is None:
            chunk = self._unusual(event)
        if chunk.usage:
            self._usage_event = event
        content = _NONE
        for choice in chunk.choices or ():
            content = max(content, self._content(choice))
            if choice.finish_reason:
                self._finished = True
        self._ends_in_content = bool(content)
        if content:
            self.content_ns.append(stamp_ns)
            if content == _REASONING:
                self.reasoning_chunks += 1
            elif not self.answer_ns:
                self.answer_ns = stamp_ns

    def _unusual(self, event: bytes) -> _Chunk:
        """Read the end mark, a sign of life, an error, or a chunk of another shape; what it has of a chunk still counts.

        Raises:
            _BadEventError: It is none of them, or an error.
        """
        if (text := event.strip()) in {b"[DONE]", b""}:
            self._finished = self._finished or bool(text)
            return _NO_CHUNK
        quote = event[:_QUOTE].decode(errors="replace")
        try:
            chunk = msgspec.json.decode(event)
        except _UNREADABLE as error:
            raise _BadEventError(f"malformed: not JSON ({error}): {quote}") from error
        if not isinstance(chunk, dict):
            raise _BadEventError(f"malformed: not a JSON object: {quote}")
        if said := chunk.get("error") or _bare_error(chunk):
            raise _BadEventError(f"server: {_message(said)}")
        choices = [choice for choice in _as_list(chunk.get("choices")) if isinstance(choice, dict)]
        return _Chunk(choices=[_choice(choice) for choice in choices], usage=chunk.get("usage"))

    def _fail(self, error: str) -> None:
        """Keep the first error."""
        self.error = self.error or printable(error[:_LONGEST_ERROR])
        self._flows = False

    def _content(self, choice: _Choice) -> int:
        delta = choice.delta
        if delta is None:
            silent = self._tokens_without_text and choice.text == "" and choice.finish_reason in _TOKEN_MADE
            return _ANSWER if choice.text or silent else _NONE
        return _of_delta(delta)


def _decoded(event: bytes) -> _Chunk:
    """Read a chunk out of the data of an event; one without choices is none, or is unusual."""
    try:
        return _decode(event)
    except _UNREADABLE:
        return _UNREAD


def _of_delta(delta: _Delta) -> int:
    if delta.content or delta.tool_calls or delta.function_call or delta.refusal:
        return _ANSWER
    return _REASONING if delta.reasoning or delta.reasoning_content else _NONE


def printable(text: str) -> str:
    """Put what a server says on one line that can be shown: it may hold anything, commands to a terminal among it."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in " ".join(text.split()))


def reply_text(raw: bytes) -> str:
    """Read the text of an answer, reasoning left out, from all bytes that came for it; as far as it can be read."""
    reader, splitter = ResponseReader(), SseSplitter()
    try:
        pieces = reader.feed(raw)
    except MalformedResponseError as error:
        pieces = error.pieces
    if reader.status != _OK:
        return ""
    events = [event for piece in pieces for event in splitter.feed(piece)] + splitter.close()
    return "".join(_text_of(event) for event in events)


def _text_of(event: bytes) -> str:
    try:
        chunk = _decode(event)
    except _UNREADABLE:
        return ""
    texts = (choice.text if choice.delta is None else choice.delta.content for choice in chunk.choices or ())
    return "".join(text for text in texts if isinstance(text, str))


def _refusal(status: int, body: bytes) -> str:
    try:
        document = msgspec.json.decode(body)
        text = _message(document.get("error", document)) if isinstance(document, dict) else body.decode()
    except _UNREADABLE:
        text = body.decode(errors="replace")
    text = " ".join(text.split())[:_ERROR_TEXT]
    return f"http {status}: {text}".removesuffix(": ")


def _bare_error(chunk: Mapping[str, object]) -> Mapping[str, object] | None:
    """Give a document that is no chunk, and says what is wrong without calling it an error, as proxies write it."""
    said = chunk.get("message") or chunk.get("detail")
    return chunk if "choices" not in chunk and isinstance(said, str | list) else None


def _message(error: object) -> str:
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("detail") or error
    return error if isinstance(error, str) else msgspec.json.encode(error).decode()


def _choice(choice: dict[str, Any]) -> _Choice:
    delta = choice.get("delta")
    return _Choice(
        delta=msgspec.convert(delta, _Delta) if isinstance(delta, dict) else None,
        text=choice.get("text"),
        finish_reason=choice.get("finish_reason"),
    )


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
