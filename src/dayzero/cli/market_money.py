"""``dayzero market account``, ``password``, ``grant``, ``refund``, ``sweep``, ``revoke``, ``export``: credit and rights."""

from pathlib import Path
from typing import Annotated, Literal

import cyclopts

from dayzero.adapters.new_file import write_new
from dayzero.cli.main import PROVEN, UNDECIDED
from dayzero.cli.market import Database
from dayzero.core.errors import InputError
from dayzero.market.account import account_named, open_account
from dayzero.market.ledger import Grant, grant
from dayzero.market.refund import Refund, revoke
from dayzero.market.rows import text
from dayzero.market.sweep import sweep
from dayzero.wiring.market import exported_ledger, open_market, payments, refund_the_way_it_came
from dayzero.wiring.storefront import give_password


def account(name: str, database: Database) -> int:
    """Open an account, and print its id.

    Args:
        name: A name that nobody has yet.
        database: The books.
    """
    with open_market(database) as market:
        print(open_account(market, name))
    return PROVEN


def password(name: str, database: Database) -> int:
    """Give an account a new password that is made up, and print it; whoever was signed in to the account is not any more.

    Args:
        name: The account's name.
        database: The books.
    """
    print(give_password(database, name))
    return PROVEN


def grant_credit(name: str, amount_minor: int, currency: str, database: Database, *, key: str, why: str) -> int:  # noqa: PLR0913  (each is an option of its own)
    """Give an account credit, and print the transfer.

    Args:
        name: The account's name.
        amount_minor: How much, in minor units such as cents.
        currency: Three letters, such as EUR.
        database: The books.
        key: A word of your own for this grant, such as the number of an invoice: the same key gives it once.
        why: The reason; it stands in the books.
    """
    with open_market(database) as market:
        to = text(account_named(market, name), "id")
        wanted = Grant(account_id=to, amount_minor=amount_minor, currency=currency, key=key, reason=why)
        print(grant(market, wanted))
    return PROVEN


def refund_order(order: str, database: Database, *, key: str, why: str, amount_minor: int = 0) -> int:
    """Refund an order the way that it was paid; when all of it is back, the right to use ends.

    The books come first. Where the provider then does not take it (exit 3), the same command again sends the money, once. Stripe
    is asked with STRIPE_API_KEY from the environment.

    Args:
        order: Id of the order.
        database: The books.
        key: A word of your own for this refund: the same key refunds once.
        why: The reason; it stands in the books.
        amount_minor: How much, in minor units; all that is left where it is not given.
    """
    with open_market(database) as market:
        done = refund_the_way_it_came(market, Refund(order_id=order, key=key, reason=why, amount_minor=amount_minor))
    print(f"order {done.id} is {done.state}")
    return PROVEN


def sweep_payments(provider: str, database: Database, *, hours: int = 24) -> int:
    """Ask a provider about the payments that were begun and never finished, and enter what it answers; pages still open are closed.

    Sweep as often as you like: what is settled is not asked about again. Exit 3: the provider did not answer for every one.

    Args:
        provider: The provider's name, such as stripe; its key is in the environment (STRIPE_API_KEY).
        database: The books.
        hours: How long a buyer has to pay, from when the page was opened.
    """
    if hours < 0:
        raise InputError("a buyer has 0 hours or more", hint="Give a whole number, such as 24.")
    with open_market(database) as market:
        swept = sweep(market, payments(provider), hours)
    for each in swept:
        print(f"order {each.order_id} is {each.outcome}{f': {each.why}' if each.why else ''}")
    print(f"{len(swept)} payments were begun more than {hours} hours ago and not finished")
    return UNDECIDED if any(each.outcome == "unanswered" for each in swept) else PROVEN


def revoke_right(
    entitlement: str, database: Database, *, reason: Literal["breach", "chargeback", "mistake"], why: str
) -> int:
    """Take back the right to a version without giving money back.

    Args:
        entitlement: Id of the entitlement.
        database: The books.
        reason: Which kind of reason.
        why: What happened; it stands in the books.
    """
    with open_market(database) as market:
        revoke(market, entitlement, reason, why)
    print(f"entitlement {entitlement} is revoked")
    return PROVEN


def export(database: Database, *, output: Annotated[Path, cyclopts.Parameter(name=("--output", "-o"))]) -> int:
    """Write every transfer as CSV, for a program that keeps accounts: one line a transfer, debit and credit by name.

    Args:
        database: The books.
        output: A new file.
    """
    with open_market(database) as market:
        content = exported_ledger(market)
    write_new(output, content)
    print(f"{output}: {content.count(bytes([10])) - 1} transfers")
    return PROVEN
