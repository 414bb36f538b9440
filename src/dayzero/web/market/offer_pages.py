"""What is on offer, the licence as it is signed, and the order that is placed with it."""

from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from dayzero.adapters.site.market import render_market
from dayzero.core.errors import RemoteError
from dayzero.market.errors import RefusedError
from dayzero.market.model import CREDIT, Purchase, Signing
from dayzero.market.offers import Deal, deal, offers, offers_of, terms_text
from dayzero.market.rows import text
from dayzero.web.answers import HTML, TEXT, Document, Keep
from dayzero.web.errors import NoAnswerError
from dayzero.web.market.reception import Form, Guest, Reception
from dayzero.wiring.catalog_live import LiveCatalog
from dayzero.wiring.storefront import Storefront, open_payment, place_order

Id = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
Name = Annotated[str, Path(pattern="^[A-Za-z0-9][A-Za-z0-9._+-]{0,199}$")]

MOST_NAME: Final = 300
_FIX: Final = frozenset({"signature-unfit", "signature-required"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a buyer wrote into the licence page.

    Attributes:
        entity, signer, authority: Who is bound, who signs, and by what authority.
        terms_sha256: The text that was shown.
        affirmations: The digests of what was affirmed.
        provider: Where the money is to come from.
        key: Names the request, so that pressing twice buys once.
    """

    entity: str
    signer: str
    authority: str
    terms_sha256: str
    affirmations: tuple[str, ...]
    provider: str
    key: str


def offer_routes(reception: Reception) -> APIRouter:
    """Give the routes."""
    routes = APIRouter(include_in_schema=False)
    _shelves(routes, reception.front)
    _licence(routes, reception)
    _order(routes, reception)
    return routes


def _shelves(routes: APIRouter, front: Storefront) -> None:
    market = front.market

    @routes.get("/market/")
    def everything(request: Request) -> Response:
        return _public(front.live, request, "market", offers=offers(market))

    @routes.get("/market")
    def without_slash() -> Response:
        return RedirectResponse("market/", HTTPStatus.PERMANENT_REDIRECT)

    @routes.get("/market/packages/{name}")
    def package(name: Name, request: Request) -> Response:
        return _public(front.live, request, "offer", offered=offers_of(market, name), listed=_listed(front.live, name))

    @routes.get("/market/terms/{terms_id}.txt")
    def terms(terms_id: Id, request: Request) -> Response:
        body = text(terms_text(market, terms_id).terms, "body").encode()
        return Document(content=body, kind=TEXT, keep=Keep.FOREVER).answer(request)


def _public(live: LiveCatalog, request: Request, template: str, **values: object) -> Response:
    """Answer with a page that is the same for everybody."""
    content = render_market(live.now().site, template, request.url.path[1:], **values)
    return Document(content=content, kind=HTML).answer(request)


def _listed(live: LiveCatalog, name: str) -> frozenset[str]:
    """Say which versions of a package have a page in the catalog."""
    return frozenset(handle for package, handle in live.now().editions if package == name)


def _licence(routes: APIRouter, reception: Reception) -> None:
    front = reception.front

    @routes.get("/market/prices/{tier_id}")
    def licence_page(tier_id: Id, request: Request) -> Response:
        guest = reception.signed_in(request)
        found = deal(front.market, guest.account_id, tier_id)
        empty = Written(
            entity="", signer="", authority="", terms_sha256="", affirmations=(), provider="", key=front.market.new_id()
        )
        return _licence_page(reception, request, guest, found, empty)

    @routes.post("/market/prices/{tier_id}/check")
    def check(tier_id: Id, request: Request, form: Annotated[Form, Depends(reception.form)]) -> Response:
        guest = reception.signed_in(request)
        reception.check(guest, form)
        found, written = deal(front.market, guest.account_id, tier_id), _written(form)
        faults = _faults(found, written, front)
        if faults:
            return _licence_page(reception, request, guest, found, written, faults)
        return reception.page(request, guest, "confirm", {"deal": found, "written": written})


def _licence_page(  # noqa: PLR0913, PLR0917  (what the page shows)
    reception: Reception,
    request: Request,
    guest: Guest,
    found: Deal,
    written: Written,
    faults: tuple[tuple[str, str], ...] = (),
) -> Response:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if faults else HTTPStatus.OK
    shown = {
        "deal": found,
        "written": written,
        "faults": faults,
        "providers": _providers(found, reception.front),
        "most": MOST_NAME,
    }
    return reception.page(request, guest, "licence", shown, status=status)


def _order(routes: APIRouter, reception: Reception) -> None:
    front = reception.front

    @routes.post("/market/prices/{tier_id}/order")
    def order(tier_id: Id, request: Request, form: Annotated[Form, Depends(reception.form)]) -> Response:
        guest = reception.signed_in(request)
        reception.check(guest, form)
        reception.spend(request, front.limits.buy_address)
        reception.spend(request, front.limits.buy_account, guest.account_id)
        try:
            placed = place_order(front, _purchase(guest.account_id, tier_id, _written(form)))
        except RefusedError as error:
            if error.code not in _FIX:
                raise
            found = deal(front.market, guest.account_id, tier_id)
            return _licence_page(reception, request, guest, found, _written(form), (("", error.message),))
        if placed.state == "pending":
            with suppress(RemoteError):  # the order's page asks again
                open_payment(front, placed)
        return reception.go(request, f"account/orders/{placed.id}")


def _purchase(account_id: str, tier_id: str, written: Written) -> Purchase:
    if not 0 < len(written.key) <= 255:  # noqa: PLR2004  (as long as a key may be)
        raise NoAnswerError(
            HTTPStatus.UNPROCESSABLE_ENTITY, "the form has no key", hint="Open the page again, and send it from there."
        )
    signing = Signing(
        terms_sha256=written.terms_sha256,
        entity=written.entity,
        signer=written.signer,
        authority=written.authority,
        affirmations=written.affirmations,
    )
    return Purchase(
        account_id=account_id,
        key=written.key,
        tier_id=tier_id,
        provider=written.provider or CREDIT,
        signing=signing if written.terms_sha256 else None,
    )


def _written(form: Form) -> Written:
    return Written(
        entity=form.one("entity").strip()[:MOST_NAME],
        signer=form.one("signer").strip()[:MOST_NAME],
        authority=form.one("authority").strip()[:MOST_NAME],
        terms_sha256=form.one("terms_sha256"),
        affirmations=tuple(value for n in range(1, 100) for value in form.every(f"affirmation_{n}")),
        provider=form.one("provider"),
        key=form.one("key"),
    )


def _providers(found: Deal, front: Storefront) -> tuple[str, ...]:
    return tuple(name for name in found.providers if name in front.providers)


def _faults(found: Deal, written: Written, front: Storefront) -> tuple[tuple[str, str], ...]:
    """Say what keeps an order from being placed, each with the field that it is about."""
    faults: list[tuple[str, str]] = []
    if found.offer is not None:
        for name, words in (
            ("entity", "Name the licensed entity."),
            ("signer", "Name the signer."),
            ("authority", "Say by what authority the signer binds the entity."),
        ):
            if not getattr(written, name):
                faults.append((name, words))
        if written.terms_sha256 != found.offer.terms["sha256"]:
            faults.append(("", "The terms are other ones than were shown; read them again."))
        for number, row in enumerate(found.offer.affirmations, start=1):
            if row["sha256"] not in written.affirmations:
                faults.append((f"affirmation_{number}", f"The affirmation on {row['kind']} was not made."))
    if written.provider not in {CREDIT, *_providers(found, front)}:
        faults.append(("provider", "Choose how it is paid."))
    elif written.provider == CREDIT and found.credit_minor < found.price.amount_minor:
        faults.append(("provider", "The credit of this account does not cover it."))
    return tuple(faults)
