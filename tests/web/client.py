"""Ask an application without a network."""

import asyncio

import httpx
from starlette.types import ASGIApp


class Client:
    """Asks an application, as a browser that follows nothing.

    Args:
        app: The application.
        strict: Whether an error that nobody foresaw is raised in the test, instead of being answered.
    """

    def __init__(self, app: ASGIApp, *, strict: bool = True) -> None:
        self.app, self.strict = app, strict

    def ask(self, method: str, path: str, **headers: str) -> httpx.Response:
        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=self.strict)
            async with httpx.AsyncClient(transport=transport, base_url="http://catalog.test") as client:
                return await client.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})

        return asyncio.run(asked())

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.ask("GET", path, **headers)
