"""Open an account: a name that a person recognises. How its owner signs in is kept elsewhere."""

from dayzero.market.errors import RefusedError
from dayzero.market.model import HOUSE, Deed, Row, Values
from dayzero.market.ports import Desk, Market
from dayzero.market.rows import known, text


def open_account(market: Market, name: str) -> str:
    """Open an account.

    Returns:
        Its id.

    Raises:
        RefusedError: The name is taken, is empty, or holds what is no character to be seen.
    """
    name = name.strip()
    if not name or not name.isprintable():
        raise RefusedError(
            "refused-by-schema", "an account has a name that can be read and typed", hint="Give a name of one line."
        )
    account_id = market.new_id()
    market.books.write(account_id, lambda desk: _open(desk, account_id, name, market.now()))
    return account_id


def found_house(market: Market) -> None:
    """Open the account of the house, where it is not open yet."""
    market.books.write(HOUSE, lambda desk: _found(desk, market.now()))


def account_named(market: Market, name: str) -> Values:
    """Read the account with this name.

    Raises:
        RefusedError: There is none (``unknown``).
    """
    return market.books.read(lambda desk: known(desk, "account", f"account {name!r}", name=name))


def names(market: Market) -> dict[str, str]:
    """Read the name of every account, by its id."""
    rows = market.books.read(lambda desk: desk.every("account"))
    return {text(row, "id"): text(row, "name") for row in rows}


def _open(desk: Desk, account_id: str, name: str, at: str) -> None:
    if desk.one("account", name=name) is not None:
        raise RefusedError("taken", f"the name {name!r} is taken", hint="Choose another name.")
    row = Row("account", {"id": account_id, "name": name, "created_at": at})
    desk.record(Deed(account=account_id, kind="account", at=at, rows=(row,)))


def _found(desk: Desk, at: str) -> None:
    if desk.one("account", id=HOUSE) is None:
        _open(desk, HOUSE, HOUSE, at)
