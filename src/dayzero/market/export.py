"""The ledger as lines that other programs read: each transfer once, its two sides by name."""

from dayzero.market.model import Values
from dayzero.market.ports import Desk, Market
from dayzero.market.rows import text

COLUMNS = ("at", "transfer", "kind", "debit", "credit", "amount_minor", "currency", "order", "reverses", "reason")


def ledger_lines(market: Market) -> tuple[tuple[str, ...], ...]:
    """Give every transfer, oldest first, in the columns of :data:`COLUMNS`."""
    return market.books.read(_lines)


def _lines(desk: Desk) -> tuple[tuple[str, ...], ...]:
    names = {row["id"]: text(row, "name") for row in desk.every("account")}
    called = {row["id"]: _called(row, names[row["owner_id"]]) for row in desk.every("ledger_account")}
    transfers = sorted(desk.every("transfer"), key=lambda row: (text(row, "at"), text(row, "id")))
    return tuple(
        (
            text(row, "at"),
            text(row, "id"),
            text(row, "kind"),
            called[row["debit_id"]],
            called[row["credit_id"]],
            text(row, "amount_minor"),
            text(row, "currency"),
            text(row, "order_id"),
            text(row, "reverses_id"),
            text(row, "reason"),
        )
        for row in transfers
    )


def _called(account: Values, owner: str) -> str:
    return ":".join(part for part in (owner, text(account, "kind"), text(account, "provider")) if part)
