"""What an error looks like: a page with a hint for people, ``{"error": ..., "hint": ...}`` for programs; never a trace of code."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from http import HTTPStatus
from importlib import resources
from typing import Final

import jinja2
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from dayzero.adapters.site.environment import templates
from dayzero.adapters.site.place import At, Site, up
from dayzero.core.errors import DayzeroError, EvidenceError, InputError, IntegrityError, RemoteError
from dayzero.identity.errors import TurnedAwayCode, TurnedAwayError
from dayzero.market.errors import RefusalCode, RefusedError
from dayzero.web.answers import HTML, JSON, Keep
from dayzero.wiring.catalog_live import UnavailableError

MARKET_API, PROBLEM = "/api/v1/market/", "application/problem+json"
"""Where programs buy, and what they are told of an error in."""

Link = tuple[str, str]
"""Words, and a path of the site."""

_NOBODY: Final = Site(pages={}, names=frozenset(), as_of="", live=True)
_HEADINGS: Final = {
    HTTPStatus.PAYMENT_REQUIRED: "The credit does not cover it",
    HTTPStatus.FORBIDDEN: "This is not for this account",
    HTTPStatus.NOT_FOUND: "No such page",
    HTTPStatus.CONFLICT: "This cannot be done any more",
    HTTPStatus.TOO_MANY_REQUESTS: "Too many tries",
    HTTPStatus.METHOD_NOT_ALLOWED: "This cannot be done here",
    HTTPStatus.UNPROCESSABLE_ENTITY: "This cannot be answered as it was asked",
    HTTPStatus.SERVICE_UNAVAILABLE: "The catalog cannot be read now",
}
_REFUSALS: Final[Mapping[RefusalCode, HTTPStatus]] = {
    "unknown": HTTPStatus.NOT_FOUND,
    "insufficient-funds": HTTPStatus.PAYMENT_REQUIRED,
    "signature-required": HTTPStatus.UNPROCESSABLE_ENTITY,
    "signature-unfit": HTTPStatus.UNPROCESSABLE_ENTITY,
    "key-reused": HTTPStatus.UNPROCESSABLE_ENTITY,
    "not-on-offer": HTTPStatus.CONFLICT,
    "not-entitled": HTTPStatus.FORBIDDEN,
    "not-refundable": HTTPStatus.CONFLICT,
    "taken": HTTPStatus.CONFLICT,
    "refused-by-schema": HTTPStatus.UNPROCESSABLE_ENTITY,
}
_TURNED_AWAY: Final[Mapping[TurnedAwayCode, HTTPStatus]] = {
    "sign-in-failed": HTTPStatus.UNPROCESSABLE_ENTITY,
    "password-unfit": HTTPStatus.UNPROCESSABLE_ENTITY,
    "too-often": HTTPStatus.TOO_MANY_REQUESTS,
    "unknown": HTTPStatus.NOT_FOUND,
}
_UNKNOWN: Final = "Only parameters of the documented names are taken; openapi.json lists them."


class NoAnswerError(DayzeroError):
    """There is no answer to what was asked.

    Args:
        status: The status of HTTP.
        message: What went wrong.
        hint: What to do.
        links: Where to go instead.
        code: Which case, in a word that programs can rely on; ``""`` where the status says it all.
        headers: Further headers of the answer.
    """

    def __init__(  # noqa: PLR0913  (what an answer has)
        self,
        status: HTTPStatus,
        message: str,
        *,
        hint: str,
        links: Sequence[Link] = (),
        code: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status, self.links, self.code = status, tuple(links), code
        self.headers = headers or {}


def register(app: FastAPI) -> None:
    """Have an application answer errors in this way."""
    app.add_exception_handler(NoAnswerError, _handler(_problem))
    app.add_exception_handler(DayzeroError, _handler(_ours))
    app.add_exception_handler(RequestValidationError, _handler(_refused))
    app.add_exception_handler(ValidationError, _handler(_refused))
    app.add_exception_handler(HTTPException, _handler(_http))
    app.add_exception_handler(Exception, _handler(_unforeseen))


def _handler(make: Callable[[Exception], NoAnswerError]) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handle(request: Request, error: Exception) -> Response:
        return _answer(request, make(error))

    return handle


def _problem(error: Exception) -> NoAnswerError:
    return error if isinstance(error, NoAnswerError) else _unforeseen(error)


def _ours(error: Exception) -> NoAnswerError:
    match error:
        case RefusedError():
            return NoAnswerError(_REFUSALS[error.code], error.message, hint=error.hint, code=error.code)
        case TurnedAwayError():
            wait = {"Retry-After": str(error.retry_after_s)} if error.retry_after_s else {}
            return NoAnswerError(
                _TURNED_AWAY[error.code], error.message, hint=error.hint, code=error.code, headers=wait
            )
        case InputError(message=message, hint=hint):
            return NoAnswerError(HTTPStatus.UNPROCESSABLE_ENTITY, message, hint=hint)
        case UnavailableError() | RemoteError() | IntegrityError() | EvidenceError():
            return NoAnswerError(HTTPStatus.SERVICE_UNAVAILABLE, error.message, hint=error.hint)
        case _:
            return _unforeseen(error)


def _refused(error: Exception) -> NoAnswerError:
    """Say what is wrong with the first parameter that is refused."""
    if not isinstance(error, RequestValidationError | ValidationError):
        return _unforeseen(error)
    first = error.errors()[0]
    names = [part for part in first["loc"] if isinstance(part, str) and part not in {"query", "path", "header", "body"}]
    if not names and "body" in first["loc"]:
        hint = "Send JSON as openapi.json describes it."
        return NoAnswerError(HTTPStatus.UNPROCESSABLE_ENTITY, "the body cannot be used", hint=hint)
    name = names[0] if names else "the query"
    if first["type"] == "extra_forbidden":
        return NoAnswerError(HTTPStatus.UNPROCESSABLE_ENTITY, f"there is no parameter {_short(name)}", hint=_UNKNOWN)
    said = str(first["msg"])
    hint = f"{said[:1].upper()}{said[1:]}." if said else _UNKNOWN
    return NoAnswerError(HTTPStatus.UNPROCESSABLE_ENTITY, f"the parameter {_short(name)} cannot be used", hint=hint)


def _short(name: str) -> str:
    return repr(name if len(name) <= 40 else f"{name[:40]}...")  # noqa: PLR2004  (enough to recognise it)


def _http(error: Exception) -> NoAnswerError:
    status = HTTPStatus(error.status_code) if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    match status:
        case HTTPStatus.NOT_FOUND:
            return nothing_here()
        case HTTPStatus.METHOD_NOT_ALLOWED:
            allowed = (error.headers or {}).get("Allow", "GET") if isinstance(error, HTTPException) else "GET"
            methods = "GET, HEAD" if allowed == "GET" else allowed
            said = "a catalog is only read" if allowed == "GET" else "this is asked for in another way"
            hint = f"Use {methods.replace(', ', ' or ')}."
            return NoAnswerError(status, said, hint=hint, headers={"Allow": methods})
        case _:
            return NoAnswerError(status, status.phrase.lower(), hint="See openapi.json for what can be asked.")


def _unforeseen(_: Exception) -> NoAnswerError:
    return NoAnswerError(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "the server failed at something that nobody foresaw",
        hint="The server's own log has the details; report them.",
    )


def nothing_here(what: str = "there is nothing at this address", links: Sequence[Link] = ()) -> NoAnswerError:
    """Say that something is not there, and where to look instead."""
    near = f"Near it: {', '.join(words for words, _ in links)}." if links else "Begin at the list of packages."
    return NoAnswerError(HTTPStatus.NOT_FOUND, what, hint=near, links=(*links, ("All packages", "index.html")))


def _answer(request: Request, problem: NoAnswerError) -> Response:
    headers = {"Cache-Control": Keep.NEVER.value, **problem.headers}
    if problem.status is HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = "5"
    if request.url.path.startswith(MARKET_API):
        return Response(_problem_document(problem), problem.status, headers, PROBLEM)
    if for_programs(request.url.path):
        body = json.dumps({"error": problem.message, "hint": problem.hint}, ensure_ascii=False) + "\n"
        return Response(body.encode("utf-8", "replace"), problem.status, headers, JSON)
    page = _template().render(
        at=At(replace(_NOBODY, market=getattr(request.app.state, "market", False)), up(request.url.path[1:])),
        current="",
        heading=_HEADINGS.get(problem.status, "An error"),
        error=problem.message,
        hint=problem.hint,
        links=problem.links,
    )
    return Response(page.encode("utf-8", "replace"), problem.status, headers, HTML)


def _problem_document(problem: NoAnswerError) -> bytes:
    """Write a problem as RFC 9457 has it; ``hint`` is ours."""
    said = {
        "type": f"urn:dayzero:problem:{problem.code}" if problem.code else "about:blank",
        "title": problem.status.phrase,
        "status": int(problem.status),
        "detail": problem.message,
        "hint": problem.hint,
    }
    return (json.dumps(said, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def for_programs(path: str) -> bool:
    """Say whether a program asks, which wants JSON also where something is wrong."""
    return path.startswith(("/api/", "/healthz", "/feeds/", "/evidence/")) or path.endswith(
        (".json", ".jsonld", ".toml")
    )


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    text = (resources.files("dayzero.web") / "templates" / "error.html.j2").read_text(encoding="utf-8")
    return templates().from_string(text)
