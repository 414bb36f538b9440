"""A server of log-probabilities on the loopback: a small model that is known, in the words of four engines, with planted faults.

The model is three seeded tables: the next token's logits are a sum over the last token, the one before it, and all of the
context. Two servers with one seed are the same model; ``shift`` makes it another one, ``noise`` makes it unlike itself.
"""

import json
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import numpy as np

VOCABULARY = 72
_CONTEXTS = 64
_BEGIN = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """What the server is, and what is wrong with it.

    Attributes:
        words: Whose words it speaks.
        seed: Its weights.
        shift: Standard deviation of what is added to every entry of its tables: another model.
        noise: Standard deviation of what is added to the logits of each request: a batch that computes otherwise.
        prefill_shift: The same as ``shift``, but only where a prompt is read.
        tokenizer: Salt of its tokenizer; ``None`` for none.
        logprobs: Whether it gives any.
        most: Candidates that it gives at most.
        refuses_above: Candidates above which it answers 400; 0 for never.
        tokens: Tokens that it writes at most; 0 for as many as asked.
        nan_at: Every so many positions a NaN; 0 for never.
        scales: Whether the temperature is in its log-probabilities.
        collapses: Whether at temperature 0 the chosen token has it all.
        takes_ids: Whether it takes token ids.
        echoes: Whether it gives a prompt's own positions (for ``openai``).
        pause_s: Seconds before each answer.
        fails_after: Answers after which it answers 503; 0 for never.
    """

    words: Literal["vllm", "sglang", "llamacpp", "openai"] = "vllm"
    seed: int = 7
    shift: float = 0.0
    noise: float = 0.0
    prefill_shift: float = 0.0
    tokenizer: int | None = 0
    logprobs: bool = True
    most: int = VOCABULARY
    refuses_above: int = 0
    tokens: int = 0
    nan_at: int = 0
    scales: bool = False
    collapses: bool = False
    takes_ids: bool = True
    echoes: bool = True
    pause_s: float = 0.0
    fails_after: int = 0


@dataclass(slots=True)
class Model:
    """Gives logits; the truth that a gate is held to."""

    seed: int
    shift: float = 0.0
    tables: Sequence[np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        draw, other = np.random.default_rng(self.seed), np.random.default_rng(self.seed + 1)
        sizes = (VOCABULARY, VOCABULARY, _CONTEXTS)
        drawn = [draw.standard_gamma(0.4, (rows, VOCABULARY)) * 2 for rows in sizes]
        self.tables = [table + self.shift * other.standard_normal(table.shape) for table in drawn]

    def logits(self, context: Sequence[int]) -> np.ndarray:
        last, before, whole = self.tables
        mixed = sum((place + 1) * token for place, token in enumerate(context)) % _CONTEXTS
        found: np.ndarray = last[context[-1]] + 0.5 * before[context[-2] if len(context) > 1 else 0] + whole[mixed]
        return found


def log_softmax(logits: np.ndarray) -> np.ndarray:
    top = logits.max()
    found: np.ndarray = logits - top - np.log(np.exp(logits - top).sum())
    return found


def _best(logits: np.ndarray) -> list[tuple[int, float]]:
    """Give every token with its log-probability, best first."""
    values = log_softmax(logits)
    order = np.argsort(-values, kind="stable")
    return list(zip(order.tolist(), values[order].tolist(), strict=True))


@dataclass(slots=True)
class LogprobServer:
    """Serves until its context ends.

    Attributes:
        requests: Path and body of everything that was asked, in order.
        most_in_flight: How many questions were open at once.
    """

    planted: Planted
    url: str = ""
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    most_in_flight: int = 0
    _models: dict[bool, Model] = field(default_factory=dict)
    _known: dict[tuple[bool, tuple[int, ...], float], list[tuple[int, float]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _positions: int = 0
    _open: int = 0

    def __post_init__(self) -> None:
        planted = self.planted
        self._models = {
            False: Model(planted.seed, planted.shift),
            True: Model(planted.seed, planted.prefill_shift or planted.shift),
        }

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        with self._lock:
            self.requests.append((path, body))
            number = len(self.requests)
            self._open += 1
            self.most_in_flight = max(self.most_in_flight, self._open)
        try:
            time.sleep(self.planted.pause_s)
            return self._answered(path, body, number)
        finally:
            with self._lock:
                self._open -= 1

    def _answered(self, path: str, body: dict[str, Any], number: int) -> tuple[int, Any]:  # noqa: PLR0911  (one a refusal)
        planted = self.planted
        if path == "/v1/models":
            return 200, {"data": [{"id": "small", "owned_by": planted.words}]}
        if planted.fails_after and number > planted.fails_after:
            return 503, {"error": "too much"}
        if path == "/tokenize":
            return self._tokenized(body)
        if path != ("/generate" if planted.words == "sglang" else "/v1/completions"):
            return 404, {"error": f"no {path}"}
        prompt = body.get("input_ids") or body.get("text") or body["prompt"]
        if isinstance(prompt, list) and not planted.takes_ids:
            return 400, {"error": "prompt must be a string"}
        ids = prompt if isinstance(prompt, list) else self._ids(prompt)
        asked = max(int(body.get(name) or 0) for name in ("logprobs", "prompt_logprobs", "top_logprobs_num"))
        if planted.refuses_above and asked > planted.refuses_above:
            return 400, {"error": f"at most {planted.refuses_above} log-probabilities"}
        return 200, self._completed(ids, body, number, min(asked, planted.most))

    def _tokenized(self, body: dict[str, Any]) -> tuple[int, Any]:
        own = "content" if self.planted.words == "llamacpp" else "prompt"
        if self.planted.tokenizer is None or own not in body:
            return 404, {"error": "cannot tokenize that"}
        special = body.get("add_special") or body.get("add_special_tokens")
        return 200, {"tokens": [*([_BEGIN] if special else []), *self._ids(body[own])]}

    def _ids(self, text: str) -> list[int]:
        return [2 + zlib.crc32(f"{self.planted.tokenizer}{word}".encode()) % (VOCABULARY - 2) for word in text.split()]

    def _completed(self, ids: list[int], body: dict[str, Any], number: int, k: int) -> Mapping[str, Any]:
        planted = self.planted
        draw = np.random.default_rng((planted.seed, number))
        sampling = body.get("sampling_params", body)
        heat = (sampling.get("temperature") or 1) if planted.scales else 1
        if planted.collapses and not sampling.get("temperature"):
            heat = 1e-3
        asked = sampling.get("max_new_tokens") or sampling.get("max_tokens") or 0
        reads = planted.words == "sglang" or bool(body.get("prompt_logprobs") or body.get("echo"))
        ends = range(1, len(ids)) if reads else ()
        scored = [self._position(ids[:end], ids[end], draw, k, heat, reads=True) for end in ends]
        context, written = list(ids), []
        for _ in range(min(asked, planted.tokens or asked)):
            written.append(self._position(context, None, draw, k, heat, reads=len(context) == len(ids)))
            context.append(written[-1][0])
        if planted.words == "sglang":
            return self._sglang(ids, scored, written)
        if planted.words == "llamacpp":
            return self._chat(written)
        return self._legacy(ids, scored, written, body)

    def _position(  # noqa: PLR0913  (all that a position depends on)
        self, context: Sequence[int], given: int | None, draw: np.random.Generator, k: int, heat: float, *, reads: bool
    ) -> tuple[int, list[tuple[int, float]]]:
        if self.planted.noise:
            logits = self._models[reads].logits(context) + self.planted.noise * draw.standard_normal(VOCABULARY)
            best = _best(logits / heat)
        else:
            key = (reads, tuple(context), heat)
            best = self._known.get(key) or _best(self._models[reads].logits(context) / heat)
            self._known[key] = best
        token = best[0][0] if given is None else given
        found = best[:k] + [one for one in best[k:] if one[0] == token]
        self._positions += 1
        if self.planted.nan_at and self._positions % self.planted.nan_at == 0:
            found[0] = (found[0][0], float("nan"))
        return token, found

    def _legacy(self, ids: list[int], scored: list, written: list, body: dict[str, Any]) -> Mapping[str, Any]:
        named = bool(body.get("return_tokens_as_token_ids"))

        def name(token: int) -> str:
            return f"token_id:{token}" if named else f"w{token}"

        choice: dict[str, Any] = {"text": " ".join(name(token) for token, _ in written), "finish_reason": "length"}
        shown = [(ids[0], None), *scored, *written] if body.get("echo") and self.planted.echoes else written
        if body.get("logprobs") and self.planted.logprobs:
            choice["logprobs"] = {
                "tokens": [name(token) for token, _ in shown],
                "top_logprobs": [top and {name(each): value for each, value in top} for _, top in shown],
            }
        if body.get("prompt_logprobs") and self.planted.logprobs:
            maps = [{str(each): {"logprob": value, "rank": 1} for each, value in top} for _, top in scored]
            choice |= {"prompt_logprobs": [None, *maps], "prompt_token_ids": ids}
        return {"choices": [choice], "system_fingerprint": "small-1"}

    def _chat(self, written: list) -> Mapping[str, Any]:
        content = [
            {
                "id": token,
                "token": f"w{token}",
                "logprob": dict(top)[token],
                "top_logprobs": [{"id": each, "token": f"w{each}", "logprob": value} for each, value in top],
            }
            for token, top in written
        ]
        logprobs = {"logprobs": {"content": content}} if self.planted.logprobs else {}
        return {"choices": [{"text": "", "finish_reason": "length", **logprobs}], "system_fingerprint": "small-1"}

    def _sglang(self, ids: list[int], scored: list, written: list) -> Mapping[str, Any]:
        def tokens(positions: list) -> list:
            return [[dict(top)[token], token, None] for token, top in positions]

        def tops(positions: list) -> list:
            return [[[value, each, None] for each, value in top] for _, top in positions]

        meta: dict[str, Any] = {"prompt_tokens": len(ids)}
        if self.planted.logprobs:
            meta["input_token_logprobs"] = [[None, ids[0], None], *tokens(scored)]
            meta["input_top_logprobs"] = [None, *tops(scored)]
            meta["output_token_logprobs"], meta["output_top_logprobs"] = tokens(written), tops(written)
        return {"text": "", "meta_info": meta}


@contextmanager
def serving(planted: Planted) -> Iterator[LogprobServer]:
    """Serve on a free port of the loopback."""
    server = LogprobServer(planted)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._write(*server.answer(self.path, {}))

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            self._write(*server.answer(self.path, json.loads(self.rfile.read(length))))

        def _write(self, status: int, document: object) -> None:
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    server.url = f"http://127.0.0.1:{listener.server_port}"
    thread = threading.Thread(target=listener.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
