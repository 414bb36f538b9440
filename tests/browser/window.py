"""A browser's window that writes down what its pages ask for and complain about."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import urljoin, urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, Response

Scheme: TypeAlias = Literal["light", "dark"]

NARROW, WIDE = 360, 1440
_HEIGHT = {NARROW: 740, WIDE: 900}
_GOOD = 400


@dataclass
class Window:
    """One window on one origin.

    Attributes:
        page: What is shown in it.
        origin: The address that its pages come from.
        asked: Every address that was asked for.
        complaints: Errors in the console (refusals of the content security policy among them), of scripts, and of requests.
    """

    page: Page
    origin: str
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """Go to a path of the origin."""
        self.page.goto(urljoin(self.origin + "/", path))
        return self.page

    @property
    def path(self) -> str:
        """Say where it is, without the origin."""
        return self.page.url.removeprefix(self.origin).lstrip("/")

    @property
    def elsewhere(self) -> list[str]:
        """Give every address that was asked for and is not of the origin."""
        return [url for url in self.asked if urlsplit(url).scheme != "data" and not url.startswith(self.origin + "/")]

    def listen(self, context: BrowserContext) -> None:
        """Write down from now on."""
        context.on("request", self._asked)
        context.on("response", self._answered)
        context.on("requestfailed", self._failed)
        context.on("console", self._said)
        context.on("weberror", lambda error: self.complaints.append(f"script: {error.error}"))

    def _asked(self, request: Request) -> None:
        self.asked.append(request.url)

    def _answered(self, response: Response) -> None:
        if response.status >= _GOOD:
            self.complaints.append(f"{response.status} for {response.url}")

    def _failed(self, request: Request) -> None:
        # Chromium calls a navigation that becomes a download an aborted one.
        if not (request.is_navigation_request() and request.failure == "net::ERR_ABORTED"):
            self.complaints.append(f"{request.failure} for {request.url}")

    def _said(self, message: ConsoleMessage) -> None:
        about = message.location.get("url", "")
        # A plain text file names no icon, so Chromium looks for one of the whole origin now and then.
        if message.type in {"error", "warning"} and not about.endswith("/favicon.ico"):
            self.complaints.append(f"{message.type}: {message.text}")


@contextmanager
def window(
    browser: Browser, origin: str, *, width: int = WIDE, scheme: Scheme = "light", script: bool = True, **more: Any
) -> Iterator[Window]:
    """Open a window, and close it.

    Args:
        browser: The browser.
        origin: Address of the site, without a ``/`` at its end.
        width: In CSS pixels.
        scheme: Which colours its owner prefers.
        script: Whether it runs JavaScript.
        more: Options of Playwright's context.
    """
    context = browser.new_context(
        viewport={"width": width, "height": _HEIGHT[width]},
        color_scheme=scheme,
        java_script_enabled=script,
        reduced_motion="reduce",
        accept_downloads=True,
        **more,
    )
    try:
        context.set_default_timeout(15_000)
        opened = Window(context.new_page(), origin.rstrip("/"))
        opened.listen(context)
        yield opened
    finally:
        context.close()
