"""Buy: the signature, the money and the right to use are recorded in one transaction, or none of them is."""

from dayzero.market import licence
from dayzero.market.chain import canonical, digest
from dayzero.market.entitlement import holds_product
from dayzero.market.errors import RefusedError
from dayzero.market.grants import grant_rows, standing
from dayzero.market.ledger import key_reused, payer, revenue, transfer
from dayzero.market.model import CREDIT, Deed, Order, Purchase, Row, Values
from dayzero.market.ports import Desk, Market
from dayzero.market.rows import known, number, text


def buy(market: Market, purchase: Purchase) -> Order:
    """Buy a version or maintenance.

    Paid from the wallet, the right to use is there when this returns. Paid through a provider, the order is ``pending``, and there
    is no right to use until the money is there.

    Returns:
        The order; the same one for the same request with the same key, however often and from however many clients it comes.

    Raises:
        RefusedError: No such account or tier; not on offer any more; a licence has to be signed, or the one that was signed
            does not fit; the wallet does not cover it; the key was used for another request. Nothing was recorded.
    """
    return market.books.write(purchase.account_id, lambda desk: _buy(desk, market, purchase))


def read_order(market: Market, account_id: str, order_id: str) -> Order:
    """Read an order of an account.

    Raises:
        RefusedError: The account has no such order (``unknown``).
    """

    def work(desk: Desk) -> Order:
        row = known(desk, "orders", f"order {order_id}", id=order_id, account_id=account_id)
        return standing(desk, row, replayed=False)

    return market.books.read(work)


def request_digest(purchase: Purchase) -> str:
    """Name a request by what it asks for, so that a key is not used for two."""
    return digest(canonical({"tier": purchase.tier_id, "provider": purchase.provider, "signing": purchase.signing}))


def _buy(desk: Desk, market: Market, purchase: Purchase) -> Order:
    request = request_digest(purchase)
    _expect(desk, purchase)
    before = desk.one("orders", account_id=purchase.account_id, idem_key=purchase.key)
    if before is not None:
        if before["request_sha256"] != request:
            raise key_reused(purchase.key)
        return standing(desk, before, replayed=True)
    known(desk, "account", f"account {purchase.account_id}", id=purchase.account_id)
    tier = known(desk, "price_tier", f"price {purchase.tier_id}", id=purchase.tier_id)
    _check_offer(desk, purchase, tier)
    at, order_id = market.now(), market.new_id()
    signed, signature_id = _signed(desk, market, purchase, tier, at)
    order = {
        "id": order_id,
        "account_id": purchase.account_id,
        "idem_key": purchase.key,
        "request_sha256": request,
        "tier_id": tier["id"],
        "product_id": tier["product_id"],
        "kind": tier["kind"],
        "version_id": tier["version_id"],
        "requires_signature": tier["requires_signature"],
        "amount_minor": tier["amount_minor"],
        "currency": tier["currency"],
        "signature_id": signature_id,
        "terms_id": tier["terms_id"] if signature_id else None,
        "provider": purchase.provider,
        "placed_at": at,
    }
    paid = _paid(desk, market, order, at) if purchase.provider == CREDIT else _awaited(desk, market, order, at)
    rows = (*signed, Row("orders", order), *paid)
    desk.record(Deed(account=purchase.account_id, kind="purchase", at=at, rows=rows))
    return _placed(order, paid)


def _expect(desk: Desk, purchase: Purchase) -> None:
    tier = desk.one("price_tier", id=purchase.tier_id)
    if tier is not None:
        wallet = {"owner_id": purchase.account_id, "kind": "wallet", "provider": "", "currency": tier["currency"]}
        desk.expect(
            ("account", {"id": purchase.account_id}),
            ("ledger_account", wallet),
            likely_none=(
                ("orders", {"account_id": purchase.account_id, "idem_key": purchase.key}),
                ("tier_withdrawal", {"tier_id": purchase.tier_id}),
                ("version_notice", {"version_id": tier["version_id"], "kind": "yanked"}),
            ),
        )


def _check_offer(desk: Desk, purchase: Purchase, tier: Values) -> None:
    if desk.one("tier_withdrawal", tier_id=tier["id"]) is not None:
        raise _gone("this price is no longer on offer")
    if tier["kind"] == "package" and desk.one("version_notice", version_id=tier["version_id"], kind="yanked"):
        raise _gone("this version was taken off the market")
    if tier["kind"] == "maintenance" and not holds_product(desk, purchase.account_id, text(tier, "product_id")):
        raise RefusedError(
            "not-entitled",
            "maintenance is for who has bought a version of the package",
            hint="Buy a version first.",
        )


def _signed(
    desk: Desk, market: Market, purchase: Purchase, tier: Values, at: str
) -> tuple[tuple[Row, ...], str | None]:
    if not tier["requires_signature"]:
        if purchase.signing is not None:
            raise RefusedError("signature-unfit", "this price asks for no signature", hint="Leave the signature out.")
        return (), None
    if purchase.signing is None:
        raise RefusedError(
            "signature-required",
            "this price needs a signed licence",
            hint="Read the terms, name the entity, the signer and the authority, and make each affirmation.",
        )
    signature_id = market.new_id()
    row = licence.signed_row(desk, signature_id, purchase.account_id, text(tier, "terms_id"), purchase.signing, at)
    return (row,), signature_id


def _paid(desk: Desk, market: Market, order: Values, at: str) -> tuple[Row, ...]:
    wallet, opened = payer(desk, market, order, at=at)
    if opened:
        raise RefusedError(
            "insufficient-funds",
            f"the account has no credit in {order['currency']}",
            hint="Ask the operator for credit.",
        )
    sale = sale_row(desk, market, order, wallet, at)
    return (sale, *grant_rows(desk, market, order, text(sale.values, "id"), at))


def sale_row(desk: Desk, market: Market, order: Values, debit: Values, at: str) -> Row:
    """Write the transfer that pays an order."""
    return transfer(
        market.new_id(),
        "sale",
        account_id=text(order, "account_id"),
        debit=debit,
        credit=revenue(desk, text(order, "currency")),
        amount_minor=number(order, "amount_minor"),
        order_id=text(order, "id"),
        at=at,
    )


def _awaited(desk: Desk, market: Market, order: Values, at: str) -> tuple[Row, ...]:
    payer(desk, market, order, at=at)  # a provider that is not open is refused before anybody pays
    columns = ("account_id", "provider", "amount_minor", "currency")
    return (Row("payment", {"order_id": order["id"], **{name: order[name] for name in columns}, "at": at}),)


def _placed(order: Values, rows: tuple[Row, ...]) -> Order:
    ids = {row.table: text(row.values, "id") for row in rows if row.table in {"entitlement", "subscription"}}
    return Order(
        id=text(order, "id"),
        account_id=text(order, "account_id"),
        tier_id=text(order, "tier_id"),
        amount_minor=number(order, "amount_minor"),
        currency=text(order, "currency"),
        provider=text(order, "provider"),
        state="paid" if ids else "pending",
        entitlement_id=ids.get("entitlement", ""),
        subscription_id=ids.get("subscription", ""),
        replayed=False,
    )


def _gone(why: str) -> RefusedError:
    return RefusedError("not-on-offer", why, hint="See what is on offer now; what was bought stays.")
