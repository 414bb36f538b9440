"""The API's description in OpenAPI, the same for the live catalog and beside a static site."""

import json
from typing import Final

from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRouter

_ABOUT: Final = """\
What is on offer, read from package definitions, the release log and the evidence ledger at the moment at which it is asked for.

Measured values are text, as they are printed. A number that was taken back has its reason in the place of its value.
Every document but those of releases has to be asked about again (`ETag`, `If-None-Match`); one of a release never changes.
An operation that is marked as live only has no file in a static site.
"""


def openapi_bytes(*parts: APIRouter) -> bytes:
    """Write the description of the routes of some parts."""
    routes = [route for part in parts for route in part.routes]
    described = get_openapi(
        title="dayzero catalog", version="1", openapi_version="3.1.0", description=_ABOUT, routes=routes
    )
    return (json.dumps(described, indent=2, ensure_ascii=False, sort_keys=True) + "\n").encode()
