"""An OpenAI-compatible server that keeps every promise of the contract but the one it is told to break."""

import contextlib
import json
import random
import re
import threading
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dayzero.gates.contract.model import Answer, Call

MODEL = "sim"
CONTEXT = 512
_NOUNS = (
    "amber",
    "birch",
    "cloud",
    "delta",
    "ember",
    "fjord",
    "grove",
    "haven",
    "islet",
    "jetty",
    "knoll",
    "larch",
    "north",
)
_WORDS = [f" {noun}" for noun in _NOUNS]
_ARGUMENTS = '{"city": "Paris", "unit": "celsius"}'
_PERSON = '{"mood": "gloomy", "age": 30, "left_handed": true}'


class RefusedError(Exception):
    """A request that is answered with a status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class ContractServer:
    """Answers requests.

    Attributes:
        fault: The one promise that is broken, ``""`` for none.
        refuses: A field of a request that it does not know, and says so.
        reasons: Whether the model reasons first.
        routes: The routes that it has.
    """

    fault: str = ""
    refuses: str = ""
    reasons: bool = False
    routes: tuple[str, ...] = ("/v1/chat/completions", "/v1/completions")
    received: int = 0

    def answer(self, path: str, content: bytes | None) -> tuple[int, bytes]:
        self.received += 1
        try:
            return 200, self._answer(path, content)
        except RefusedError as refused:
            return refused.status, json.dumps({"error": {"message": str(refused), "type": "invalid"}}).encode()

    def _answer(self, path: str, content: bytes | None) -> bytes:
        if content is None:
            listing = {"data": [{"id": MODEL, "max_model_len": CONTEXT, "owned_by": "sim"}]}
            if path != "/v1/models":
                raise RefusedError(404, "no such path")
            return json.dumps(listing).encode()
        try:
            body = json.loads(content)
        except ValueError:
            raise RefusedError(500 if self.fault == "malformed" else 400, "broken JSON") from None
        if not isinstance(body, dict):
            raise RefusedError(400, "not an object")
        if path == "/tokenize":
            if "model" not in body:
                raise RefusedError(422, "model is missing")
            return json.dumps({"tokens": list(range(_count(_prompt(body))))}).encode()
        if path not in self.routes:
            raise RefusedError(404, "no such path")
        return self._completed(path, body)

    def _completed(self, path: str, body: dict[str, Any]) -> bytes:
        chat = path == "/v1/chat/completions"
        self._check(body, chat=chat)
        prompt = _prompt(body)
        tokens = _count(prompt)
        if tokens > CONTEXT:
            if self.fault != "context":
                raise RefusedError(400, f"{tokens} tokens are more than {CONTEXT}")
            tokens = CONTEXT
        many = 1 if self.fault == "n" else body.get("n", 1)
        choices = [self._choice(body, prompt, index, chat=chat) for index in range(many)]
        generated = sum(len(choice["_pieces"]) for choice in choices)
        usage = {"prompt_tokens": tokens + (self.fault == "usage-prompt"), "completion_tokens": generated}
        if self.fault == "concurrent-texts":
            usage["prompt_tokens"] = 9  # so that only the texts tell
        usage["completion_tokens"] += self.fault == "usage-completion"
        usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"] + (self.fault == "total")
        name = "same" if self.fault == "ids" else f"id-{self.received}"
        if body.get("stream"):
            return self._stream(body, choices, usage, name, chat=chat)
        for choice in choices:
            choice.pop("_pieces")
        document: dict[str, Any] = {"id": name, "choices": choices, "usage": usage}
        if self.fault == "no-usage":
            document.pop("usage")
        return json.dumps(document).encode()

    def _check(self, body: dict[str, Any], *, chat: bool) -> None:
        known = {
            "model",
            "temperature",
            "max_tokens",
            "seed",
            "n",
            "top_k",
            "top_p",
            "logprobs",
            "top_logprobs",
            "stop",
        }
        known |= {"stream", "stream_options", "tools", "tool_choice", "response_format", "messages", "prompt"}
        if self.refuses in body:
            raise RefusedError(400, f"{self.refuses} is not supported")
        if set(body) - known and self.fault != "unknown-parameter":
            raise RefusedError(400, "a field is not known")
        if body.get("model") != MODEL and self.fault != "unknown-model":
            raise RefusedError(404, "no such model")
        wrong = (
            not 0 <= body.get("temperature", 1) <= 2
            or not 0 <= body.get("top_p", 1) <= 1
            or body.get("top_k", 1) < -1
            or body.get("n", 1) < 1
            or not isinstance(body.get("max_tokens", 1), int)
        )
        if wrong and self.fault != "ranges":
            raise RefusedError(400, "out of range")
        if wrong:
            body |= {"temperature": 1, "max_tokens": 1, "n": 1}
        given = body.get("messages") if chat else body.get("prompt")
        if not isinstance(given, list if chat else str):
            raise RefusedError(400, "no prompt")

    def _choice(self, body: dict[str, Any], prompt: str, index: int, *, chat: bool) -> dict[str, Any]:
        pieces, finish = self._pieces(body, prompt, index)
        calls = self._calls(body)
        if calls:
            finish = "length" if self.fault == "tool-finish" else "tool_calls"
            text = ""
        else:
            text = "".join(pieces)
        choice: dict[str, Any] = {"index": index, "finish_reason": finish, "_pieces": pieces, "logprobs": None}
        asked = body.get("logprobs")
        if (asked and self.fault != "logprobs") or self.fault == "logprobs-unasked":
            top = [{"token": "x", "logprob": -1.0}]
            content = [{"token": piece, "logprob": -0.5, "top_logprobs": top} for piece in pieces]
            if self.fault == "logprobs-nan":
                content[-1]["logprob"] = float("nan")
            choice["logprobs"] = {"content": content[: -1 if self.fault == "logprobs-short" else None]}
        if not chat:
            return choice | {"text": text}
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if self.reasons and self.fault == "reasoning":
            message["content"] = "<think>hm</think>" + text
        elif self.reasons:
            message["reasoning_content"] = "hm"
        if calls:
            message["tool_calls"] = calls
        return choice | {"message": message}

    def _pieces(self, body: dict[str, Any], prompt: str, index: int) -> tuple[list[str], str]:
        if body.get("response_format") and self.fault != "json-schema":
            return [_PERSON if self.fault != "json-values" else '{"mood": "odd", "age": "old"}'], "stop"
        limit = body.get("max_tokens", 16)
        length = limit + (self.fault == "max-tokens")
        greedy = body.get("temperature", 1) == 0 or (body.get("top_k") == 1 and self.fault != "top-k")
        if self.fault == "temperature":
            greedy = True
        seed: object = zlib.crc32(prompt.encode()) + index * (not greedy)
        if not greedy:
            seed = (
                None if "seed" not in body or self.fault == "seed" else zlib.crc32(f"{prompt} {body['seed']}".encode())
            )
        if self.fault == "greedy":
            seed = None
        draw = random.Random(self.received if seed is None else seed)  # noqa: S311  (a simulated model)
        pieces = [draw.choice(_WORDS) for _ in range(length)]
        return self._stopped(body, pieces)

    def _stopped(self, body: dict[str, Any], pieces: list[str]) -> tuple[list[str], str]:
        limited = "stop" if self.fault == "finish" else "length"
        for stop in body.get("stop", []):
            text = "".join(pieces)
            at = text.find(stop)
            whole = any(stop in piece for piece in pieces)
            if at < 0 or self.fault == "stop" or (self.fault == "stop-across" and not whole):
                continue
            kept = text[: at + {"stop-kept": len(stop), "stop-early": -3}.get(self.fault, 0)]
            return re.findall(r" ?[a-z]+| $", kept), limited if self.fault == "stop-finish" else "stop"
        return pieces, limited

    def _calls(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        if (
            not body.get("tools")
            or self.fault == "tools"
            or (body["tool_choice"] == "none" and self.fault != "tool-none")
        ):
            return []
        arguments = {"tool-json": '{"city": "Par', "tool-schema": '{"city": 3}'}.get(self.fault, _ARGUMENTS)
        name = "get_wether" if self.fault == "tool-name" else "get_weather"
        return [{"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}]

    def _stream(
        self, body: dict[str, Any], choices: list[dict[str, Any]], usage: object, name: str, *, chat: bool
    ) -> bytes:
        events: list[dict[str, Any]] = []
        for choice in choices:
            pieces = choice.pop("_pieces")
            message = choice.get("message", {})
            parts = [
                _delta(choice["index"], piece, chat=chat) for piece in (pieces if not message.get("tool_calls") else [])
            ]
            if chat and message.get("content", "").startswith("<think>"):
                parts.insert(0, _delta(0, "<think>hm</think>", chat=True))
            if message.get("reasoning_content") and self.fault != "reasoning-streamed":
                parts.insert(0, {"index": 0, "delta": {"reasoning_content": "hm"}})
            for call in message.get("tool_calls", []):
                parts += list(_call_deltas(call, broken=self.fault == "tool-streamed"))
            if self.fault == "stream-text":
                parts = parts[1:]
            last = {"index": choice["index"], "finish_reason": choice["finish_reason"]}
            parts.append(last | ({"delta": {}} if chat else {"text": ""}))
            events += [{"id": name, "choices": [part]} for part in parts]
        if body.get("stream_options", {}).get("include_usage") and self.fault != "stream-usage":
            events.append({"id": name, "choices": [], "usage": usage})
        written = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        return (written + ("" if self.fault == "done" else "data: [DONE]\n\n")).encode()


def _delta(index: int, piece: str, *, chat: bool) -> dict[str, Any]:
    said = {"delta": {"content": piece}} if chat else {"text": piece}
    return {"index": index, "finish_reason": None} | said


def _call_deltas(call: Mapping[str, Any], *, broken: bool) -> Iterator[dict[str, Any]]:
    arguments = call["function"]["arguments"]
    half = len(arguments) // 2
    first = {"index": 0, "id": "1", "function": {"name": call["function"]["name"], "arguments": arguments[:half]}}
    rest = {"index": 0, "function": {"arguments": arguments[half + broken :]}}
    yield from ({"index": 0, "delta": {"tool_calls": [part]}} for part in (first, rest))


def _prompt(body: Mapping[str, Any]) -> str:
    if "messages" in body:
        return " ".join(str(message["content"]) for message in body["messages"])
    return str(body.get("prompt", body.get("content", "")))


def _count(text: str) -> int:
    return len(text.split()) + 1


class InProcess:
    """The simulated server without a network. Implements ``gates.contract.ports.Endpoint``."""

    def __init__(self, server: ContractServer) -> None:
        self.server = server
        self.calls: list[tuple[str, Call]] = []
        self._check = ""

    def begin(self, check: str) -> None:
        self._check = check

    def send(self, *calls: Call) -> tuple[Answer, ...]:
        answers = tuple(map(self._one, calls))
        if self.server.fault in {"concurrent", "concurrent-texts"} and len(calls) > 1:
            return tuple(
                replace(one, number=other.number)
                for one, other in zip((answers[1], answers[0], *answers[2:]), answers, strict=True)
            )
        return answers

    def _one(self, call: Call) -> Answer:
        self.calls.append((self._check, call))
        content = call.body if isinstance(call.body, bytes) or call.body is None else json.dumps(call.body).encode()
        status, body = self.server.answer(call.path, content)
        events = () if body.startswith(b"{") else tuple(re.findall(rb"data: (.*)\n\n", body))
        return Answer(number=len(self.calls), status=status, body=body, events=events)


@contextlib.contextmanager
def serving(server: ContractServer) -> Iterator[str]:
    """Serve on the loopback, and give the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply(None)

        def do_POST(self) -> None:
            self._reply(self.rfile.read(int(self.headers["content-length"])))

        def _reply(self, content: bytes | None) -> None:
            status, body = server.answer(self.path, content)
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_address[1]}"
        finally:
            http.shutdown()
            thread.join()
