"""An OpenAI-compatible server on the loopback that misbehaves as planned, and writes down what it really did."""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What the server does. Times are seconds from the receipt of a request, on an absolute schedule."""

    ttft_s: float = 0.02
    itl_s: float = 0.002
    header_s: float = 0.0
    slots: int = 0  # completions served at once, the others queue; 0: no limit
    tokens_per_chunk: int = 1
    tokens: int | None = None  # instead of the number asked for
    models: tuple[str, ...] = ("sim",)
    owned_by: str = "nobody"
    tokenize: Literal["content", "prompt", "none"] = "content"
    takes_ids: bool = True
    completions: bool = True
    prompt_offset: int = 0
    tokens_per_word: int = 1
    cached_tokens: int | None = 0
    usage: Literal["own", "first", "last", "every", "none"] = "own"
    role_chunk: bool = False
    comments: bool = False
    text_key: Literal["content", "reasoning", "reasoning_content"] = "content"
    newline: bytes = b"\n"
    done: bool = True
    finish_reason: bool = True
    piece_bytes: int = 0  # cut what is written into pieces of this size
    padding: int = 0  # bytes of padding in each chunk
    status: int = 200
    fail_every: int = 0  # answer `status` to each n-th completion only
    error_after: int | None = None  # an error event after so many chunks
    malformed_after: int | None = None
    reset_after: int | None = None
    hang_after: int | None = None
    close_after: int | None = None  # end the body properly, without a finish
    closes: bool = False  # end the connection after each completion, without saying so
    dies_after: int | None = None  # stop listening and drop every connection after so many completions
    holds_after: int | None = None  # answer no completion after so many, until `go_on`


@dataclass(slots=True)
class Seen:
    """One completion request as it came: its path, headers and body, and when it came.

    Attributes:
        written_ns, handed_over_ns: Just before and just after each text chunk was handed to the kernel.
    """

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    received_ns: int
    written_ns: list[int] = field(default_factory=list)
    handed_over_ns: list[int] = field(default_factory=list)


class OpenAiServer:
    """Serves one behaviour until it is closed."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.seen: list[Seen] = []
        self.connections = 0
        self.most_in_flight = 0
        self.port = 0
        self.go_on = False
        self._in_flight = 0
        self._slots = asyncio.Semaphore(behaviour.slots) if behaviour.slots else contextlib.nullcontext()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def die(self) -> None:
        """Stop listening and reset every connection, as a killed process does."""
        if self._server is not None:
            self._server.close()
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        received_ns = time.monotonic_ns()
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or b"{}")
        if method == "GET" and path == "/v1/models":
            return await self._json(writer, 200, self._models())
        if path == "/tokenize":
            return await self._tokenize(writer, body)
        if path not in {"/v1/completions", "/v1/chat/completions"}:
            return await self._json(writer, 404, {"error": {"message": f"no such path {path}"}})
        seen = Seen(path, headers, body, received_ns)
        self.seen.append(seen)
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            async with self._slots:
                if self.behaviour.slots:
                    seen.received_ns = time.monotonic_ns()
                return await self._complete(writer, seen)
        finally:
            self._in_flight -= 1

    def _models(self) -> dict[str, Any]:
        return {
            "object": "list",
            "data": [
                {"id": name, "object": "model", "owned_by": self.behaviour.owned_by} for name in self.behaviour.models
            ],
        }

    async def _tokenize(self, writer: asyncio.StreamWriter, body: dict[str, Any]) -> bool:
        if self.behaviour.tokenize not in body:
            return await self._json(writer, 400, {"error": {"message": "cannot tokenize that"}})
        words = body[self.behaviour.tokenize].split()
        known = {word: number + 100 for number, word in enumerate(dict.fromkeys(words))}
        return await self._json(writer, 200, {"tokens": [known[word] for word in words]})

    async def _json(self, writer: asyncio.StreamWriter, status: int, document: dict[str, Any]) -> bool:
        content = json.dumps(document).encode()
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
        writer.write(head.encode() + content)
        await writer.drain()
        return True

    async def _complete(self, writer: asyncio.StreamWriter, seen: Seen) -> bool:
        plan = self.behaviour
        number = len(self.seen)
        if plan.dies_after is not None and number > plan.dies_after:
            self.die()
            return False
        if plan.status != 200 and (not plan.fail_every or number % plan.fail_every == 0):
            return await self._json(writer, plan.status, {"error": {"message": f"refused with {plan.status}"}})
        if seen.path == "/v1/completions" and (
            not plan.completions or (isinstance(seen.body["prompt"], list) and not plan.takes_ids)
        ):
            return await self._json(writer, 400, {"error": {"message": "prompt must be something else"}})
        if plan.holds_after is not None and number > plan.holds_after:
            await self._going_on()
        await self._until(seen, plan.header_s)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        if plan.comments:
            await self._write(writer, b": alive" + plan.newline * 2)
        if plan.role_chunk:
            await self._event(writer, self._chunk(seen, role=True))
        if not await self._chunks(writer, seen):
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return not plan.closes

    async def _going_on(self) -> None:
        while not self.go_on:  # noqa: ASYNC110  (another thread sets it)
            await asyncio.sleep(0.002)

    async def _chunks(self, writer: asyncio.StreamWriter, seen: Seen) -> bool:
        """Write the chunks on schedule; False when the connection is not to be used again."""
        plan = self.behaviour
        asked = plan.tokens if plan.tokens is not None else int(seen.body["max_tokens"])
        sent = 0
        for position in range(-(-asked // plan.tokens_per_chunk)):
            if plan.hang_after == position:
                await asyncio.sleep(3600)
            if plan.reset_after == position:
                writer.transport.abort()
                return False
            if plan.close_after == position:
                return True
            if plan.error_after == position:
                await self._event(writer, {"error": {"message": "the engine fell over"}})
                return True
            if plan.malformed_after == position:
                await self._write(writer, b'data: {"choices": [' + plan.newline * 2)
                return True
            await self._until(seen, plan.ttft_s + plan.itl_s * position)
            sent = min(sent + plan.tokens_per_chunk, asked)
            seen.written_ns.append(time.monotonic_ns())
            await self._event(
                writer, self._chunk(seen, text="x" * plan.tokens_per_chunk, completion=sent, last=sent == asked)
            )
            seen.handed_over_ns.append(time.monotonic_ns())
        if plan.usage == "own":
            await self._event(writer, {"choices": [], "usage": self._usage(seen, asked)})
        if plan.done:
            await self._write(writer, b"data: [DONE]" + plan.newline * 2)
        return True

    def _chunk(
        self, seen: Seen, *, text: str = "", completion: int = 0, last: bool = False, role: bool = False
    ) -> dict[str, Any]:
        plan = self.behaviour
        choice: dict[str, Any] = {"index": 0, "finish_reason": "length" if last and plan.finish_reason else None}
        if seen.path == "/v1/completions":
            choice["text"] = text
        else:
            choice["delta"] = {"role": "assistant", "content": ""} if role else {plan.text_key: text}
        chunk: dict[str, Any] = {"choices": [choice], "padding": "p" * plan.padding, "usage": None}
        if plan.usage == "every" or (plan.usage == "last" and last):
            chunk["usage"] = self._usage(seen, completion)
        if plan.usage == "first" and len(seen.written_ns) == 1:
            chunk["usage"] = self._usage(seen, int(seen.body["max_tokens"]))
        return chunk

    def _usage(self, seen: Seen, completion: int) -> dict[str, Any]:
        plan = self.behaviour
        prompt = seen.body.get("prompt") or seen.body["messages"][0]["content"]
        own = len(prompt) if isinstance(prompt, list) else len(prompt.split()) * plan.tokens_per_word
        details = None if plan.cached_tokens is None else {"cached_tokens": plan.cached_tokens}
        return {
            "prompt_tokens": own + plan.prompt_offset,
            "completion_tokens": completion,
            "prompt_tokens_details": details,
        }

    async def _event(self, writer: asyncio.StreamWriter, document: dict[str, Any]) -> None:
        await self._write(writer, b"data: " + json.dumps(document).encode() + self.behaviour.newline * 2)

    async def _write(self, writer: asyncio.StreamWriter, content: bytes) -> None:
        size = self.behaviour.piece_bytes or len(content)
        for start in range(0, len(content), size):
            piece = content[start : start + size]
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
            if size < len(content):
                await asyncio.sleep(0)

    async def _until(self, seen: Seen, offset_s: float) -> None:
        left_s = seen.received_ns / 1e9 + offset_s - time.monotonic()
        if left_s > 0:
            await asyncio.sleep(left_s)


@contextlib.asynccontextmanager
async def serving(behaviour: Behaviour) -> AsyncIterator[OpenAiServer]:
    """Serve in this event loop."""
    server = OpenAiServer(behaviour)
    await server.start()
    try:
        yield server
    finally:
        server.die()
        await asyncio.sleep(0)


@contextlib.contextmanager
def serving_in_thread(behaviour: Behaviour) -> Iterator[OpenAiServer]:
    """Serve in a thread of its own, for a client that brings its own event loop."""
    started, stop = threading.Event(), asyncio.Event()
    server = OpenAiServer(behaviour)
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        await server.start()
        started.set()
        await stop.wait()
        server.die()
        current = asyncio.current_task()
        left = [task for task in asyncio.all_tasks() if task is not current]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def run() -> None:
        loop.run_until_complete(serve())
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    started.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
