"""What a buyer deals with: the market's books, who is signed in, payment providers, and the kits that are handed out."""

import io
import secrets
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dayzero.adapters.market_store.opening import open_register
from dayzero.adapters.payments.opening import open_stripe
from dayzero.core.errors import InputError, IntegrityError, RemoteError
from dayzero.core.pins import Sha256
from dayzero.identity import sign_in
from dayzero.identity.model import Limit
from dayzero.identity.password import check_fit, holds
from dayzero.identity.ports import Identity
from dayzero.market.account import account_named, open_account
from dayzero.market.entitlement import access, download
from dayzero.market.errors import RefusedError
from dayzero.market.licence import licence_document
from dayzero.market.model import CREDIT, Allowed, Order, Purchase, Session
from dayzero.market.order import buy
from dayzero.market.ports import Market, PaymentProvider
from dayzero.market.rows import text
from dayzero.market.settlement import begin_payment
from dayzero.wiring import settings
from dayzero.wiring.catalog_live import LiveCatalog
from dayzero.wiring.kits import KitFiles
from dayzero.wiring.market import open_market

_LETTERS: Final = "23456789abcdefghjkmnpqrstvwxyz"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
LICENCE_FILE: Final = "licence.json"

_SIGN_UP: Final = Limit(what="opening an account", most=30, window_s=3600)
_SIGN_IN_ADDRESS: Final = Limit(what="signing in from this address", most=60, window_s=900)
_SIGN_IN_ACCOUNT: Final = Limit(what="signing in to this account", most=10, window_s=900)
_BUY_ADDRESS: Final = Limit(what="buying from this address", most=240, window_s=3600)
_BUY_ACCOUNT: Final = Limit(what="buying", most=60, window_s=3600)
_DOWNLOAD: Final = Limit(what="downloading", most=60, window_s=3600)
_TOKEN: Final = Limit(what="making tokens", most=30, window_s=86_400)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How often something may be tried; each is counted before it is done."""

    sign_up: Limit = _SIGN_UP
    sign_in_address: Limit = _SIGN_IN_ADDRESS
    sign_in_account: Limit = _SIGN_IN_ACCOUNT
    buy_address: Limit = _BUY_ADDRESS
    buy_account: Limit = _BUY_ACCOUNT
    download: Limit = _DOWNLOAD
    token: Limit = _TOKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Storefront:
    """A market that buyers can reach.

    Attributes:
        market: Its books, as the application opens them.
        identity: Who asks.
        live: The catalog, whose kits are handed out.
        providers: Payment providers that are configured, by name.
        origin: The address that browsers know it by, such as ``https://shop.example``; ``""`` for whatever they ask for.
        limits: How often something may be tried.
    """

    market: Market
    identity: Identity
    live: LiveCatalog
    providers: Mapping[str, PaymentProvider]
    origin: str = ""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of a kit for one buyer: the name of the archive and its bytes."""

    name: str
    content: bytes


@contextmanager
def open_storefront(
    database: str | Path, live: LiveCatalog, *, origin: str = "", pool_size: int = 10
) -> Iterator[Storefront]:
    """Open a market to buyers for as long as the block runs.

    Args:
        database: A file of SQLite, or a URL of PostgreSQL with the application's role.
        live: The catalog.
        origin: The address that browsers know it by.
        pool_size: Most connections to PostgreSQL, for the books and beside them.

    Raises:
        InputError: The database cannot be used, ``dayzero market init`` was not run on it, or Stripe is configured by halves.
    """
    holds("", "")  # the first answer to a wrong name would take longer than the next
    with open_market(database, pool_size=pool_size) as market, _identity(database, pool_size=pool_size) as identity:
        yield Storefront(market=market, identity=identity, live=live, providers=_providers(origin), origin=origin)


def sign_up(front: Storefront, password: str) -> tuple[str, str]:
    """Open an account under a name that is made up here, so that nobody learns by trying which names are taken.

    Returns:
        Its name and its id.

    Raises:
        TurnedAwayError: The password is unfit; nothing was opened.
    """
    check_fit(password, "")
    name = new_name()
    account_id = open_account(front.market, name)
    sign_in.set_password(front.identity, account_id, name, password)
    return name, account_id


def account_id_of(market: Market, name: str) -> str:
    """Find the id of an account by its name, as it is written or in small letters; ``""`` where there is none.

    Both are looked for whatever is found, so that the time says nothing.
    """
    as_written, small = _id_of(market, name), _id_of(market, name.lower())
    return as_written or small


def give_password(database: str | Path, name: str) -> str:
    """Give an account a new password that is made up here, as the operator; whoever was signed in to it is not any more.

    Returns:
        The password.

    Raises:
        RefusedError: There is no such account (``unknown``).
    """
    made = new_password()
    with open_market(database) as market, _identity(database) as identity:
        account_id = text(account_named(market, name), "id")
        sign_in.set_password(identity, account_id, name, made)
    return made


def new_name() -> str:
    """Make up the name of an account: twelve letters and digits, none of which is taken for another."""
    return _groups(3)


def new_password() -> str:
    """Make up a password: twenty-four letters and digits."""
    return _groups(6)


def place_order(front: Storefront, purchase: Purchase) -> Order:
    """Buy, through a provider only where it is configured here; see :func:`dayzero.market.order.buy`.

    Raises:
        RefusedError: As there, or the provider is not configured (``not-on-offer``).
    """
    if purchase.provider != CREDIT and purchase.provider not in front.providers:
        raise RefusedError(
            "not-on-offer", f"nothing is paid through {purchase.provider} here", hint="Pay in another way."
        )
    return buy(front.market, purchase)


def open_payment(front: Storefront, order: Order) -> Session:
    """Open the provider's page on which an order that waits is paid; asked again, it is the same page.

    Raises:
        RefusedError: The order does not wait, or its provider is not configured (``not-on-offer``).
        RemoteError: The provider cannot be reached.
    """
    provider = front.providers.get(order.provider)
    if provider is None:
        raise RefusedError(
            "not-on-offer", f"nothing is paid through {order.provider} here", hint="Ask whoever runs this market."
        )
    return begin_payment(front.market, provider, order, f"Order {order.id}")


def licensed_copy(front: Storefront, account_id: str, package: str, version: str) -> Copy:
    """Check a download against the entitlements, record it, and pack the kit with the document of its licence.

    Raises:
        RefusedError: There is no such version (``unknown``), or no right to it (``not-entitled``).
        RemoteError: The kit is not here to be handed out; nothing was recorded.
        IntegrityError: The kit is not the one that was sold; nothing was recorded.
    """
    found = access(front.market, account_id, package, version)
    if not isinstance(found, Allowed):
        raise RefusedError("not-entitled", found.why, hint="See what is on offer.")
    files = _kit(front, package, version, text(found.version, "kit_sha256"))
    done = download(front.market, account_id, package, version)
    document = licence_document(front.market, done.allowed, done.id)
    folder = f"{package}-{version}"
    return Copy(f"{folder}.licensed.zip", _packed(folder, {**files, LICENCE_FILE: f"{document}\n".encode()}))


def _id_of(market: Market, name: str) -> str:
    try:
        return text(account_named(market, name), "id")
    except RefusedError:
        return ""


@contextmanager
def _identity(
    database: str | Path, *, now_s: Callable[[], int] = lambda: int(time.time()), pool_size: int = 5
) -> Iterator[Identity]:
    register = open_register(database, pool_size=pool_size)
    try:
        yield Identity(register=register, now_s=now_s, secret=lambda: secrets.token_urlsafe(32))
    finally:
        register.close()


def _providers(origin: str) -> Mapping[str, PaymentProvider]:
    key, secret = settings.stripe_key(), settings.stripe_webhook_secret()
    if not key and not secret:
        return {}
    if not (key and secret and origin):
        raise InputError(
            "Stripe is configured by halves",
            hint="Set STRIPE_API_KEY and STRIPE_WEBHOOK_SECRET, and give --public-url.",
        )
    return {"stripe": open_stripe(key, webhook_secret=secret, back=f"{origin}/account/", api=settings.stripe_api())}


def _groups(count: int) -> str:
    return "-".join("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(count))


def _kit(front: Storefront, package: str, version: str, sha256: str) -> dict[str, bytes]:
    """Read the files of a kit, and hold the archive to what was sold."""
    offer = front.live.now().offer
    files: KitFiles | None = offer.licensed.get((package, version)) or offer.kits.get((package, version))
    if files is None:
        raise RemoteError(
            f"the kit of {package} {version} is not here",
            hint="Whoever runs this market puts it into the folder of --kits.",
        )
    try:
        content = {file.name: file.read_bytes() for file in (files.archive, files.attestation, files.key)}
    except OSError as error:
        raise RemoteError(f"the kit cannot be read: {error.strerror}", hint="Ask whoever runs this market.") from error
    if Sha256.of(content[files.archive.name]).hex != sha256:
        raise IntegrityError(
            f"the kit of {package} {version} here is not the one that was sold", hint="Ask whoever runs this market."
        )
    return content


def _packed(folder: str, files: Mapping[str, bytes]) -> bytes:
    """Put files into one archive, in order and as they are; the kit among them is compressed already."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(f"{folder}/{name}", _EPOCH), files[name])
    return written.getvalue()
