"""Find out what an OpenAI-compatible endpoint serves, which engine answers, and how prompts of a known length are sent."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from dayzero.adapters.measuring.ask import Reply, ask, explain
from dayzero.adapters.measuring.client import INTERRUPTED, MeasuringClient
from dayzero.adapters.measuring.records import Records
from dayzero.adapters.measuring.server import Server
from dayzero.adapters.openai_http import GenericDialect, Route, Speech, Wording
from dayzero.bench.answer import printable
from dayzero.bench.http1 import MalformedResponseError
from dayzero.bench.model import Aborted, Exhausted, PromptPool, ReadsHeader, Request, Row, TokenPool, Wait, WordPool
from dayzero.bench.parse import parse
from dayzero.bench.ports import Dialect
from dayzero.bench.prompts import corrected, probe_prompt
from dayzero.bench.reads import encode_header
from dayzero.core.errors import InputError, RemoteError
from dayzero.core.workload import Cell

NO_WORK: Final[Iterator[object]] = iter(())

_ANSWER_S: Final = 30.0
_PROBE_S: Final = 120.0
_OK, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 200, 401, 403, 404
_SMALLEST_POOL: Final = 16  # a tokenizer of bytes has few that are plain
_PROBE_TOKENS: Final = 32
_NAMED: Final = 10  # of the models of a server that has many
_IDS: Final = 2**31  # engines keep token ids in 32 bits
_SHORT_WORDS, _LONG_WORDS = 16, 48
_PROBE_OUTPUT_TOKENS: Final = 4
_CLOSES: Final = (
    "the server closes the connection after each answer: each request opens a new one, which is in no latency figure"
)
_PAUSE_S: Final = 0.05
_SENT_NS: Final = 2_000_000  # a probe has been sent by then, and refused by a server nearby
_UNVERIFIED: Final = "the server reports no usage, so the length of the prompts is not verified"

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


def discover(
    server: Server,
    wording: Wording,
    *,
    model: str,
    candidates: Sequence[tuple[str, Dialect]],
    work: Iterator[object] = NO_WORK,
) -> Discovered:
    """Look at an endpoint, and send it a few short probes, at the same time where one does not build on the other.

    Args:
        server: Where it is.
        wording: Writes the requests.
        model: The model to use; ``""`` means the only one.
        candidates: Names and dialects of the known engines, in the order in which they are tried.
        work: What else there is to do, in short steps; all of them are taken while the server is waited for.

    Raises:
        InputError: The model has to be named, or is not served.
        RemoteError: The endpoint cannot be reached, or answers no probe.
    """
    listing = list_models(server, wording, optional=bool(model))
    chosen = choose_model(listing, model)
    recognised = ((name, dialect) for name, dialect in candidates if listing and dialect.recognises(listing))
    engine, dialect = next(recognised, ("", GenericDialect()))
    probes = _Probes(server, wording, chosen, dialect, work)
    notes = () if engine else ("no known engine was recognised: the model may end before the asked number of tokens",)
    for find in (probes.tokens, probes.words, probes.chat):
        route, pool, found_notes = find()
        if pool is not None:
            how = Speech(model=chosen, route=route, dialect=dialect, keeps_connection=probes.kept)
            kept = () if probes.kept else (_CLOSES,)
            return Discovered(engine=engine, how=how, pool=pool, notes=(*notes, *found_notes, *kept))
    raise RemoteError(
        f"{server.address} streams neither completions nor chat completions of {chosen!r}: {probes.last_error}",
        hint="Check the server's log; dayzero needs a streaming OpenAI-compatible endpoint.",
    )


_Found = tuple[Route, PromptPool | None, tuple[str, ...]]


class _Probes:
    """Tries one form of prompt after the other.

    Attributes:
        kept: Whether the connections of the last probes stood a moment after their answers.
        last_error: What the last failed probe said.
    """

    def __init__(self, server: Server, wording: Wording, model: str, dialect: Dialect, work: Iterator[object]) -> None:
        self.kept = False
        self.last_error = ""
        self._server = server
        self._wording = wording
        self._model = model
        self._dialect = dialect
        self._work = work
        self._sent = 0

    def tokens(self) -> _Found:
        """Token ids on the completions route: the only form whose length is exact by construction."""
        route: Route = "/v1/completions"
        ids = self._safe_ids()
        if len(ids) < _SMALLEST_POOL:
            return route, None, ()
        pool = TokenPool(ids=ids)
        (row,) = self._probe(route, pool, _PROBE_TOKENS)
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
        (row,) = self._probe(route, pool, _PROBE_TOKENS)
        exact = row.usage is not None and row.usage.prompt_tokens == _PROBE_TOKENS
        return (
            route,
            pool if exact else None,
            (f"the server adds {overhead} tokens to every prompt; they are counted in",),
        )

    def words(self) -> _Found:
        """Text on the completions route."""
        return self._text("/v1/completions")

    def chat(self) -> _Found:
        """Text on the chat route."""
        return self._text("/v1/chat/completions")

    def _text(self, route: Route) -> _Found:
        pool = WordPool(words=tuple(dict.fromkeys(_PLAIN_TEXT.split())))
        short, long = self._probe(route, pool, _SHORT_WORDS, _LONG_WORDS)
        if not short.ok:
            return route, None, ()
        if short.usage is None or long.usage is None:
            return route, pool, (f"prompts are sent as text; {_UNVERIFIED}",)
        pool = corrected(
            pool, short=(_SHORT_WORDS, short.usage.prompt_tokens), long=(_LONG_WORDS, long.usage.prompt_tokens)
        )
        return route, pool, ("the server takes no token ids: prompts are sent as text",)

    def _probe(self, route: Route, pool: PromptPool, *lengths: int) -> tuple[Row, ...]:
        """Send prompts of these lengths at once, and see whether the connections still stand a moment after the answers."""
        requests = tuple(self._request(pool, length) for length in lengths)
        records = Records()
        records.parts.append(encode_header(_NO_RUN))
        how = Speech(model=self._model, route=route, dialect=self._dialect)
        client = MeasuringClient(self._server, self._wording, how, records, timeout_s=_PROBE_S)
        cell = Cell(
            name=_PROBE,
            concurrency=len(requests) + 1,  # a stream that nothing is sent on: its turn is for the work
            requests=len(requests),
            warmup_requests=0,
            input_tokens=1,
            output_tokens=_PROBE_OUTPUT_TOKENS,
        )
        try:
            ending = client.run(_AtOnce(requests, self._work), cell=cell, on_progress=lambda _: None)
            rows = sorted(parse(records.parts, self._dialect.usage).rows, key=lambda row: row.number)
            # What the server closes now must not be met by the first measured request; after a refusal another probe follows.
            self.kept = any(row.ok for row in rows) and client.settle(_PAUSE_S, self._work)
        finally:
            client.close()
        if len(rows) < len(requests) or ending == Aborted(reason=INTERRUPTED):
            raise KeyboardInterrupt
        for row in rows:
            self._check(row)
        return tuple(rows)

    def _check(self, row: Row) -> None:
        self.last_error = row.error or self.last_error
        if row.error and not row.status:
            raise RemoteError(
                f"{self._server.address} did not answer a probe: {row.error}", hint="Check that the server runs."
            )
        if row.status in {_UNAUTHORIZED, _FORBIDDEN}:
            raise _no_access(self._server, row.status)

    def _request(self, pool: PromptPool, length: int) -> Request:
        self._sent += 1
        return Request(
            number=self._sent,
            cell=_PROBE,
            phase="warmup",
            index=self._sent,
            prompt=probe_prompt(pool, length=length, key=str(self._sent)),
            input_tokens=length,
            output_tokens=_PROBE_OUTPUT_TOKENS,
        )

    def _safe_ids(self) -> tuple[int, ...]:
        """Ask the server for the token ids of plain text, in llama.cpp's form and then in vLLM's."""
        forms: tuple[dict[str, Any], ...] = (
            {"content": _PLAIN_TEXT, "add_special": False},
            {"model": self._model, "prompt": _PLAIN_TEXT, "add_special_tokens": False},
        )
        for form in forms:
            try:
                question = self._wording.plain("POST", "/tokenize", form)
                tokens = _document("/tokenize", ask(self._server, question, timeout_s=_ANSWER_S)).get("tokens")
            except (OSError, RemoteError):
                continue
            if isinstance(tokens, list) and all(type(token) is int and 0 <= token < _IDS for token in tokens):
                return tuple(dict.fromkeys(tokens))
        return ()


_PROBE: Final = "probe"
_NO_RUN: Final = ReadsHeader(
    server="", model="", route="", engine="", seed=0, cells=(), pool_sha256="", boot="", client=_PROBE
)


class _AtOnce:
    """Sends a few requests as soon as there are streams for them, and works while they are answered.

    Implements ``bench.ports.Plan``.
    """

    def __init__(self, requests: Sequence[Request], work: Iterator[object]) -> None:
        self._left = list(reversed(requests))
        self._unanswered = len(requests)
        self._work = work
        self._work_ns = 0  # from when on there is time for it

    def take(self, elapsed_ns: int) -> Request | Wait | Exhausted:
        """Give the next one; or take a step of the work, and be asked again after a look at what has come."""
        if self._left:
            self._work_ns = elapsed_ns + _SENT_NS
            return self._left.pop()
        if not self._unanswered:
            return Exhausted()
        if elapsed_ns < self._work_ns:
            return Wait(self._work_ns)
        return Exhausted() if next(self._work, NO_WORK) is NO_WORK else Wait(elapsed_ns)

    def ended(self, request: Request, elapsed_ns: int, reply: Callable[[], str]) -> None:  # noqa: ARG002  (the port's)
        """Count down; nothing else follows from an answer."""
        self._unanswered -= 1


def list_models(server: Server, wording: Wording, *, optional: bool) -> Mapping[str, Any]:
    """Ask what is served.

    Args:
        server: Where.
        wording: Writes the request.
        optional: Whether a server without such a list will do, since the model was named.

    Raises:
        RemoteError: The endpoint cannot be reached, or gives no list.
    """
    try:
        reply = ask(server, wording.plain("GET", "/v1/models"), timeout_s=_ANSWER_S)
    except (OSError, MalformedResponseError) as error:
        raise RemoteError(
            f"{server.address} cannot be reached: {explain(error)}",
            hint="Start the server, or check the address and the port.",
        ) from error
    if reply.status in {_UNAUTHORIZED, _FORBIDDEN}:
        raise _no_access(server, reply.status)
    if reply.status == _NOT_FOUND and optional:
        return {}
    if reply.status == _NOT_FOUND:
        raise RemoteError(
            f"{server.address} has no list of models (404)",
            hint="Name the model with --model, if the address is that of an OpenAI-compatible server.",
        )
    return _document(f"{server.address}/v1/models", reply)


def choose_model(listing: Mapping[str, Any], model: str) -> str:
    """Choose among what is listed: the model that was named, or the only one.

    Raises:
        InputError: It is not served, or has to be named.
        RemoteError: Nothing is listed.
    """
    entries = [entry for entry in _as_list(listing.get("data")) if isinstance(entry, Mapping)]
    names = [name for entry in entries if isinstance(name := entry.get("id"), str)]
    if model:
        also = [alias for entry in entries for alias in _as_list(entry.get("aliases"))]
        if names and model not in (*names, *also):
            raise InputError(f"no model {model!r} is served there", hint=f"Use one of: {_named(names)}.")
        return model
    if not names:
        raise RemoteError("the endpoint lists no model", hint="Load one, or name it with --model.")
    if len(names) > 1:
        raise InputError(f"{len(names)} models are served there: {_named(names)}", hint="Choose one with --model.")
    return names[0]


def _named(names: Sequence[str]) -> str:
    return ", ".join((*names[:_NAMED], "...") if len(names) > _NAMED else names)


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _document(where: str, reply: Reply) -> Mapping[str, Any]:
    if reply.status != _OK:
        text = printable(reply.body.decode(errors="replace"))[:200]
        raise RemoteError(
            f"{where} answered {reply.status}: {text}".removesuffix(": "),
            hint="Wait until the server is ready; check that it is an OpenAI-compatible one.",
        )
    try:
        document = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteError(
            f"{where} did not answer JSON", hint="Check that it is an OpenAI-compatible server."
        ) from error
    if not isinstance(document, Mapping):
        raise RemoteError(f"{where} did not answer a JSON object", hint="Check that it is an OpenAI-compatible server.")
    return document


def _no_access(server: Server, status: int) -> RemoteError:
    return RemoteError(
        f"{server.address} refuses access ({status})",
        hint="Name the variable that holds the key: --api-key-env VARIABLE.",
    )
