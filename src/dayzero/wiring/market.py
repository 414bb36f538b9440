"""Open a market: its books, this machine's clock, and names that sort by when they were given."""

import csv
import io
import os
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import file_digest
from importlib.resources import files
from pathlib import Path

from dayzero.adapters.keys import load_key, load_public_key
from dayzero.adapters.market_store.opening import make_books, open_books
from dayzero.adapters.new_file import write_new
from dayzero.adapters.payments.credit import CreditPayments
from dayzero.adapters.payments.opening import open_stripe
from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero.market import checkpoint
from dayzero.market.account import found_house
from dayzero.market.checkpoint import Signed
from dayzero.market.export import COLUMNS, ledger_lines
from dayzero.market.model import CREDIT, Order
from dayzero.market.ports import Market, PaymentProvider
from dayzero.market.publish import Affirmation, Terms
from dayzero.market.refund import Refund, provider_of, refund
from dayzero.market.rows import number, text
from dayzero.wiring import clock
from dayzero.wiring.settings import stripe_api, stripe_key

_SUFFIX = ".checkpoint.jsonl"


@contextmanager
def open_market(database: str | Path, *, now: Callable[[], str] = clock.now, pool_size: int = 5) -> Iterator[Market]:
    """Open a market for as long as the block runs.

    Raises:
        InputError: The database cannot be used, or ``dayzero market init`` was not run on it.
    """
    books = open_books(database, pool_size=pool_size)
    try:
        yield Market(books=books, now=now, new_id=new_id)
    finally:
        books.close()


def init_market(database: str | Path, application: str = "") -> str:
    """Make or bring up to date the schema of a market, and the account of the house.

    Returns:
        The revision that the schema has now.
    """
    revision = make_books(database, application)
    with open_market(database) as market:
        found_house(market)
    return revision


def payments(provider: str) -> PaymentProvider:
    """Open a provider of payment by the name that the books have for it.

    Args:
        provider: Its name.

    Raises:
        InputError: There is no such provider, its key is not set, or its library is not installed.
    """
    if provider == CREDIT:
        return CreditPayments()
    check_provider(provider)
    if not stripe_key():
        raise InputError("the key of Stripe is not set", hint="Set STRIPE_API_KEY to the secret key.")
    return open_stripe(stripe_key(), api=stripe_api())


def check_provider(provider: str) -> None:
    """Hold a name to those of providers that money comes through from outside.

    Raises:
        InputError: There is no such provider.
    """
    if provider != "stripe":
        raise InputError(
            f"no provider {provider!r} is known", hint="The one that is known is stripe; credit needs none."
        )


def refund_the_way_it_came(market: Market, wanted: Refund) -> Order:
    """Refund an order through the provider that it was paid through.

    Raises:
        RefusedError: See :func:`dayzero.market.refund.refund`.
        InputError: That provider cannot be opened here; nothing was recorded.
        RemoteError: The provider did not take it; ask again with the same key.
    """
    return refund(market, wanted, payments(provider_of(market, wanted.order_id)))


def new_id() -> str:
    """Give a name that nothing has yet: milliseconds, then 80 random bits."""
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}"


def shipped_terms() -> Terms:
    """Read the terms that come with dayzero."""
    return _terms(files("dayzero.market").joinpath("enterprise.toml").read_text(encoding="utf-8"))


def read_terms_file(file: Path) -> Terms:
    """Read terms as TOML: ``title``, ``body`` and ``[[affirmation]]`` with ``kind`` and ``body``, in order.

    Raises:
        InputError: The file cannot be read, or lacks something.
    """
    try:
        return _terms(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}", hint="Give the path of a terms file.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise InputError(
            f"{file} holds no terms: {error}", hint="Write title, body and [[affirmation]] with kind and body."
        ) from error


def _terms(content: str) -> Terms:
    found = tomllib.loads(content)
    asked = tuple(Affirmation(kind=str(each["kind"]), body=str(each["body"])) for each in found["affirmation"])
    return Terms(title=str(found["title"]), body=str(found["body"]), affirmations=asked)


def exported_ledger(market: Market) -> bytes:
    """Write every transfer as CSV, the columns first; what a spreadsheet would take for a formula stands behind an apostrophe."""
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(COLUMNS)
    for line in ledger_lines(market):
        lines.writerow(f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell for cell in line)
    return written.getvalue().encode("utf-8")


def digest_of(file: Path) -> Sha256:
    """Name a file by its bytes.

    Raises:
        InputError: It cannot be read.
    """
    try:
        with file.open("rb") as content:
            return Sha256(file_digest(content, "sha256").hexdigest())
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}", hint="Give the path of a file.") from error


def write_checkpoint(market: Market, key: Path, folder: Path) -> Path:
    """Append a block, sign its hash, and keep that in a folder outside the database.

    Returns:
        The file; the same one where nothing was recorded since.
    """
    signer = load_key(key)
    block = checkpoint.take(market)
    file = folder / f"{number(block, 'seq'):08d}-{text(block, 'hash')[:12]}{_SUFFIX}"
    write_new(file, checkpoint.sign_block(block, signer))
    return file


def read_checkpoints(folder: Path, keys: tuple[Path, ...]) -> tuple[Signed, ...]:
    """Read the checkpoints in a folder, each signed by one of these keys.

    Raises:
        InputError: The folder holds none, or no key is given.
        IntegrityError: One is not signed by any of the keys.
    """
    trusted = tuple(load_public_key(key) for key in keys)
    files = sorted(folder.glob(f"*{_SUFFIX}"))
    if not files or not trusted:
        raise InputError(
            f"{folder} holds no checkpoints" if not files else "no key is given",
            hint="Give the folder that 'dayzero market checkpoint' writes, and --key with the public key.",
        )
    return tuple(checkpoint.read_checkpoint(file.read_bytes(), file.name, trusted) for file in files)


def read_checkpoint_file(file: Path, keys: tuple[Path, ...]) -> Signed:
    """Read one checkpoint, signed by one of these keys.

    Raises:
        InputError: The file cannot be read, or no key is given.
        IntegrityError: It is not signed by any of the keys.
    """
    if not keys:
        raise InputError("no key is given", hint="Give --key with the public key that signs the checkpoints.")
    trusted = tuple(load_public_key(key) for key in keys)
    try:
        line = file.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot read {file}: {error.strerror}", hint="Give a file that 'dayzero market checkpoint' wrote."
        ) from error
    return checkpoint.read_checkpoint(line, file.name, trusted)
