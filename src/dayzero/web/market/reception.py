"""Who stands before a page: the cookie, the form and where it was sent from, and how an answer about an account looks.

A form counts where a browser says that it was sent from a page of this origin (``Sec-Fetch-Site``, ``Origin``), and where it holds
the token that only a page shown to this very browser can hold: it is made of the secret in the browser's cookie. At sign-in the
secret changes, so that nobody who knew it before knows it afterwards.
"""

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from dayzero.adapters.site.market import render_market
from dayzero.adapters.site.place import Site, up
from dayzero.identity.limit import spend
from dayzero.identity.model import SESSION_S, Limit
from dayzero.identity.sign_in import session_of
from dayzero.web.answers import HTML, Keep
from dayzero.web.errors import NoAnswerError
from dayzero.wiring.storefront import Storefront

FORM: Final = "application/x-www-form-urlencoded"
_FIELDS, _BODY = 100, 64 * 1024
_IPV6_HOME: Final = 64
_SITE: Final = Site(pages={}, names=frozenset(), as_of="", live=True, market=True)
_PRIVATE: Final[Mapping[str, str]] = {"Cache-Control": Keep.NEVER.value, "Referrer-Policy": "same-origin"}
_TLS: Final[Mapping[str, str]] = {"Strict-Transport-Security": "max-age=31536000"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """A browser.

    Attributes:
        secret: What its cookie holds.
        account_id: As whom it is signed in, ``""`` for nobody.
        new: Whether it has no cookie yet.
    """

    secret: str
    account_id: str
    new: bool

    @property
    def form_token(self) -> str:
        """What each form shown to it holds."""
        return sha256(f"form:{self.secret}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Form:
    """A form that was sent."""

    fields: Mapping[str, tuple[str, ...]]

    def one(self, name: str) -> str:
        """Give the value of a field, ``""`` where it was left out."""
        return next(iter(self.fields.get(name, ())), "")

    def every(self, name: str) -> tuple[str, ...]:
        """Give all values of a field."""
        return self.fields.get(name, ())


class SignInFirstError(Exception):
    """Somebody has to sign in before this is shown.

    Args:
        path: Where to go on to, without ``/`` at its beginning; ``""`` for the account.
    """

    def __init__(self, path: str = "") -> None:
        super().__init__(path)
        self.path = path


class Reception:
    """Receives browsers.

    Args:
        front: What they come to.
    """

    def __init__(self, front: Storefront) -> None:
        self.front = front

    def guest(self, request: Request) -> Guest:
        """Say which browser it is, and whether it is signed in."""
        secret = request.cookies.get(self._cookie(request), "")
        session = session_of(self.front.identity, secret)
        if session is not None:
            return Guest(secret=secret, account_id=session.account_id, new=False)
        known = 20 <= len(secret) <= 100  # noqa: PLR2004  (a secret of ours, whose session is over or did not begin)
        return Guest(secret=secret if known else self.front.identity.secret(), account_id="", new=not known)

    def signed_in(self, request: Request) -> Guest:
        """Say who is signed in.

        Raises:
            SignInFirstError: Nobody is.
        """
        guest = self.guest(request)
        if not guest.account_id:
            raise SignInFirstError(request.url.path.lstrip("/") if request.method == "GET" else "")
        return guest

    async def form(self, request: Request) -> Form:
        """Read a form that was sent from a page of this origin.

        Raises:
            NoAnswerError: It was sent from elsewhere, or it is no form.
        """
        self._check_origin(request)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
            raise NoAnswerError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "this is no form", hint="Send the form of the page.")
        body = await request.body()
        try:
            pairs = parse_qsl(
                body.decode("ascii"), keep_blank_values=True, max_num_fields=_FIELDS, errors="strict", encoding="utf-8"
            )
        except ValueError as error:
            raise _unreadable() from error
        if len(body) > _BODY or any("\0" in part for pair in pairs for part in pair):
            raise _unreadable()
        fields: dict[str, tuple[str, ...]] = {}
        for name, value in pairs:
            fields[name] = (*fields.get(name, ()), value.replace("\r\n", "\n"))
        return Form(fields)

    def check(self, guest: Guest, form: Form) -> None:
        """Hold a form to the browser that it was shown to.

        Raises:
            NoAnswerError: It was shown to another one, or before somebody signed in or out.
        """
        if not hmac.compare_digest(form.one("form_token").encode(), guest.form_token.encode()):
            raise NoAnswerError(
                HTTPStatus.FORBIDDEN,
                "this form was made for another visit",
                hint="Open the page again, and send the form from there; nothing was done.",
                code="form-token",
            )

    def page(  # noqa: PLR0913  (what an answer has)
        self,
        request: Request,
        guest: Guest,
        template: str,
        shown: Mapping[str, object],
        *,
        status: HTTPStatus = HTTPStatus.OK,
        secret: str = "",
    ) -> Response:
        """Answer with a page that is made for one browser.

        Args:
            request: What was asked.
            guest: Who asked.
            template: Which page.
            shown: What it shows.
            status: The status of HTTP.
            secret: What its cookie holds from now on, where that changes.
        """
        token = Guest(secret=secret or guest.secret, account_id="", new=False).form_token
        content = render_market(_SITE, template, request.url.path[1:], form_token=token, **shown)
        answer = Response(content, status, self._headers(request), HTML)
        if secret or guest.new:
            self.set_cookie(request, answer, secret or guest.secret)
        return answer

    def go(self, request: Request, path: str, *, secret: str = "") -> Response:
        """Send a browser on to another page, which it asks for with GET.

        Args:
            request: What was asked.
            path: Where, without ``/`` at its beginning.
            secret: What its cookie holds from now on, where that changes.
        """
        answer = RedirectResponse(up(request.url.path[1:]) + path, HTTPStatus.SEE_OTHER, self._headers(request))
        if secret:
            self.set_cookie(request, answer, secret)
        return answer

    def sign_in_first(self, request: Request, path: str) -> Response:
        """Send a browser to the page where somebody signs in, and on from there."""
        after = f"?next={quote(path, safe='')}" if path else ""
        return self.go(request, f"account/sign-in{after}")

    def spend(self, request: Request, limit: Limit, account: str = "") -> None:
        """Count one more try, of an account or of an address.

        Raises:
            TurnedAwayError: It was tried too often.
        """
        spend(self.front.identity, limit, account or address_of(request))

    def set_cookie(self, request: Request, answer: Response, secret: str) -> None:
        """Have a browser keep a secret: for this host alone, out of the reach of scripts, and of TLS where there is TLS."""
        answer.set_cookie(
            self._cookie(request),
            secret,
            max_age=SESSION_S,
            path="/",
            secure=self._secure(request),
            httponly=True,
            samesite="lax",
        )

    def _headers(self, request: Request) -> dict[str, str]:
        return {**_PRIVATE, **(_TLS if self._secure(request) else {})}

    def _check_origin(self, request: Request) -> None:
        site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
        own = self.front.origin or f"{request.url.scheme}://{request.headers.get('host', '')}"
        said = site is not None or origin is not None
        if not said or site not in {None, "same-origin"} or (origin is not None and origin.lower() != own.lower()):
            raise NoAnswerError(
                HTTPStatus.FORBIDDEN,
                "this form was not sent from a page of this market",
                hint="Open the page here, and send the form from there; nothing was done.",
                code="other-origin",
            )

    def _secure(self, request: Request) -> bool:
        return (self.front.origin or request.url.scheme).startswith("https")

    def _cookie(self, request: Request) -> str:
        return "__Host-dayzero" if self._secure(request) else "dayzero"


def address_of(request: Request) -> str:
    """Name the network that a request comes from: an IPv4 address, or the first half of one of IPv6."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:  # noqa: PLR2004
        return host
    return str(ipaddress.ip_network((address, _IPV6_HOME), strict=False))


def _unreadable() -> NoAnswerError:
    return NoAnswerError(
        HTTPStatus.UNPROCESSABLE_ENTITY, "the form cannot be read", hint="Send the form of the page, as text in UTF-8."
    )
