"""What has to hold of rows that were read together: the part of the audit that reads nothing itself.

Tables are those of all accounts, of one, or of some rights or payments with all that they rest on.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from dayzero.core.errors import IntegrityError
from dayzero.market.affirmation import as_kept, listed
from dayzero.market.chain import canonical, digest, rows_in
from dayzero.market.model import KEYS, Finding, Row, Value, Values, row_name
from dayzero.market.rows import number, text

Tables: TypeAlias = Mapping[str, tuple[Values, ...]]

RIGHTS = ("entitlement", "subscription")
SIDES = (("debit", -1), ("credit", 1))


def recorded(entry: Values) -> tuple[Row, ...]:
    """Read which rows an entry of the journal recorded, as they are kept today.

    Raises:
        IntegrityError: Its body is none, or speaks of a table or a key that there is not.
    """
    rows = as_kept(rows_in(text(entry, "body")))
    if all(row.table in KEYS and row.values.keys() >= set(KEYS[row.table]) for row in rows):
        return rows
    raise IntegrityError("an entry of the journal records what is no row", hint="Run 'dayzero market audit'.")


def hold_row(row: Row, found: Values | None, where: str) -> Iterator[Finding]:
    """Hold a row to what an entry of the journal recorded.

    Args:
        row: As it was recorded.
        found: As it is, ``None`` where it is gone.
        where: The entry.
    """
    if found is None:
        yield Finding(kind="row", where=row.name, reason=f"it is gone; {where} recorded it")
    elif canonical(found) != canonical(row.values):
        yield Finding(kind="row", where=row.name, reason=f"{_difference(row.values, found)}; see {where}")


def _difference(recorded: Values, found: Values) -> str:
    columns = [*found, *(column for column in recorded if column not in found)]
    changed = [column for column in columns if found.get(column) != recorded.get(column)]
    return ", ".join(f"{each} is {found.get(each)!r}, recorded was {recorded.get(each)!r}" for each in changed)


def hold_terms(tables: Tables) -> Iterator[Finding]:
    """Hold terms to their digests, and to the affirmations that are theirs."""
    for table in ("terms", "terms_affirmation"):
        for row in tables[table]:
            if digest(text(row, "body")) != row["sha256"]:
                yield Finding(kind="terms", where=row_name(table, row), reason="its text does not give its hash")
    rows: dict[Value, list[Values]] = defaultdict(list)
    for row in sorted(tables["terms_affirmation"], key=lambda row: number(row, "ord")):
        rows[row["terms_id"]].append(row)
    for row in tables["terms"]:
        if row["affirmations"] != listed(text(each, "sha256") for each in rows.get(row["id"], ())):
            yield Finding(kind="terms", where=row_name("terms", row), reason="its list is not that of its affirmations")


def hold_amount(transfer: Values) -> Iterator[Finding]:
    """Hold a transfer to moving something, forwards."""
    if number(transfer, "amount_minor") <= 0:
        yield Finding(kind="money", where=row_name("transfer", transfer), reason="it moves nothing, or backwards")


def hold_covered(balance: Values) -> Iterator[Finding]:
    """Hold a balance to being no debt."""
    amount = number(balance, "amount_minor")
    if amount < 0:
        where = f"ledger_account {balance['ledger_account_id']}"
        yield Finding(kind="money", where=where, reason=f"it is overdrawn by {-amount}")


def moves(transfers: Iterable[Values]) -> Iterator[tuple[str, int]]:
    """Give what each transfer moves into a wallet, negative where it goes out, in minor units."""
    for row in transfers:
        for side, sign in SIDES:
            if row[f"{side}_kind"] == "wallet":
                yield text(row, f"{side}_id"), sign * number(row, "amount_minor")


def hold_wallets(wallets: set[Value], kept: Mapping[Value, int], folded: Mapping[str, int]) -> Iterator[Finding]:
    """Hold balances to what was moved.

    Args:
        wallets: Ids of the wallets.
        kept: Balances, by account of the ledger.
        folded: What was moved into each wallet, altogether.
    """
    for wallet in sorted({*wallets, *kept, *folded}, key=str):
        where, fold = f"ledger_account {wallet}", folded.get(str(wallet), 0)
        if kept.get(wallet) != fold:
            reason = f"its balance is {kept.get(wallet)}, and its transfers give {fold}"
            yield Finding(kind="money", where=where, reason=reason)
        elif wallet not in wallets:
            yield Finding(kind="money", where=where, reason="a balance is kept of it, and it is no wallet")


def hold_refunds(tables: Tables, backs: Mapping[Value, int]) -> Iterator[Finding]:
    """Hold what went back to what was paid, and where all of it did, the right to its revocation.

    Args:
        tables: ``transfer`` with the sales, rights and revocations of their orders.
        backs: How much went back of each sale.
    """
    revoked = {row["entitlement_id"] or row["subscription_id"] for row in tables["revocation"]}
    rights: dict[Value, list[tuple[str, Values]]] = defaultdict(list)
    for table in RIGHTS:
        for right in tables[table]:
            rights[right["order_id"]].append((table, right))
    for sale in tables["transfer"]:
        back, paid = backs.get(sale["id"], 0), number(sale, "amount_minor")
        if back > paid:
            yield Finding(kind="money", where=row_name("transfer", sale), reason=f"{back} of it were refunded")
        if sale["kind"] != "sale" or back != paid:
            continue
        for table, right in rights[sale["order_id"]]:
            if right["transfer_id"] == sale["id"] and right["id"] not in revoked:
                reason = "all of its payment went back, and it was not revoked"
                yield Finding(kind="right", where=row_name(table, right), reason=reason)


def hold_rights(tables: Tables) -> Iterator[Finding]:
    """Hold every right to use to its payment and its signature."""
    orders = {row["id"]: row for row in tables["orders"]}
    sales = {row["order_id"]: row for row in tables["transfer"] if row["kind"] == "sale"}
    tiers = {row["id"]: row for row in tables["price_tier"]}
    signed = {row["id"]: _signed(row, "terms_id", "terms_sha256") for row in tables["signature"]}
    asked = {_signed(row, "id", "sha256") for row in tables["terms"]}
    for table in RIGHTS:
        for right in tables[table]:
            where, order = row_name(table, right), orders.get(right["order_id"])
            sale, tier = sales.get(right["order_id"]), tiers.get(order["tier_id"]) if order else None
            if order is None or tier is None or sale is None or sale["id"] != right["transfer_id"]:
                yield Finding(kind="right", where=where, reason="no payment of its order stands under it")
                continue
            if sale["amount_minor"] != tier["amount_minor"] or sale["account_id"] != right["account_id"]:
                yield Finding(kind="right", where=where, reason="its payment is not its price, or not its holder's")
            if tier["requires_signature"] and signed.get(right["signature_id"]) not in asked:
                reason = "its price demands a signature, and no whole one is there"
                yield Finding(kind="right", where=where, reason=reason)


def _signed(row: Values, terms: str, sha256: str) -> tuple[Value, ...]:
    return row[terms], row[sha256], row["affirmations"]


def hold_deliveries(deliveries: Iterable[Values], tables: Tables) -> Iterator[Finding]:
    """Name the money that a provider speaks of and the books could not enter; a person has to look.

    Args:
        deliveries: What is looked at.
        tables: ``provider_event`` with these and all that was said of their payments, and orders, settlements and deposits of it.
    """
    orders = {(row["provider"], row["id"]) for row in tables["orders"]}
    posts = {(row["provider"], row["event_id"]) for row in tables["settlement"] if row["outcome"] == "post"}
    kept = {row["idem_key"] for row in tables["transfer"] if row["kind"] == "deposit"}
    paid = [row for row in tables["provider_event"] if row["kind"] == "paid"]
    posted = {_payment(row) for row in paid if (row["provider"], row["event_id"]) in posts}
    entered = posted | {_payment(row) for row in paid if deposit_key(row) in kept}
    payments = {_payment(row) for row in paid}
    for row in deliveries:
        where, payment = row_name("provider_event", row), _payment(row)
        if row["kind"] not in {"paid", "refunded", "disputed"}:
            continue
        if (row["provider"], row["order_id"]) not in orders:
            yield Finding(kind="provider", where=where, reason="no order here is meant")
        elif row["kind"] == "paid" and payment not in entered:
            yield Finding(kind="provider", where=where, reason="the money could not be entered")
        elif row["kind"] != "paid" and payment in payments and payment not in posted:
            yield Finding(kind="provider", where=where, reason="money went back that pays no order here")


def deposit_key(delivery: Values) -> str:
    """Give the key of the deposit that a delivery's money became, where it did."""
    return f"deposit:{delivery['provider']}:{delivery['event_id']}"


def _payment(delivery: Values) -> tuple[Value, Value]:
    """Name a payment; what the provider gave no name is one by itself."""
    return delivery["provider"], delivery["payment_ref"] or f"delivery {delivery['event_id']}"
