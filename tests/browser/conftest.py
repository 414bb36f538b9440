"""A real browser, and the catalog that it is shown: built as files, and served live."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright
from tests.browser import tools
from tests.browser.shop import Shop, open_shop
from tests.browser.window import Window, window

# Whatever a page asks for outside of this machine is refused, and seen.
_ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the catalog is shown."""

    name: str
    origin: str

    @property
    def live(self) -> bool:
        return self.name == "live"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start the system's Chromium; nothing is fetched."""
    program = tools.browser_program()
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=[*sandbox, _ALONE])
        yield started
        started.close()


@pytest.fixture(scope="session")
def axe() -> str:
    return tools.axe_script()


@pytest.fixture(scope="session")
def checker() -> tuple[str, ...]:
    return tools.html_checker()


@pytest.fixture
def folder_of_pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return open_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="session")
def site(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the catalog as files, with the command that builds it."""
    folder = tmp_path_factory.mktemp("built") / "site"
    done = subprocess.run(
        _words("build", "-o", str(folder), *shop.options), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def static(site: Path) -> Iterator[Place]:
    """Serve the files."""
    with served(str(site)) as origin:
        yield Place("static", origin)


@pytest.fixture(scope="session")
def live(shop: Shop) -> Iterator[Place]:
    """Serve the same catalog live: pages are made when they are asked for."""
    with served(*shop.options) as origin:
        yield Place("live", origin)


@pytest.fixture(params=["static", "live"])
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=[True, False], ids=["script", "no-script"])
def visit(request: pytest.FixtureRequest, browser: Browser, place: Place) -> Iterator[Window]:
    """Open a window on each catalog, with JavaScript and without; afterwards no page has complained or asked elsewhere."""
    with window(browser, place.origin, script=request.param) as opened:
        yield opened
        assert opened.complaints == []
        assert opened.elsewhere == []


def _words(*words: str) -> list[str]:
    return [sys.executable, "-m", "dayzero", "catalog", *words]


@contextmanager
def served(*words: str) -> Iterator[str]:
    """Run ``dayzero catalog serve`` on a free port, and interrupt it at the end."""
    with subprocess.Popen(_words("serve", *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        line = server.stdout.readline()
        try:
            assert "http://127.0.0.1:" in line, f"{line}{server.stderr.read() if not line else ''}"
            yield line.split()[-1].rstrip("/")
        finally:
            server.send_signal(signal.SIGINT)
            _, said = server.communicate(timeout=30)
        assert server.returncode == 0, said
