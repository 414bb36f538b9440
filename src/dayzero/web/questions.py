"""Questions that only a live catalog answers, as pages that need no script: find, compare, does my system fit?"""

from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from dayzero.adapters.site.render import render_compare, render_find, render_fit
from dayzero.catalog.comparison import compare
from dayzero.catalog.paths import edition_folder
from dayzero.core.errors import InputError
from dayzero.web.answers import HTML, Document
from dayzero.web.places import edition_at, edition_named, shelf_of
from dayzero.web.query import LISTS, CompareQuery, FitQuery, PageQuery, given
from dayzero.wiring.catalog_live import LiveCatalog


def question_routes(live: LiveCatalog) -> APIRouter:
    """Give the routes."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/find")
    def find(request: Request) -> Response:
        asked = PageQuery.model_validate(given(request.query_params, lists=LISTS))
        now = live.now()
        page = render_find(now.site, shelf_of(now, asked.filter(), asked.offset))
        return Document(content=page, kind=HTML).answer(request)

    @routes.get("/compare")
    def side_by_side(request: Request) -> Response:
        asked = CompareQuery.model_validate(given(request.query_params))
        now = live.now()
        comparison = compare(edition_named(now, asked.a), edition_named(now, asked.b))
        return Document(content=render_compare(now.site, comparison, "compare"), kind=HTML).answer(request)

    @routes.get("/packages/{name}/{version}/fit")
    def fit(name: str, version: str, request: Request) -> Response:
        now = live.now()
        edition = edition_at(now, name, version)
        asked = FitQuery.model_validate(given(request.query_params))
        path = f"{edition_folder(name, edition.handle)}/fit"
        found, why, status = None, "", HTTPStatus.OK
        try:
            found = now.fit(edition, asked.gpu, asked.count)
        except InputError as error:
            why, status = f"{error.message}. {error.hint}", HTTPStatus.UNPROCESSABLE_ENTITY
        page = render_fit(now.site, edition, path, gpu=asked.gpu, count=asked.count, fit=found, why=why)
        return Document(content=page, kind=HTML).answer(request, status)

    return routes
