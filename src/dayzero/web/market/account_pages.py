"""Sign up, in and out; the account with its orders, rights, downloads, credit and tokens."""

import re
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from dayzero.identity import token
from dayzero.identity.errors import TurnedAwayError
from dayzero.identity.model import TOKEN_DAYS, Scope
from dayzero.identity.password import LONGEST, SHORTEST
from dayzero.identity.sign_in import begin_session, check_password, end_session, set_password
from dayzero.market.holdings import holdings
from dayzero.web.errors import NoAnswerError
from dayzero.web.market.reception import Form, Guest, Reception
from dayzero.wiring.storefront import account_id_of, sign_up

_OURS: Final = re.compile(r"(?:market|account)/[A-Za-z0-9._+/-]{0,300}")
_AGAIN: Final = frozenset({"sign-in-failed", "password-unfit"})
_LONGEST_LABEL: Final = 100


def account_routes(reception: Reception) -> APIRouter:
    """Give the routes."""
    routes = APIRouter(include_in_schema=False)
    _coming(routes, reception)
    _going(routes, reception)
    _account(routes, reception)
    _password(routes, reception)
    _tokens(routes, reception)
    return routes


def _coming(routes: APIRouter, reception: Reception) -> None:
    front = reception.front

    @routes.get("/account/sign-in")
    def sign_in_page(request: Request) -> Response:
        return _sign_in_page(reception, request, reception.guest(request), request.query_params.get("next", ""))

    @routes.post("/account/sign-in")
    def sign_in(request: Request, form: Annotated[Form, Depends(reception.form)]) -> Response:
        guest = reception.guest(request)
        reception.check(guest, form)
        name, after = form.one("name").strip(), form.one("next")
        reception.spend(request, front.limits.sign_in_address)
        reception.spend(request, front.limits.sign_in_account, _tried(name))
        account_id = account_id_of(front.market, name)
        try:
            check_password(front.identity, account_id, form.one("password"))
        except TurnedAwayError as error:
            return _sign_in_page(reception, request, guest, after, name=name, error=error)
        end_session(front.identity, guest.secret)
        secret = begin_session(front.identity, account_id)
        return reception.go(request, _after(after), secret=secret)

    @routes.get("/account/sign-up")
    def sign_up_page(request: Request) -> Response:
        return _sign_up_page(reception, request, reception.guest(request), request.query_params.get("next", ""))

    @routes.post("/account/sign-up")
    def open_account(request: Request, form: Annotated[Form, Depends(reception.form)]) -> Response:
        guest = reception.guest(request)
        reception.check(guest, form)
        reception.spend(request, front.limits.sign_up)
        after = form.one("next")
        try:
            name, account_id = sign_up(front, _chosen(form))
        except TurnedAwayError as error:
            return _sign_up_page(reception, request, guest, after, error=error)
        end_session(front.identity, guest.secret)
        secret = begin_session(front.identity, account_id)
        known = Guest(secret=secret, account_id=account_id, new=False)
        return reception.page(request, known, "welcome", {"name": name, "after": _after(after)}, secret=secret)


def _tried(name: str) -> str:
    """Say whose tries are counted, in whatever letters the name is written."""
    return f"name {name.lower()}"


def _chosen(form: Form) -> str:
    """Give the password that was written twice."""
    if form.one("password") != form.one("again"):
        raise TurnedAwayError("password-unfit", "the two passwords differ", hint="Write the same one twice.")
    return form.one("password")


def _sign_in_page(  # noqa: PLR0913  (what the page shows)
    reception: Reception,
    request: Request,
    guest: Guest,
    after: str,
    *,
    name: str = "",
    error: TurnedAwayError | None = None,
) -> Response:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK
    shown = {"after": _after(after, ""), "name": name, "error": error}
    return reception.page(request, guest, "sign_in", shown, status=status)


def _sign_up_page(
    reception: Reception, request: Request, guest: Guest, after: str, *, error: TurnedAwayError | None = None
) -> Response:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK
    shown = {"after": _after(after, ""), "shortest": SHORTEST, "longest": LONGEST, "error": error}
    return reception.page(request, guest, "sign_up", shown, status=status)


def _after(asked: str, otherwise: str = "account/") -> str:
    """Give where to go on to: a page of the market or the account, never another place."""
    return asked if _OURS.fullmatch(asked) and ".." not in asked and "//" not in asked else otherwise


def _going(routes: APIRouter, reception: Reception) -> None:
    front = reception.front

    @routes.post("/account/sign-out")
    def sign_out(request: Request, form: Annotated[Form, Depends(reception.form)]) -> Response:
        guest = reception.guest(request)
        reception.check(guest, form)
        if guest.account_id and form.one("everywhere"):
            front.identity.register.drop("session", account_id=guest.account_id)
        end_session(front.identity, guest.secret)
        return reception.go(request, "account/sign-in", secret=front.identity.secret())


def _account(routes: APIRouter, reception: Reception) -> None:
    front = reception.front

    @routes.get("/account/")
    def account(request: Request) -> Response:
        guest = reception.signed_in(request)
        shown = {
            "held": holdings(front.market, guest.account_id),
            "tokens": token.tokens(front.identity, guest.account_id),
            "now": front.identity.now_s(),
            "token_days": TOKEN_DAYS,
        }
        return reception.page(request, guest, "account", shown)

    @routes.get("/account")
    def without_slash(request: Request) -> Response:
        return reception.go(request, "account/")


def _password(routes: APIRouter, reception: Reception) -> None:
    front = reception.front

    @routes.get("/account/password")
    def password_page(request: Request) -> Response:
        return _password_page(reception, request, reception.signed_in(request))

    @routes.post("/account/password")
    def change(request: Request, form: Annotated[Form, Depends(reception.form)]) -> Response:
        guest = reception.signed_in(request)
        reception.check(guest, form)
        held = holdings(front.market, guest.account_id)
        reception.spend(request, front.limits.sign_in_account, _tried(held.name))
        try:
            check_password(front.identity, guest.account_id, form.one("now"))
            set_password(front.identity, guest.account_id, held.name, _chosen(form))
        except TurnedAwayError as error:
            if error.code not in _AGAIN:
                raise
            return _password_page(reception, request, guest, error)
        return reception.go(request, "account/", secret=begin_session(front.identity, guest.account_id))


def _password_page(
    reception: Reception, request: Request, guest: Guest, error: TurnedAwayError | None = None
) -> Response:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK
    name = holdings(reception.front.market, guest.account_id).name
    shown = {"name": name, "shortest": SHORTEST, "longest": LONGEST, "error": error}
    return reception.page(request, guest, "password", shown, status=status)


def _tokens(routes: APIRouter, reception: Reception) -> None:
    front = reception.front

    @routes.post("/account/tokens")
    def issue(request: Request, form: Annotated[Form, Depends(reception.form)]) -> Response:
        guest = reception.signed_in(request)
        reception.check(guest, form)
        reception.spend(request, front.limits.token, guest.account_id)
        label = form.one("label").strip()
        if not 0 < len(label) <= _LONGEST_LABEL:
            raise NoAnswerError(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f"a token has a name of 1 to {_LONGEST_LABEL} characters",
                hint="Go back, and say what it is for.",
            )
        scopes: tuple[Scope, ...] = ("read", "buy") if form.one("scope") == "buy" else ("read",)
        secret, made = token.issue(front.identity, guest.account_id, label, scopes)
        return reception.page(request, guest, "token", {"token": made, "shown_once": secret})

    @routes.post("/account/tokens/revoke")
    def revoke(request: Request, form: Annotated[Form, Depends(reception.form)]) -> Response:
        guest = reception.signed_in(request)
        reception.check(guest, form)
        token.revoke(front.identity, guest.account_id, form.one("id"))
        return reception.go(request, "account/#tokens")
