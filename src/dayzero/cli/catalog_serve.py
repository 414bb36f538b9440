"""``dayzero catalog serve``: a built site, or the catalog as it is at this moment."""

import contextlib
import ipaddress
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import cyclopts

from dayzero.adapters.http_server import address_of, listen, run
from dayzero.adapters.site.server import serve
from dayzero.cli.console import stderr_console
from dayzero.cli.main import PROVEN
from dayzero.core.errors import DayzeroError, InputError
from dayzero.web.app import app_of
from dayzero.wiring.catalog_live import LiveCatalog, open_live
from dayzero.wiring.catalog_source import Places
from dayzero.wiring.storefront import open_storefront


def serve_site(  # noqa: PLR0913  (each argument is one option)
    site: Path | None = None,
    *,
    packages: Path | None = None,
    evidence: Path | None = None,
    kits: Path | None = None,
    perfdb: Path | None = None,
    key: Annotated[tuple[Path, ...], cyclopts.Parameter(name="--key", negative=())] = (),
    database: str = "",
    market: str = "",
    public_url: str = "",
    proxy: Annotated[tuple[str, ...], cyclopts.Parameter(name="--proxy", negative=())] = (),
    port: int = 0,
    host: str = "127.0.0.1",
) -> int:
    """Serve a built site, or without one the catalog as it is at this moment, with search and the API, until Ctrl-C.

    With --market, packages are sold too: accounts, signed licences, orders, downloads. Stripe is offered where STRIPE_API_KEY
    and STRIPE_WEBHOOK_SECRET are set.

    Args:
        site: Folder of a built site; left out, pages are made from packages and evidence when they are asked for.
        packages: Folder of the packages; the ones that travel with dayzero when left out.
        evidence: Folder of the ledger and its raw files; 'evidence' when left out.
        kits: Folder with kits and their attestations.
        perfdb: What 'dayzero perfdb page' wrote: a page of operator latencies, their coverage and what was taken back.
        key: A public key that you trust to sign kits.
        database: Where the search index lies: a file, or a URL of PostgreSQL; a file that goes with the server when left out.
        market: The market's books: a file of SQLite, or postgresql://USER@HOST/NAME with the application's role.
        public_url: The address that browsers know the server by, such as https://shop.example; needed behind TLS and for Stripe.
        proxy: Address of a proxy in front, whose word on who asks is taken; can be given again.
        port: TCP port; 0 takes a free one.
        host: Address to listen on; only this machine can reach the default.
    """
    if site is None:
        where = evidence or Path("evidence")
        places = Places(packages=packages, evidence=where, kits=kits, keys=key, performance=perfdb)
        selling = Selling(market, _origin(public_url), _networks(proxy))
        return _live(places, database, selling, host, port)
    if packages or evidence or kits or perfdb or key or database or market or public_url or proxy:
        raise InputError(
            "a built site is served as it is", hint="Leave SITE out to serve from --packages, --evidence and --kits."
        )
    with serve(site, host=host, port=port) as address:
        _say(f"serving {site} at {address}")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            stderr_console().print("stopped")
    return PROVEN


@dataclass(frozen=True, slots=True)
class Selling:
    """Where the market's books are, ``""`` for no market; the address that browsers know; proxies in front."""

    market: str
    origin: str
    proxies: tuple[str, ...]


def _origin(public_url: str) -> str:
    """Give the origin of an address.

    Raises:
        InputError: It is none, or has a path: the market's pages stand at the root.
    """
    if not public_url:
        return ""
    parts = urlsplit(public_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
        raise InputError(
            f"{public_url} is no address of a server", hint="Give --public-url https://HOST, without a path."
        )
    return f"{parts.scheme}://{parts.netloc}".lower()


def _networks(proxies: tuple[str, ...]) -> tuple[str, ...]:
    """Give the addresses of proxies.

    Raises:
        InputError: One is no address and no network: nobody's word would be taken, or everybody's.
    """
    for each in proxies:
        try:
            ipaddress.ip_network(each, strict=False)
        except ValueError as error:
            raise InputError(
                f"{each} is no address of a proxy", hint="Give --proxy 127.0.0.1, or a network such as 10.0.0.0/8."
            ) from error
    return proxies


def _live(places: Places, database: str, selling: Selling, host: str, port: int) -> int:
    with (
        tempfile.TemporaryDirectory(prefix="dayzero-catalog-") as folder,
        listen(host, port) as listening,
        contextlib.ExitStack() as open_,
    ):
        live = open_live(places, database or Path(folder) / "index.sqlite", market=bool(selling.market))
        _read_once(live)
        front = None
        if selling.market:
            front = open_.enter_context(open_storefront(selling.market, live, origin=selling.origin))
        words = f"serving the catalog{' and the market' if front else ''} at {address_of(listening)}"
        with contextlib.suppress(KeyboardInterrupt):
            run(app_of(live, front), listening, started=lambda: _say(words), proxies=selling.proxies)
        stderr_console().print("stopped")
    return PROVEN


def _read_once(live: LiveCatalog) -> None:
    """Read the catalog before the first reader asks, so that what is wrong with it is said here."""
    try:
        live.now()
    except DayzeroError as error:
        if isinstance(error.__cause__, DayzeroError):
            raise error.__cause__ from error
        raise


def _say(what: str) -> None:
    print(what, flush=True)
    stderr_console().print("Ctrl-C stops it.")
