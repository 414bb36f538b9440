"""Find out what an OpenAI-compatible endpoint serves, which engine answers, and how prompts of a known length are sent."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx
import msgspec

from dayzero.adapters.openai_http import GenericDialect, OpenAiEndpoint, Route, Speech
from dayzero.bench.model import PromptPool, Request, Row, TokenPool, WordPool
from dayzero.bench.ports import Dialect
from dayzero.bench.prompts import corrected, probe_prompt
from dayzero.core.errors import InputError, RemoteError

_ANSWER_S = 30.0
_PROBE_S = 120.0
_OK, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 200, 401, 403, 404
_SMALLEST_POOL = 32
_PROBE_TOKENS = 32
_SHORT_WORDS, _LONG_WORDS = 16, 48
_PROBE_OUTPUT_TOKENS = 4
_CLOSES = (
    "the server closes the connection after each answer: each request opens a new one, which is in no latency figure"
)
_PAUSE_S = 0.05
_UNVERIFIED = "the server reports no usage, so the length of the prompts is not verified"

# Short words that most tokenizers keep whole, so that their tokens are ordinary text and a text prompt's length is known.
_PLAIN_TEXT = """
the of and to in is that for it was on are as with his they at be this have from or had by not but what some we can out
other were all there when up use your how said each she which do their time if will way about many then them write would
like so these her long make thing see him two has look more day could go come did number sound no most people my over
know water than call first who may down side been now find any new work part take get place made live where after back
little only round man year came show every good me give our under name very through just form sentence great think say
help low line before turn cause same mean differ move right boy old too does tell set three want air well also play
small end put home read hand large add even land here must big high such follow act why ask men change went light kind
off need house picture try us again animal point mother world near build self earth father head stand own page should
country found answer school grow study still learn plant cover food sun four thought let keep eye never last door between
city tree cross since hard start might story saw far sea draw left late run while press close night real life few stop
open seem together next white children begin got walk example ease paper often always music those both mark book letter
until mile river car feet care second group carry took rain eat room friend began idea fish mountain north once base hear
horse cut sure watch color face wood main enough plain girl usual young ready above ever red list though feel talk bird
soon body dog family direct pose leave song measure state product black short class wind question happen complete ship
area half rock order fire south problem piece told knew pass farm top whole king size heard best hour better true during
hundred remember step early hold west ground interest reach fast five sing listen six table travel less morning ten
""".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """What is known of an endpoint before the first measured request.

    Attributes:
        engine: Name of the engine that answers, ``""`` when none was recognised.
        how: How it is spoken to.
        pool: What prompts are drawn from, corrected by what the server reported.
        notes: What a reader of the figures should know.
    """

    engine: str
    how: Speech
    pool: PromptPool
    notes: tuple[str, ...]


async def discover(client: httpx.AsyncClient, *, model: str, candidates: Sequence[tuple[str, Dialect]]) -> Discovered:
    """Look at an endpoint, and send it a few short probes.

    Args:
        client: The open connection pool.
        model: The model to use; ``""`` means the only one.
        candidates: Names and dialects of the known engines, in the order in which they are tried.

    Raises:
        InputError: The model has to be named, or is not served.
        RemoteError: The endpoint cannot be reached, or answers no probe.
    """
    listing = await _models(client, optional=bool(model))
    chosen = _choose(listing, model)
    recognised = ((name, dialect) for name, dialect in candidates if listing and dialect.recognises(listing))
    engine, dialect = next(recognised, ("", GenericDialect()))
    probes = _Probes(client, chosen, dialect)
    notes = () if engine else ("no known engine was recognised: the model may end before the asked number of tokens",)
    for find in (probes.tokens, probes.words, probes.chat):
        route, pool, found_notes = await find()
        if pool is not None:
            keeps = await probes.keeps_connection(route, pool)
            how = Speech(model=chosen, route=route, dialect=dialect, keeps_connection=keeps)
            kept = () if keeps else (_CLOSES,)
            return Discovered(engine=engine, how=how, pool=pool, notes=(*notes, *found_notes, *kept))
    raise RemoteError(
        f"{client.base_url} streams neither completions nor chat completions of {chosen!r}: {probes.last_error}",
        hint="Check the server's log; dayzero needs a streaming OpenAI-compatible endpoint.",
    )


_Found = tuple[Route, PromptPool | None, tuple[str, ...]]


class _Probes:
    """Tries one form of prompt after the other."""

    def __init__(self, client: httpx.AsyncClient, model: str, dialect: Dialect) -> None:
        self.last_error = ""
        self._client = client
        self._model = model
        self._dialect = dialect
        self._sent = 0

    async def tokens(self) -> _Found:
        """Token ids on the completions route: the only form whose length is exact by construction."""
        route: Route = "/v1/completions"
        ids = await self._safe_ids()
        if len(ids) < _SMALLEST_POOL:
            return route, None, ()
        pool = TokenPool(ids=ids)
        row = await self._probe(route, pool, _PROBE_TOKENS)
        if not row.ok:
            return route, None, ()
        if row.usage is None:
            return route, pool, (_UNVERIFIED,)
        overhead = row.usage.prompt_tokens - _PROBE_TOKENS
        if overhead == 0:
            return route, pool, ()
        if not 0 < overhead < _PROBE_TOKENS:
            return route, None, ()
        pool = replace(pool, overhead=overhead)
        row = await self._probe(route, pool, _PROBE_TOKENS)
        exact = row.usage is not None and row.usage.prompt_tokens == _PROBE_TOKENS
        return (
            route,
            pool if exact else None,
            (f"the server adds {overhead} tokens to every prompt; they are counted in",),
        )

    async def words(self) -> _Found:
        """Text on the completions route."""
        return await self._text("/v1/completions")

    async def chat(self) -> _Found:
        """Text on the chat route."""
        return await self._text("/v1/chat/completions")

    async def _text(self, route: Route) -> _Found:
        pool = WordPool(words=tuple(dict.fromkeys(_PLAIN_TEXT.split())))
        short = await self._probe(route, pool, _SHORT_WORDS)
        if not short.ok:
            return route, None, ()
        long = await self._probe(route, pool, _LONG_WORDS)
        if short.usage is None or long.usage is None:
            return route, pool, (f"prompts are sent as text; {_UNVERIFIED}",)
        pool = corrected(
            pool, short=(_SHORT_WORDS, short.usage.prompt_tokens), long=(_LONG_WORDS, long.usage.prompt_tokens)
        )
        return route, pool, ("the server takes no token ids: prompts are sent as text",)

    async def keeps_connection(self, route: Route, pool: PromptPool) -> bool:
        """See whether a connection still stands a moment after a streamed answer, and can be used again."""
        length = _PROBE_TOKENS + pool.overhead
        how = Speech(model=self._model, route=route, dialect=self._dialect)
        endpoint = OpenAiEndpoint(self._client, how, timeout_s=_PROBE_S)
        await endpoint.complete(self._request(pool, length))
        await asyncio.sleep(_PAUSE_S)
        opened = endpoint.connections
        row = await endpoint.complete(self._request(pool, length))
        # What the server closes now must not be met by the first measured request.
        await asyncio.sleep(_PAUSE_S)
        return row.ok and endpoint.connections == opened

    async def _probe(self, route: Route, pool: PromptPool, length: int) -> Row:
        how = Speech(model=self._model, route=route, dialect=self._dialect, keeps_connection=False)
        row = await OpenAiEndpoint(self._client, how, timeout_s=_PROBE_S).complete(self._request(pool, length))
        self.last_error = row.error or self.last_error
        if row.error and not row.status:
            raise RemoteError(
                f"{self._client.base_url} did not answer a probe: {row.error}", hint="Check that the server runs."
            )
        if row.status in {_UNAUTHORIZED, _FORBIDDEN}:
            raise _no_access(self._client.base_url, row.status)
        return row

    def _request(self, pool: PromptPool, length: int) -> Request:
        self._sent += 1
        return Request(
            cell="probe",
            phase="warmup",
            index=self._sent,
            prompt=probe_prompt(pool, length=length, key=str(self._sent)),
            input_tokens=length,
            output_tokens=_PROBE_OUTPUT_TOKENS,
        )

    async def _safe_ids(self) -> tuple[int, ...]:
        """Ask the server for the token ids of plain text, in llama.cpp's form and then in vLLM's."""
        forms: tuple[dict[str, Any], ...] = (
            {"content": _PLAIN_TEXT, "add_special": False},
            {"model": self._model, "prompt": _PLAIN_TEXT, "add_special_tokens": False},
        )
        for form in forms:
            try:
                answer = await self._client.post("/tokenize", json=form, timeout=_ANSWER_S)
                tokens = _document(answer).get("tokens")
            except (httpx.HTTPError, RemoteError):
                continue
            if isinstance(tokens, list) and tokens and all(type(token) is int for token in tokens):
                return tuple(dict.fromkeys(tokens))
        return ()


async def _models(client: httpx.AsyncClient, *, optional: bool) -> Mapping[str, Any]:
    try:
        answer = await client.get("/v1/models", timeout=_ANSWER_S)
    except httpx.HTTPError as error:
        raise RemoteError(
            f"{client.base_url} cannot be reached: {error or type(error).__name__}",
            hint="Start the server, or check the address and the port.",
        ) from error
    if answer.status_code in {_UNAUTHORIZED, _FORBIDDEN}:
        raise _no_access(client.base_url, answer.status_code)
    if answer.status_code == _NOT_FOUND and optional:
        return {}
    return _document(answer)


def _choose(listing: Mapping[str, Any], model: str) -> str:
    entries = [entry for entry in listing.get("data") or [] if isinstance(entry, Mapping)]
    names = [str(entry.get("id")) for entry in entries]
    also = [alias for entry in entries for alias in entry.get("aliases") or []]
    if model:
        if names and model not in {*names, *also}:
            raise InputError(f"no model {model!r} is served there", hint=f"Use one of: {', '.join(names)}.")
        return model
    if not names:
        raise RemoteError("the endpoint lists no model", hint="Load one, or name it with --model.")
    if len(names) > 1:
        raise InputError(f"{len(names)} models are served there: {', '.join(names)}", hint="Choose one with --model.")
    return names[0]


def _document(answer: httpx.Response) -> Mapping[str, Any]:
    where = f"{answer.request.url}"
    if answer.status_code != _OK:
        text = " ".join(answer.text.split())[:200]
        raise RemoteError(
            f"{where} answered {answer.status_code}: {text}".removesuffix(": "),
            hint="Wait until the server is ready; check that it is an OpenAI-compatible one.",
        )
    try:
        document = msgspec.json.decode(answer.content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RemoteError(
            f"{where} did not answer JSON", hint="Check that it is an OpenAI-compatible server."
        ) from error
    if not isinstance(document, Mapping):
        raise RemoteError(f"{where} did not answer a JSON object", hint="Check that it is an OpenAI-compatible server.")
    return document


def _no_access(url: httpx.URL, status: int) -> RemoteError:
    return RemoteError(
        f"{url} refuses access ({status})", hint="Name the variable that holds the key: --api-key-env VARIABLE."
    )
