"""What has to hold of rows that were read together: the part of the audit that reads nothing itself.

Tables are those of all accounts, of one, or of some rights or payments with all that they rest on.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from dayzero.core.errors import IntegrityError
from dayzero.market.affirmation import as_kept, listed
from dayzero.market.chain import canonical, digest, rows_in
from dayzero.market.model import CREDIT, KEYS, Finding, Row, Value, Values, row_name
from dayzero.market.rows import text
from dayzero.market.subscription import ends_after

Tables: TypeAlias = Mapping[str, tuple[Values, ...]]

RIGHTS = ("entitlement", "subscription")
SIDES = (("debit", -1), ("credit", 1))

_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "entitlement": ("requires_signature",),
    "orders": ("requires_signature", "amount_minor"),
    "payment": ("amount_minor",),
    "price_tier": ("amount_minor", "maintenance_days", "requires_signature", "threshold_minor"),
    "provider_event": ("amount_minor",),
    "signature_policy": ("threshold_minor",),
    "subscription": ("requires_signature",),
    "terms": ("n_affirmations",),
    "terms_affirmation": ("n_affirmations", "ord"),
    "transfer": ("amount_minor",),
}
_WHOLE = (int, type(None))
_OF_PRICE = ("product_id", "kind", "version_id", "requires_signature", "amount_minor", "currency", "terms_id")
_OF_ORDER = ("account_id", "product_id", "requires_signature", "signature_id", "terms_id")
_SAID = ("entity", "signer", "authority")


def whole(row: Values, column: str) -> int:
    """Read a whole number; 0 where something else was put there, which :func:`hold_numbers` names."""
    value = row[column]
    return value if isinstance(value, int) else 0


def hold_numbers(table: str, row: Values) -> list[Finding]:
    """Hold the columns of whole numbers to holding some: SQLite keeps what it is given."""
    wrong = [name for name in _NUMBERS.get(table, ()) if not isinstance(row[name], _WHOLE)]
    return [
        Finding(kind="row", where=row_name(table, row), reason=f"{name} is {row[name]!r}, no whole number")
        for name in wrong
    ]


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
    for row in sorted(tables["terms_affirmation"], key=lambda row: whole(row, "ord")):
        rows[row["terms_id"]].append(row)
    for row in tables["terms"]:
        if row["affirmations"] != listed(text(each, "sha256") for each in rows.get(row["id"], ())):
            yield Finding(kind="terms", where=row_name("terms", row), reason="its list is not that of its affirmations")


def hold_amount(transfer: Values) -> Iterator[Finding]:
    """Hold a transfer to moving something, forwards."""
    if whole(transfer, "amount_minor") <= 0:
        yield Finding(kind="money", where=row_name("transfer", transfer), reason="it moves nothing, or backwards")


def hold_covered(balance: Values) -> Iterator[Finding]:
    """Hold a balance to being a number, and no debt."""
    amount, where = whole(balance, "amount_minor"), f"ledger_account {balance['ledger_account_id']}"
    if not isinstance(balance["amount_minor"], int):
        yield Finding(kind="money", where=where, reason=f"its balance is {balance['amount_minor']!r}, no whole number")
    if amount < 0:
        yield Finding(kind="money", where=where, reason=f"it is overdrawn by {-amount}")


def moves(transfers: Iterable[Values]) -> Iterator[tuple[str, int]]:
    """Give what each transfer moves into a wallet, negative where it goes out, in minor units."""
    for row in transfers:
        for side, sign in SIDES:
            if row[f"{side}_kind"] == "wallet":
                yield text(row, f"{side}_id"), sign * whole(row, "amount_minor")


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
        back, paid = backs.get(sale["id"], 0), whole(sale, "amount_minor")
        if back > paid:
            yield Finding(kind="money", where=row_name("transfer", sale), reason=f"{back} of it were refunded")
        if sale["kind"] != "sale" or back != paid:
            continue
        for table, right in rights[sale["order_id"]]:
            if right["transfer_id"] == sale["id"] and right["id"] not in revoked:
                reason = "all of its payment went back, and it was not revoked"
                yield Finding(kind="right", where=row_name(table, right), reason=reason)


def hold_prices(prices: Iterable[Values]) -> Iterator[Finding]:
    """Hold each price to asking for a signature above its threshold, and under terms where it asks for one."""
    for price in prices:
        asks, above = price["requires_signature"] == 1, whole(price, "amount_minor") > whole(price, "threshold_minor")
        if asks != (price["terms_id"] is not None) or (above and not asks):
            reason = "it is above its threshold and asks for no signature, or asks for one under no terms"
            yield Finding(kind="right", where=row_name("price_tier", price), reason=reason)


def hold_rights(tables: Tables) -> Iterator[Finding]:
    """Hold every right to use to its order, its price, its payment and its signature."""
    orders, tiers = ({row["id"]: row for row in tables[table]} for table in ("orders", "price_tier"))
    sales = {row["order_id"]: row for row in tables["transfer"] if row["kind"] == "sale"}
    came, signed = _came(tables), _whole(tables)
    for table in RIGHTS:
        for right in tables[table]:
            order, sale = orders.get(right["order_id"]), sales.get(right["order_id"])
            tier = tiers.get(order["tier_id"]) if order else None
            if order is None or tier is None or sale is None or sale["id"] != right["transfer_id"]:
                faults = ["no payment of its order stands under it"]
            else:
                faults = [*_unlike(table, right, order, tier), *_unpaid(right, order, tier, sale, came)]
                if (
                    tier["requires_signature"]
                    and (right["signature_id"], order["account_id"], tier["terms_id"]) not in signed
                ):
                    faults.append("its price demands a signature, and no whole one is there")
                if table == "subscription" and not _lasts(right, tier, sale):
                    faults.append("it does not run as long as was bought")
            for reason in faults:
                yield Finding(kind="right", where=row_name(table, right), reason=reason)


def _came(tables: Tables) -> set[tuple[Value, ...]]:
    """Give the sales that a delivery stands under: transfer, order, provider, amount and currency."""
    said = {(row["provider"], row["event_id"]): row for row in tables["provider_event"] if row["kind"] == "paid"}
    posts = (row for row in tables["settlement"] if row["outcome"] == "post")
    found = ((post, said.get((post["provider"], post["event_id"]))) for post in posts)
    return {
        (post["transfer_id"], event["order_id"], event["provider"], event["amount_minor"], event["currency"])
        for post, event in found
        if event is not None
    }


def _whole(tables: Tables) -> set[tuple[Value, ...]]:
    """Give the signatures that are whole, each with who signed and under which terms."""
    asked = {(row["id"], row["sha256"], row["affirmations"]) for row in tables["terms"]}
    return {
        (row["id"], row["account_id"], row["terms_id"])
        for row in tables["signature"]
        if (row["terms_id"], row["terms_sha256"], row["affirmations"]) in asked
        and all(text(row, name).strip() for name in _SAID)
    }


def _unlike(table: str, right: Values, order: Values, tier: Values) -> Iterator[str]:
    """Say where a right is another than was ordered, or the order another than its price."""
    if any(order[name] != tier[name] for name in _OF_PRICE):
        yield "its order is not what its price says"
    columns = _OF_ORDER if table == "subscription" else (*_OF_ORDER, "version_id")
    if any(right[name] != order[name] for name in columns) or (table == "subscription") == (tier["kind"] == "package"):
        yield "it is not what was ordered"


def _unpaid(right: Values, order: Values, tier: Values, sale: Values, came: set[tuple[Value, ...]]) -> Iterator[str]:
    """Say where a sale is not the money of its right."""
    if sale["amount_minor"] != tier["amount_minor"] or sale["account_id"] != right["account_id"]:
        yield "its payment is not its price, or not its holder's"
    if order["provider"] == CREDIT:
        if (sale["debit_kind"], sale["debit_owner"]) != ("wallet", order["account_id"]):
            yield "its payment does not come out of its holder's credit"
    elif (sale["id"], order["id"], order["provider"], sale["amount_minor"], sale["currency"]) not in came:
        yield f"no delivery of {order['provider']} says that it was paid"


def _lasts(right: Values, tier: Values, sale: Values) -> bool:
    try:
        ends = ends_after(text(right, "starts_at"), whole(tier, "maintenance_days"))
    except (ValueError, OverflowError):
        return False
    return text(right, "starts_at") >= text(sale, "at") and right["ends_at"] == ends


def hold_given(sale: Values, held: Collection[Value]) -> Iterator[Finding]:
    """Hold a sale to the right that it gave.

    Args:
        sale: Its transfer.
        held: The sales under the rights that are there.
    """
    if sale["id"] not in held:
        yield Finding(kind="right", where=row_name("transfer", sale), reason="what it paid gave no right to use")


def hold_downloads(tables: Tables) -> Iterator[Finding]:
    """Hold every download to the right that it names, and to the version and kit that this one is of."""
    held, versions, cares = (
        {row["id"]: row for row in tables[table]} for table in ("entitlement", "package_version", "subscription")
    )
    for each in tables["download"]:
        right, version, care = (
            held.get(each["entitlement_id"]),
            versions.get(each["version_id"]),
            cares.get(each["subscription_id"]),
        )
        if right is None or version is None or not _covers(each, right, version, care):
            reason = "no right to this version stands under it"
            yield Finding(kind="right", where=row_name("download", each), reason=reason)


def _covers(each: Values, right: Values, version: Values, care: Values | None) -> bool:
    of = (each["account_id"], each["product_id"])
    own = (right["account_id"], right["product_id"]) == of and right["version_id"] == each["entitled_version_id"]
    kit = (version["product_id"], version["kit_sha256"]) == (each["product_id"], each["kit_sha256"])
    if care is None:
        return own and kit and each["subscription_id"] is None and right["version_id"] == each["version_id"]
    period = text(care, "starts_at") <= text(version, "published_at") < text(care, "ends_at")
    return own and kit and period and (care["account_id"], care["product_id"]) == of


def hold_deliveries(deliveries: Iterable[Values], tables: Tables) -> Iterator[Finding]:
    """Name the money that a provider speaks of and the books could not enter; a person has to look.

    Args:
        deliveries: What is looked at.
        tables: ``provider_event`` with these and all that was said of their payments, and orders, settlements and deposits of it.
    """
    posts = {(row["provider"], row["event_id"]) for row in tables["settlement"] if row["outcome"] == "post"}
    currencies = {(row["provider"], row["id"]): row["currency"] for row in tables["orders"]}
    kept = {row["idem_key"] for row in tables["transfer"] if row["kind"] == "deposit"}
    paid = [row for row in tables["provider_event"] if row["kind"] == "paid"]
    posted = {_payment(row) for row in paid if (row["provider"], row["event_id"]) in posts}
    entered = posted | {_payment(row) for row in paid if deposit_key(row) in kept}
    payments = {_payment(row) for row in paid}
    for row in deliveries:
        where, payment = row_name("provider_event", row), _payment(row)
        if row["kind"] not in {"paid", "refunded", "disputed"}:
            continue
        if (row["provider"], row["order_id"]) not in currencies:
            yield Finding(kind="provider", where=where, reason="no order here is meant")
        elif row["kind"] == "paid" and payment not in entered:
            yield Finding(kind="provider", where=where, reason="the money could not be entered")
        elif row["kind"] != "paid" and payment in payments and payment not in posted:
            yield Finding(kind="provider", where=where, reason="money went back that pays no order here")
        elif row["kind"] != "paid" and row["currency"] != currencies[row["provider"], row["order_id"]]:
            yield Finding(kind="provider", where=where, reason="money went back in another currency than was paid")
        elif row["kind"] == "paid" and (row["provider"], row["event_id"]) in posts and deposit_key(row) in kept:
            yield Finding(kind="money", where=where, reason="its money was entered twice")


def deposit_key(delivery: Values) -> str:
    """Give the key of the deposit that a delivery's money became, where it did."""
    return f"deposit:{delivery['provider']}:{delivery['event_id']}"


def _payment(delivery: Values) -> tuple[Value, Value]:
    """Name a payment; what the provider gave no name is one by itself."""
    return delivery["provider"], delivery["payment_ref"] or f"delivery {delivery['event_id']}"
