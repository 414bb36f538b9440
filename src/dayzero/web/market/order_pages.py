"""The receipt of an order, paying for one that waits, and the download of what was bought."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from dayzero.market.holdings import Receipt, receipt
from dayzero.market.order import read_order
from dayzero.web.answers import Keep
from dayzero.web.market.offer_pages import Id, Name
from dayzero.web.market.reception import Form, Guest, Reception
from dayzero.wiring.storefront import Copy, licensed_copy, open_payment


def order_routes(reception: Reception) -> APIRouter:
    """Give the routes."""
    routes = APIRouter(include_in_schema=False)
    front = reception.front

    @routes.get("/account/orders/{order_id}")
    def order(order_id: Id, request: Request) -> Response:
        guest = reception.signed_in(request)
        return _page(reception, request, guest, receipt(front.market, guest.account_id, order_id))

    @routes.post("/account/orders/{order_id}/pay")
    def pay(order_id: Id, request: Request, form: Annotated[Form, Depends(reception.form)]) -> Response:
        guest = reception.signed_in(request)
        reception.check(guest, form)
        reception.spend(request, front.limits.buy_account, guest.account_id)
        placed = read_order(front.market, guest.account_id, order_id)
        if placed.state == "pending":
            open_payment(front, placed)
        return reception.go(request, f"account/orders/{order_id}")

    @routes.post("/account/downloads/{name}/{version}")
    def take(name: Name, version: Name, request: Request, form: Annotated[Form, Depends(reception.form)]) -> Response:
        guest = reception.signed_in(request)
        reception.check(guest, form)
        reception.spend(request, front.limits.download, guest.account_id)
        return handed_out(licensed_copy(front, guest.account_id, name, version))

    return routes


def handed_out(copy: Copy) -> Response:
    """Answer with a copy of a kit, as a file to be kept."""
    headers = {
        "Cache-Control": Keep.NEVER.value,
        "Content-Disposition": f'attachment; filename="{copy.name}"',
    }
    return Response(copy.content, HTTPStatus.OK, headers, "application/zip")


def _page(reception: Reception, request: Request, guest: Guest, found: Receipt) -> Response:
    waits = found.placed.order.state == "pending"
    payable = waits and found.placed.order.provider in reception.front.providers
    return reception.page(request, guest, "order", {"receipt": found, "payable": payable})
