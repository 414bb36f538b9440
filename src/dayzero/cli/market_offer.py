"""``dayzero market terms``, ``threshold``, ``version``, ``tier``, ``withdraw``, ``notice``, ``provider``: what is on offer."""

from pathlib import Path
from typing import Annotated, Literal

import cyclopts

from dayzero.cli.main import PROVEN
from dayzero.cli.market import Database
from dayzero.market.publish import (
    Tier,
    Version,
    notice,
    open_provider,
    publish_terms,
    publish_tier,
    publish_version,
    set_threshold,
    version_of,
    withdraw_tier,
)
from dayzero.market.rows import text
from dayzero.wiring.market import check_provider, digest_of, open_market, read_terms_file, shipped_terms


def terms(file: Path | None = None, *, database: Database) -> int:
    """Publish terms of a licence, and print their id; the same terms keep the one they have.

    Args:
        file: TOML with title, body, and [[affirmation]] with kind and body, in the order in which they are signed; the terms that
            come with dayzero where none is named.
        database: The books.
    """
    read = read_terms_file(file) if file is not None else shipped_terms()
    with open_market(database) as market:
        print(publish_terms(market, read))
    return PROVEN


def threshold(currency: str, amount_minor: int, database: Database) -> int:
    """Say above which price a licence has to be signed, for prices that are published from now on.

    Args:
        currency: Three letters, such as EUR.
        amount_minor: The threshold in minor units, such as cents; a price of exactly that needs no signature.
        database: The books.
    """
    with open_market(database) as market:
        print(set_threshold(market, currency, amount_minor))
    return PROVEN


def version(name: str, number: str, database: Database, *, definition: Path, kit: Path, title: str = "") -> int:  # noqa: PLR0913  (each is an option of its own)
    """Publish a version of a package; whoever holds live maintenance for it now has it.

    Args:
        name: Name of the package.
        number: The version; its bytes never change afterwards.
        database: The books.
        definition: The package definition.
        kit: The kit that buyers download.
        title: One line about the package; it counts with its first version.
    """
    wanted = Version(
        product=name, title=title or name, version=number, definition=digest_of(definition), kit=digest_of(kit)
    )
    with open_market(database) as market:
        print(publish_version(market, wanted))
    return PROVEN


def tier(  # noqa: PLR0913  (each is an option of its own)
    name: str,
    package: str,
    database: Database,
    *,
    amount_minor: int,
    currency: str,
    version: str = "",
    maintenance_days: int = 0,
    terms: str = "",
) -> int:
    """Publish a price, for one version or for maintenance, and print its id.

    Args:
        name: What the price is called, such as enterprise.
        package: Name of the package.
        database: The books.
        amount_minor: The price in minor units, such as cents.
        currency: Three letters, such as EUR.
        version: The version that is sold.
        maintenance_days: For how many days maintenance is sold, instead of a version.
        terms: Id of the terms that are signed first; above the threshold there have to be some.
    """
    wanted = Tier(
        name=name,
        product=package,
        version=version,
        maintenance_days=maintenance_days,
        amount_minor=amount_minor,
        currency=currency,
        terms_id=terms,
    )
    with open_market(database) as market:
        print(publish_tier(market, wanted))
    return PROVEN


def withdraw(tier_id: str, database: Database, *, why: str) -> int:
    """Sell at a price no more; what was bought stays.

    Args:
        tier_id: Id of the price.
        database: The books.
        why: The reason; it stands in the books.
    """
    with open_market(database) as market:
        withdraw_tier(market, tier_id, why)
    print(f"{tier_id} is sold no more")
    return PROVEN


def say(package: str, version: str, database: Database, *, kind: Literal["yanked", "claim-retracted"], why: str) -> int:
    """Say something about a version to whoever downloads it: that it is sold no more, or that a number of it was taken back.

    It changes no right to use: who has bought it can still download it.

    Args:
        package: Name of the package.
        version: The version.
        database: The books.
        kind: What is said.
        why: In words; buyers read it.
    """
    with open_market(database) as market:
        named = market.books.read(lambda desk: version_of(desk, package, version))
        notice(market, text(named, "id"), kind, why)
    print(f"{package} {version}: {kind}")
    return PROVEN


def provider(
    name: Annotated[str, cyclopts.Parameter(help="Name of the provider, such as stripe.")],
    currency: str,
    database: Database,
) -> int:
    """Open the account of a payment provider in the books, before which nobody can pay through it.

    Args:
        name: Name of the provider, such as stripe.
        currency: Three letters, such as EUR.
        database: The books.
    """
    check_provider(name)
    with open_market(database) as market:
        print(open_provider(market, name, currency))
    return PROVEN
