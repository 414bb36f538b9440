"""The API: JSON documents at the paths of the static site, and the questions that only a live catalog answers."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from dayzero.catalog.document import fit_document, summary_document
from dayzero.catalog.facets import Filter
from dayzero.catalog.paths import PACKAGES_DOCUMENT, RELEASES_FEED, RETRACTIONS_FEED
from dayzero.web import schemas
from dayzero.web.answers import JSON, Document, Keep
from dayzero.web.kept import Pages
from dayzero.web.places import edition_at
from dayzero.web.query import FitQuery, ListQuery, address_of
from dayzero.wiring.site import as_bytes

Name = Annotated[str, Path(description="Name of the package.", max_length=200)]
Handle = Annotated[
    str, Path(description="The version, or `draft` for a definition that is not released.", max_length=200)
]
Slug = Annotated[str, Path(description="Handle of the claim; its `/` may be written as `%2F`.", max_length=500)]
Digest = Annotated[str, Path(description="SHA-256 of the file, 64 hexadecimal digits.", pattern="^[0-9a-f]{64}$")]

_Responses = dict[int | str, dict[str, object]]

_BROKEN: Final[_Responses] = {
    503: {"model": schemas.Error, "description": "The catalog cannot be read as it lies there now."}
}
_NOT_THERE: Final[_Responses] = {
    404: {"model": schemas.Error, "description": "There is no such thing; the hint names what is near."}
}
_REFUSED: Final[_Responses] = {
    422: {"model": schemas.Error, "description": "A parameter cannot be used, or is not known."}
}
_NOT_MODIFIED: Final[_Responses] = {304: {"description": "The bytes are those of `If-None-Match`."}}


def _answers(model: type[schemas.Shape], *more: _Responses) -> _Responses:
    responses: _Responses = {200: {"model": model}}
    for part in (_NOT_MODIFIED, _BROKEN, *more):
        responses |= part
    return responses


def _bytes(kind: str, *more: _Responses) -> _Responses:
    file: _Responses = {200: {"description": "The file.", "content": {kind: {"schema": {"type": "string"}}}}}
    return {**_answers(schemas.Error, *more), **file}


def api_routes(pages: Pages) -> APIRouter:
    """Give the routes."""
    routes = APIRouter(default_response_class=Response)
    _documents(routes, pages)
    _files(routes, pages)
    _questions(routes, pages)
    _health(routes, pages)
    return routes


def _documents(routes: APIRouter, pages: Pages) -> None:
    @routes.get(f"/{PACKAGES_DOCUMENT}", responses=_answers(schemas.Packages))
    def every_package(request: Request) -> Response:
        """Everything that is on offer: the listed version of each package, facets with counts, and what was taken back."""
        return pages.at(PACKAGES_DOCUMENT).answer(request)

    @routes.get("/api/v1/packages/{name}.json", responses=_answers(schemas.Package, _NOT_THERE, _REFUSED))
    def package(name: Name, request: Request) -> Response:
        """A package with all its versions, newest first."""
        return pages.at(f"api/v1/packages/{name}.json").answer(request)

    @routes.get("/api/v1/packages/{name}/{version}.json", responses=_answers(schemas.Edition, _NOT_THERE, _REFUSED))
    def edition(name: Name, version: Handle, request: Request) -> Response:
        """A version as it is now: every number is read from the ledger."""
        return pages.at(f"api/v1/packages/{name}/{version}.json").answer(request)

    @routes.get("/api/v1/releases/{name}/{version}.json", responses=_answers(schemas.Release, _NOT_THERE, _REFUSED))
    def release(name: Name, version: Handle, request: Request) -> Response:
        """What was published. Its bytes never change, so it may be kept for good."""
        return pages.at(f"api/v1/releases/{name}/{version}.json").answer(request)

    @routes.get("/api/v1/claims/{slug:path}.json", responses=_answers(schemas.Claim, _NOT_THERE, _REFUSED))
    def claim(slug: Slug, request: Request) -> Response:
        """Where a claim stands, and everything that was said under it."""
        return pages.at(f"api/v1/claims/{slug}.json").answer(request)


def _files(routes: APIRouter, pages: Pages) -> None:
    feed = "application/atom+xml"

    @routes.get(f"/{RELEASES_FEED}", responses=_bytes(feed))
    def releases(request: Request) -> Response:
        """What was published and what was yanked, newest first, as Atom."""
        return pages.at(RELEASES_FEED).answer(request)

    @routes.get(f"/{RETRACTIONS_FEED}", responses=_bytes(feed))
    def retractions(request: Request) -> Response:
        """What was taken back, newest first, as Atom; each entry names the cards on which it was shown."""
        return pages.at(RETRACTIONS_FEED).answer(request)

    @routes.get("/evidence/raw/{sha256}", responses=_bytes("text/plain", _NOT_THERE, _REFUSED))
    def raw(sha256: Digest, request: Request) -> Response:
        """A raw file under a number, byte for byte, held to its digest when it is read."""
        return pages.at(f"evidence/raw/{sha256}").answer(request)

    @routes.get("/packages/{name}/{version}/package.toml", responses=_bytes("text/plain", _NOT_THERE, _REFUSED))
    def definition(name: Name, version: Handle, request: Request) -> Response:
        """The definition of a version, as it was published."""
        return pages.at(f"packages/{name}/{version}/package.toml").answer(request)


def _questions(routes: APIRouter, pages: Pages) -> None:
    live = pages.live

    @routes.get("/api/v1/packages", responses=_answers(schemas.Found, _REFUSED))
    def find(asked: Annotated[ListQuery, Query()], request: Request) -> Response:
        """Find packages. Live only."""
        now = live.now()
        found, editions = now.search(asked.filter(), limit=asked.limit, offset=asked.offset)
        after = asked.offset + asked.limit
        content = as_bytes(
            {
                "schema": "dayzero/catalog-found/v1",
                "as_of": now.catalog.as_of,
                "total": found.total,
                "offset": asked.offset,
                "limit": asked.limit,
                "next": address_of(asked, after) if after < found.total else None,
                "facets": {facet: dict(values) for facet, values in found.counts.items()},
                "packages": [summary_document(edition) for edition in editions],
            }
        )
        return Document(content=content, kind=JSON).answer(request)

    @routes.get("/api/v1/packages/{name}/{version}/fit", responses=_answers(schemas.FitAnswer, _NOT_THERE, _REFUSED))
    def fit(name: Name, version: Handle, asked: Annotated[FitQuery, Query()], request: Request) -> Response:
        """Does a system hold a version? As the catalog lists it, or sized when it is asked. Live only."""
        now = live.now()
        edition = edition_at(now, name, version)
        answer = fit_document(now.fit(edition, asked.gpu, asked.count))
        said = {"schema": "dayzero/catalog-fit/v1", "name": name, "version": edition.handle, **answer}
        return Document(content=as_bytes(said), kind=JSON).answer(request)


def _health(routes: APIRouter, pages: Pages) -> None:
    live = pages.live

    @routes.get("/healthz", responses=_answers(schemas.Health))
    def health(request: Request) -> Response:
        """Can the catalog be read? Live only."""
        now = live.now()
        found = now.search(Filter(), limit=1)[0]
        said = {
            "status": "ok",
            "packages": found.total,
            "as_of": now.catalog.as_of,
            "ledger_head": now.catalog.ledger_head,
            "release_head": now.catalog.release_head,
        }
        return Document(content=as_bytes(said), kind=JSON, keep=Keep.NEVER).answer(request)
