"""The market as an API: what the pages do, for programs that show a token."""

from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Header, Path, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import Request
from starlette.responses import Response

from dayzero.core.errors import IntegrityError
from dayzero.identity.model import Scope
from dayzero.identity.token import token_of
from dayzero.market.errors import RefusedError
from dayzero.market.holdings import holdings, receipt
from dayzero.market.model import Purchase, Signing
from dayzero.market.offers import offers, offers_of, terms_text
from dayzero.market.settlement import receive
from dayzero.web.answers import JSON, Document, Keep
from dayzero.web.errors import MARKET_API, PROBLEM, NoAnswerError
from dayzero.web.market import documents, schemas
from dayzero.web.market.order_pages import handed_out
from dayzero.web.market.reception import Reception
from dayzero.web.schemas import Shape
from dayzero.wiring.site import as_bytes
from dayzero.wiring.storefront import Storefront, licensed_copy, open_payment, place_order

Id = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
Name = Annotated[str, Path(pattern="^[A-Za-z0-9][A-Za-z0-9._+-]{0,199}$", description="Name of the package.")]
Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[!-~]{1,255}$",
        description="A word of your own for this request, kept before it is sent: the same request with the same key is done once.",
    ),
]
_Responses = dict[int | str, dict[str, object]]
_BEARER: Final = HTTPBearer(
    auto_error=False, description="An API token of the account's page, with the scope `read` or `buy`."
)
_WORDS: Final = {
    400: "The body is no text.",
    401: "No token is shown, or it does not count.",
    402: "The credit does not cover it.",
    403: "The token or the account may not do this.",
    404: "There is no such thing, or it is another account's.",
    409: "It cannot be done any more.",
    413: "The body is too large.",
    422: "The request cannot be used; nothing was recorded.",
    429: "It was tried too often; `Retry-After` says when to try again.",
    503: "The database, the provider or the kit cannot be reached now.",
}


def _answers(model: type[Shape], *codes: int) -> _Responses:
    problems: _Responses = {
        code: {
            "description": _WORDS[code],
            "content": {PROBLEM: {"schema": schemas.Problem.model_json_schema()}},
        }
        for code in (*codes, 503)
    }
    return {200: {"model": model}, **problems}


def market_api_routes(reception: Reception) -> APIRouter:
    """Give the routes."""
    routes = APIRouter(prefix=MARKET_API.rstrip("/"), default_response_class=Response)
    who = Bearer(reception)
    _public(routes, reception.front)
    _account(routes, reception.front, who)
    _orders(routes, reception, who)
    _downloads(routes, reception, who)
    _deliveries(routes, reception.front)
    return routes


class Bearer:
    """Says which account a program speaks for.

    Args:
        reception: Where tokens are known.
    """

    def __init__(self, reception: Reception) -> None:
        self._reception = reception

    def account(self, shown: HTTPAuthorizationCredentials | None, scope: Scope) -> str:
        """Give the account's id.

        Raises:
            NoAnswerError: No token is shown, it does not count, or it may not do this.
        """
        token = token_of(self._reception.front.identity, shown.credentials) if shown else None
        if token is None:
            raise NoAnswerError(
                HTTPStatus.UNAUTHORIZED,
                "no token that counts was shown",
                hint="Send 'Authorization: Bearer dz_...' with a token of your account's page.",
                code="unauthorized",
                headers={"WWW-Authenticate": "Bearer"},
            )
        if scope not in token.scopes:
            raise NoAnswerError(
                HTTPStatus.FORBIDDEN,
                f"this token may not {scope}",
                hint="Make a token that may buy.",
                code="insufficient-scope",
                headers={"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'},
            )
        return token.account_id


Shown = Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]


def _json(request: Request, document: object, keep: Keep = Keep.NEVER) -> Response:
    return Document(content=as_bytes(document), kind=JSON, keep=keep).answer(request)


def _public(routes: APIRouter, front: Storefront) -> None:
    @routes.get("/offers", responses=_answers(schemas.Offers))
    def every_offer(request: Request) -> Response:
        """What is on offer, at which prices, and whether a licence is signed."""
        said = {
            "schema": "dayzero/market-offers/v1",
            "packages": [documents.offered(found) for found in offers(front.market)],
        }
        return _json(request, said, Keep.ASK)

    @routes.get("/offers/{name}", responses=_answers(schemas.Offers, 404, 422))
    def one_offer(name: Name, request: Request) -> Response:
        """What a package is sold at."""
        said = {
            "schema": "dayzero/market-offers/v1",
            "packages": [documents.offered(offers_of(front.market, name))],
        }
        return _json(request, said, Keep.ASK)

    @routes.get("/terms/{terms_id}", responses=_answers(schemas.Terms, 404, 422))
    def terms(terms_id: Id, request: Request) -> Response:
        """Terms of a licence, the exact text, and what is affirmed."""
        return _json(request, documents.terms(terms_text(front.market, terms_id)), Keep.ASK)


def _account(routes: APIRouter, front: Storefront, who: Bearer) -> None:
    @routes.get("/account", responses=_answers(schemas.Account, 401, 403))
    def account(request: Request, shown: Shown) -> Response:
        """The account: its credit, and what it may download."""
        return _json(request, documents.account(holdings(front.market, who.account(shown, "read"))))


def _orders(routes: APIRouter, reception: Reception, who: Bearer) -> None:
    front = reception.front

    @routes.get("/orders", responses=_answers(schemas.Orders, 401, 403))
    def orders(request: Request, shown: Shown) -> Response:
        """The orders of the account, newest first."""
        account_id = who.account(shown, "read")
        found = [receipt(front.market, account_id, one.order.id) for one in holdings(front.market, account_id).orders]
        said = {"schema": "dayzero/market-orders/v1", "orders": [documents.order(each) for each in found]}
        return _json(request, said)

    @routes.get("/orders/{order_id}", responses=_answers(schemas.Order, 401, 403, 404, 422))
    def one_order(order_id: Id, request: Request, shown: Shown) -> Response:
        """An order as it stands."""
        return _json(request, documents.order(receipt(front.market, who.account(shown, "read"), order_id)))

    @routes.post("/orders", responses=_answers(schemas.Order, 400, 401, 402, 403, 404, 409, 413, 422, 429))
    def place(wanted: schemas.Wanted, key: Key, request: Request, shown: Shown) -> Response:
        """Buy: the signature, the money and the right to use are recorded together. The same key gives the same order."""
        account_id = who.account(shown, "buy")
        reception.spend(request, front.limits.buy_address)
        reception.spend(request, front.limits.buy_account, account_id)
        placed = place_order(front, _purchase(account_id, key, wanted))
        return _json(request, documents.order(receipt(front.market, account_id, placed.id)))

    @routes.post("/orders/{order_id}/payment", responses=_answers(schemas.Order, 401, 403, 404, 409, 422, 429))
    def pay(order_id: Id, request: Request, shown: Shown) -> Response:
        """Open the provider's page on which an order that waits is paid; asked again, it is the same page: `pay_at`."""
        account_id = who.account(shown, "buy")
        reception.spend(request, front.limits.buy_account, account_id)
        placed = receipt(front.market, account_id, order_id).placed.order
        open_payment(front, placed)
        return _json(request, documents.order(receipt(front.market, account_id, order_id)))


def _purchase(account_id: str, key: str, wanted: schemas.Wanted) -> Purchase:
    said = wanted.signing
    signing = None
    if said is not None:
        signing = Signing(**{**said.model_dump(), "affirmations": tuple(said.affirmations)})
    return Purchase(account_id=account_id, key=key, tier_id=wanted.price, provider=wanted.provider, signing=signing)


def _downloads(routes: APIRouter, reception: Reception, who: Bearer) -> None:
    front = reception.front
    answers = _answers(schemas.Problem, 400, 401, 403, 404, 413, 422, 429)
    file: _Responses = {
        200: {"description": "The kit, and the document of its licence.", "content": {"application/zip": {}}}
    }

    @routes.post("/downloads", responses={**answers, **file})
    def take(wanted: schemas.Taken, request: Request, shown: Shown) -> Response:
        """Download a version that the account has a right to, with the document of its licence. It is recorded."""
        account_id = who.account(shown, "read")
        reception.spend(request, front.limits.download, account_id)
        return handed_out(licensed_copy(front, account_id, wanted.package, wanted.version))


async def _body(request: Request) -> bytes:
    return await request.body()


def _deliveries(routes: APIRouter, front: Storefront) -> None:
    Provider = Annotated[str, Path(pattern="^[a-z]{1,40}$")]  # noqa: N806  (a type)

    @routes.post(
        "/payments/{provider}/events",
        responses={**_answers(schemas.Received, 404, 413, 422), **_refused_delivery()},
    )
    def deliver(provider: Provider, request: Request, body: Annotated[bytes, Depends(_body)]) -> Response:
        """Take in a delivery of a payment provider, once its signature holds. For providers alone."""
        found = front.providers.get(provider)
        if found is None:
            raise RefusedError("unknown", "there is no such provider here", hint="See how the market is configured.")
        try:
            done = receive(front.market, found, body, request.headers)
        except IntegrityError as error:
            raise NoAnswerError(HTTPStatus.BAD_REQUEST, error.message, hint=error.hint, code="not-genuine") from error
        return _json(request, {"schema": "dayzero/market-delivery/v1", "effect": done.effect})


def _refused_delivery() -> _Responses:
    content: dict[str, object] = {PROBLEM: {"schema": schemas.Problem.model_json_schema()}}
    return {
        400: {"description": "The signature does not hold, or it is too old; nothing was recorded.", "content": content}
    }
