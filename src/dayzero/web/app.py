"""The live catalog as an application: the paths of the static site, and questions that only a server answers."""

from functools import cache
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp

from dayzero.adapters.site.render import assets
from dayzero.catalog.paths import INDEX, INDEX_ENVELOPE, OPENAPI
from dayzero.web.answers import Document, kind_of
from dayzero.web.api import api_routes
from dayzero.web.errors import NoAnswerError, nothing_here, register
from dayzero.web.headers import EveryAnswer
from dayzero.web.kept import Pages
from dayzero.web.market.intake import SmallBodies
from dayzero.web.market.routes import add_market
from dayzero.web.openapi import openapi_bytes
from dayzero.web.questions import question_routes
from dayzero.wiring.catalog_live import LiveCatalog, open_live
from dayzero.wiring.catalog_source import Places
from dayzero.wiring.storefront import Storefront


def create_app(places: Places, database: str | Path) -> ASGIApp:
    """Make the application that serves the catalog of some places.

    Args:
        places: Where definitions, evidence and kits lie.
        database: Where the search index lies: a file for SQLite, or a URL of PostgreSQL.

    Raises:
        InputError: There is no package, or the database is none that is known.
        RemoteError: The database does not answer.
    """
    return app_of(open_live(places, database))


def app_of(live: LiveCatalog, front: Storefront | None = None) -> ASGIApp:
    """Make the application that serves a live catalog.

    Args:
        live: The catalog.
        front: The market beside it, ``None`` for none.
    """
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    register(app)
    pages = Pages(live)
    api = api_routes(pages)
    app.include_router(api)
    app.include_router(question_routes(live))
    parts = [api] if front is None else [api, add_market(app, front)]
    described = cache(lambda: openapi_bytes(*parts))  # takes as long as the rest of a start, and few ask for it
    files = assets()

    @app.get("/{path:path}", include_in_schema=False)
    def site(path: str, request: Request) -> Response:
        if path == OPENAPI:
            return Document(content=described(), kind=kind_of(path)).answer(request)
        if path in files:
            return Document(content=files[path], kind=kind_of(path)).answer(request)
        if path in {INDEX, INDEX_ENVELOPE}:
            raise nothing_here("a live catalog is not signed as a whole; a static site is")
        try:
            return pages.at(path).answer(request)
        except NoAnswerError as problem:
            if problem.status is HTTPStatus.NOT_FOUND and pages.has(f"{path}/"):
                return RedirectResponse(f"./{quote(path.rpartition('/')[2], safe='')}/", HTTPStatus.PERMANENT_REDIRECT)
            raise

    return EveryAnswer(SmallBodies(app))
