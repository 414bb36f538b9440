"""Put the market's pages and its API into the catalog's application."""

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import Response

from dayzero.web.market.account_pages import account_routes
from dayzero.web.market.api import market_api_routes
from dayzero.web.market.offer_pages import offer_routes
from dayzero.web.market.order_pages import order_routes
from dayzero.web.market.reception import Reception, SignInFirstError
from dayzero.wiring.storefront import Storefront


def add_market(app: FastAPI, front: Storefront) -> APIRouter:
    """Add the market to an application.

    Returns:
        The routes of its API, for the description.
    """
    reception = Reception(front)
    app.state.market = True
    api = market_api_routes(reception)
    for routes in (api, account_routes(reception), offer_routes(reception), order_routes(reception)):
        app.include_router(routes)

    async def sign_in_first(request: Request, error: Exception) -> Response:
        return reception.sign_in_first(request, error.path if isinstance(error, SignInFirstError) else "")

    app.add_exception_handler(SignInFirstError, sign_in_first)
    return api
