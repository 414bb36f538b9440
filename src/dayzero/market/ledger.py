"""Move money: every transfer has one debit, one credit and one amount, and a reversal goes the same way back."""

from dataclasses import dataclass

from dayzero.market.errors import RefusedError
from dayzero.market.model import CREDIT, HOUSE, Deed, Row, Values
from dayzero.market.money import check_amount, check_currency
from dayzero.market.ports import Desk, Market
from dayzero.market.rows import known, number, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Credit that the operator gives.

    Attributes:
        account_id: To whom.
        amount_minor, currency: How much.
        key: Idempotency key: the same key gives it once.
        reason: Why; it stands in the books.
    """

    account_id: str
    amount_minor: int
    currency: str
    key: str
    reason: str


def grant(market: Market, wanted: Grant) -> str:
    """Give an account credit.

    Returns:
        The id of the transfer, also where the key was used before for the same.

    Raises:
        RefusedError: No such account; no amount or no currency; the key was used for something else.
    """
    check_amount(wanted.amount_minor)
    check_currency(wanted.currency)
    return market.books.write(wanted.account_id, lambda desk: _grant(desk, market, wanted))


def _grant(desk: Desk, market: Market, wanted: Grant) -> str:
    known(desk, "account", f"account {wanted.account_id}", id=wanted.account_id)
    before = desk.one("transfer", idem_key=f"grant:{wanted.key}")
    if before is not None:
        same = (before["account_id"], before["amount_minor"], before["currency"])
        if same != (wanted.account_id, wanted.amount_minor, wanted.currency):
            raise key_reused(wanted.key)
        return text(before, "id")
    at = market.now()
    grants, opened_grants = ledger_account(desk, market, HOUSE, "grants", wanted.currency, at=at)
    wallet, opened_wallet = ledger_account(desk, market, wanted.account_id, "wallet", wanted.currency, at=at)
    moved = transfer(
        market.new_id(),
        "grant",
        account_id=wanted.account_id,
        debit=grants,
        credit=wallet,
        amount_minor=wanted.amount_minor,
        idem_key=f"grant:{wanted.key}",
        reason=wanted.reason,
        at=at,
    )
    rows = (*opened_grants, *opened_wallet, moved)
    desk.record(Deed(account=wanted.account_id, kind="grant", at=at, rows=rows))
    return text(moved.values, "id")


def key_reused(key: str) -> RefusedError:
    """Refuse a key that was used for another request."""
    return RefusedError(
        "key-reused", f"the key {key} was used for another request", hint="Choose a new key for a new request."
    )


def ledger_account(  # noqa: PLR0913  (each column that it fills)
    desk: Desk, market: Market, owner: str, kind: str, currency: str, *, provider: str = "", at: str
) -> tuple[Values, tuple[Row, ...]]:
    """Find an account of the ledger, or the row that opens it."""
    found = desk.one("ledger_account", owner_id=owner, kind=kind, provider=provider, currency=currency)
    if found is not None:
        return found, ()
    values = {
        "id": market.new_id(),
        "owner_id": owner,
        "kind": kind,
        "provider": provider,
        "currency": currency,
        "opened_at": at,
    }
    return values, (Row("ledger_account", values),)


def payer(desk: Desk, market: Market, order: Values, *, at: str) -> tuple[Values, tuple[Row, ...]]:
    """Find the account that pays an order: the buyer's wallet, or the clearing account of the provider."""
    currency = text(order, "currency")
    if order["provider"] == CREDIT:
        return ledger_account(desk, market, text(order, "account_id"), "wallet", currency, at=at)
    return clearing(desk, text(order, "provider"), currency), ()


def clearing(desk: Desk, provider: str, currency: str) -> Values:
    """Find the clearing account of a provider, which the operator opened.

    Raises:
        RefusedError: It was not opened (``not-on-offer``).
    """
    found = desk.one("ledger_account", owner_id=HOUSE, kind="clearing", provider=provider, currency=currency)
    if found is None:
        raise RefusedError(
            "not-on-offer", f"{provider} is not open for {currency}", hint="Pay in another way; the operator opens it."
        )
    return found


def revenue(desk: Desk, currency: str) -> Values:
    """Find the revenue account of a currency, which the operator opened with the first price in it."""
    return known(
        desk,
        "ledger_account",
        f"revenue account in {currency}",
        owner_id=HOUSE,
        kind="revenue",
        provider="",
        currency=currency,
    )


def transfer(  # noqa: PLR0913  (each column that it fills)
    transfer_id: str,
    kind: str,
    *,
    account_id: str,
    debit: Values,
    credit: Values,
    amount_minor: int,
    at: str,
    order_id: str | None = None,
    reverses_id: str | None = None,
    idem_key: str | None = None,
    reason: str = "",
) -> Row:
    """Write a transfer between two accounts of the ledger."""
    return Row(
        "transfer",
        {
            "id": transfer_id,
            "kind": kind,
            "account_id": account_id,
            "order_id": order_id,
            "reverses_id": reverses_id,
            "debit_id": debit["id"],
            "debit_kind": debit["kind"],
            "debit_owner": debit["owner_id"],
            "credit_id": credit["id"],
            "credit_kind": credit["kind"],
            "credit_owner": credit["owner_id"],
            "amount_minor": amount_minor,
            "currency": debit["currency"],
            "idem_key": idem_key,
            "reason": reason,
            "at": at,
        },
    )


def balance(market: Market, account_id: str, currency: str) -> int:
    """Read what an account has to spend, in minor units."""
    return market.books.read(lambda desk: _balance(desk, account_id, currency))


def _balance(desk: Desk, account_id: str, currency: str) -> int:
    wallet = desk.one("ledger_account", owner_id=account_id, kind="wallet", provider="", currency=currency)
    kept = desk.one("balance", ledger_account_id=wallet["id"]) if wallet is not None else None
    return number(kept, "amount_minor") if kept is not None else 0
