"""Go through the books as a stranger would: chains, rows, money, and what every right to use rests on. Nothing is taken on trust.

The database refuses what is wrong when it is written; the audit finds what somebody changed behind its back.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from dayzero.core.errors import IntegrityError
from dayzero.market.affirmation import as_kept, listed
from dayzero.market.chain import broken, canonical, digest, heads_in, rows_in
from dayzero.market.checkpoint import Signed
from dayzero.market.model import KEYS, Finding, Row, Value, Values, row_name
from dayzero.market.ports import Desk, Market
from dayzero.market.rows import number, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """What the audit saw.

    Attributes:
        findings: What is wrong, the chains first.
        entries, rows, accounts, blocks: How much was looked at.
        checkpoints: How many signed checkpoints the books were held to.
        since: The block after which the audit began; 0 where it read everything.
    """

    findings: tuple[Finding, ...]
    entries: int
    rows: int
    accounts: int
    blocks: int
    checkpoints: int
    since: int = 0


def audit(market: Market, checkpoints: tuple[Signed, ...] = ()) -> Audited:
    """Audit the books.

    Args:
        market: The market.
        checkpoints: Checkpoints that were kept outside the database, their signatures checked.
    """
    return market.books.read(lambda desk: _audit(desk, checkpoints))


def _audit(desk: Desk, checkpoints: tuple[Signed, ...]) -> Audited:
    journal, blocks = desk.every("journal"), desk.every("block")
    tables = {table: desk.every(table) for table in KEYS}
    findings = (
        *_chains(journal),
        *_blocks(journal, blocks, checkpoints),
        *_rows(journal, tables),
        *_terms(tables),
        *hold_money(tables, desk.every("balance")),
        *hold_rights(tables),
        *_providers(tables),
    )
    return Audited(
        findings=findings,
        entries=len(journal),
        rows=sum(len(rows) for rows in tables.values()),
        accounts=len({row["account_id"] for row in journal}),
        blocks=len(blocks),
        checkpoints=len(checkpoints),
    )


def _chains(journal: tuple[Values, ...]) -> Iterator[Finding]:
    for account, entries in _by(journal, "account_id").items():
        yield from broken(entries, f"journal {account}")


def _blocks(
    journal: tuple[Values, ...], blocks: tuple[Values, ...], checkpoints: tuple[Signed, ...]
) -> Iterator[Finding]:
    yield from broken(blocks, "block")
    hashes = {(text(row, "account_id"), number(row, "seq")): text(row, "hash") for row in journal}
    for block in blocks:
        try:
            heads = heads_in(text(block, "body"))
        except IntegrityError as error:
            yield Finding(kind="chain", where=f"block #{block['seq']}", reason=error.message)
            continue
        for account, head in heads.items():
            found = hashes.get((account, head.seq))
            if found != head.hash:
                reason = f"block #{block['seq']} says it was there" + (", with another hash" if found else "")
                yield Finding(kind="chain", where=f"journal {account} #{head.seq}", reason=reason)
    written = {number(row, "seq"): text(row, "hash") for row in blocks}
    for signed in checkpoints:
        if written.get(signed.seq) != signed.hash:
            reason = "a signed checkpoint says that it had another hash" if signed.seq in written else "it is gone"
            yield Finding(kind="checkpoint", where=f"block #{signed.seq}", reason=f"{reason} ({signed.name})")


def _rows(journal: tuple[Values, ...], tables: Mapping[str, tuple[Values, ...]]) -> Iterator[Finding]:
    """Hold every row to what was written about it when it was recorded."""
    present = {row_name(table, row): row for table, rows in tables.items() for row in rows}
    said: set[str] = set()
    for entry in journal:
        where = f"journal {entry['account_id']} #{entry['seq']}"
        try:
            recorded = as_kept(rows_in(text(entry, "body")))
        except IntegrityError as error:
            yield Finding(kind="row", where=where, reason=error.message)
            continue
        for row in recorded:
            said.add(row.name)
            yield from hold_row(row, present.get(row.name), where)
    for name in present:
        if name not in said:
            yield Finding(kind="row", where=name, reason="no entry of the journal recorded it")


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
    changed = [column for column in found if found[column] != recorded.get(column)]
    return ", ".join(f"{column} is {found[column]!r}, recorded was {recorded.get(column)!r}" for column in changed)


def _terms(tables: Mapping[str, tuple[Values, ...]]) -> Iterator[Finding]:
    for table in ("terms", "terms_affirmation"):
        for row in tables[table]:
            if digest(text(row, "body")) != row["sha256"]:
                yield Finding(kind="terms", where=row_name(table, row), reason="its text does not give its hash")

    rows = _by(tables["terms_affirmation"], "terms_id")
    for row in tables["terms"]:
        if row["affirmations"] != listed(text(each, "sha256") for each in rows.get(row["id"], ())):
            yield Finding(kind="terms", where=row_name("terms", row), reason="its list is not that of its affirmations")


def hold_money(tables: Mapping[str, tuple[Values, ...]], balances: tuple[Values, ...]) -> Iterator[Finding]:
    """Hold balances to the transfers, of all accounts or of one."""
    folded: dict[Value, int] = defaultdict(int)
    for row in tables["transfer"]:
        folded[row["debit_id"]] -= number(row, "amount_minor")
        folded[row["credit_id"]] += number(row, "amount_minor")
        if number(row, "amount_minor") <= 0:
            yield Finding(kind="money", where=row_name("transfer", row), reason="it moves nothing, or backwards")
    kept = {row["ledger_account_id"]: number(row, "amount_minor") for row in balances}
    for wallet in (row for row in tables["ledger_account"] if row["kind"] == "wallet"):
        where, fold = row_name("ledger_account", wallet), folded[wallet["id"]]
        if kept.get(wallet["id"]) != fold:
            reason = f"its balance is {kept.get(wallet['id'])}, and its transfers give {fold}"
            yield Finding(kind="money", where=where, reason=reason)
        if fold < 0:
            yield Finding(kind="money", where=where, reason=f"it is overdrawn by {-fold}")
    backs = _by(tables["transfer"], "reverses_id")
    for sale in tables["transfer"]:
        back = sum(number(row, "amount_minor") for row in backs.get(sale["id"], ()))
        if back > number(sale, "amount_minor"):
            yield Finding(kind="money", where=row_name("transfer", sale), reason=f"{back} of it were refunded")


def hold_rights(tables: Mapping[str, tuple[Values, ...]]) -> Iterator[Finding]:
    """Hold every right to use to its payment and its signature, of all accounts or of one."""
    orders = {row["id"]: row for row in tables["orders"]}
    sales = {row["order_id"]: row for row in tables["transfer"] if row["kind"] == "sale"}
    tiers = {row["id"]: row for row in tables["price_tier"]}
    signed = {row["id"]: _signed(row, "terms_id", "terms_sha256") for row in tables["signature"]}
    asked = {_signed(row, "id", "sha256") for row in tables["terms"]}
    revoked = {row["entitlement_id"] or row["subscription_id"] for row in tables["revocation"]}
    backs = _by(tables["transfer"], "reverses_id")
    for table in ("entitlement", "subscription"):
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
            if _back(backs.get(sale["id"], ())) == sale["amount_minor"] and right["id"] not in revoked:
                yield Finding(kind="right", where=where, reason="all of its payment went back, and it was not revoked")


def _signed(row: Values, terms: str, sha256: str) -> tuple[Value, ...]:
    return row[terms], row[sha256], row["affirmations"]


def _back(rows: Iterable[Values]) -> int:
    return sum(number(row, "amount_minor") for row in rows)


def _providers(tables: Mapping[str, tuple[Values, ...]]) -> Iterator[Finding]:
    """Name the money that a provider speaks of and the books could not enter; a person has to look."""
    orders = {(row["provider"], row["id"]): row for row in tables["orders"]}
    posted = _payments(tables, {row["event_id"] for row in tables["settlement"] if row["outcome"] == "post"})
    keys = {text(row, "idem_key").partition(":")[2] for row in tables["transfer"] if row["kind"] == "deposit"}
    kept = _payments(tables, {row["event_id"] for row in tables["provider_event"] if _deposit_key(row) in keys})
    paid = {(row["provider"], row["payment_ref"]) for row in tables["provider_event"] if row["kind"] == "paid"}
    for row in tables["provider_event"]:
        where, payment = row_name("provider_event", row), (row["provider"], row["payment_ref"])
        if row["kind"] not in {"paid", "refunded", "disputed"}:
            continue
        if (row["provider"], row["order_id"]) not in orders:
            yield Finding(kind="provider", where=where, reason="no order here is meant")
        elif row["kind"] == "paid" and payment not in posted | kept:
            yield Finding(kind="provider", where=where, reason="the money could not be entered")
        elif row["kind"] != "paid" and payment in paid and payment not in posted:
            yield Finding(kind="provider", where=where, reason="money went back that pays no order here")


def _payments(tables: Mapping[str, tuple[Values, ...]], events: set[Value]) -> set[tuple[Value, Value]]:
    return {
        (row["provider"], row["payment_ref"])
        for row in tables["provider_event"]
        if row["event_id"] in events and row["kind"] == "paid"
    }


def _deposit_key(event: Values) -> str:
    return f"{event['provider']}:{event['event_id']}"


def _by(rows: Iterable[Values], column: str) -> dict[Value, list[Values]]:
    grouped: dict[Value, list[Values]] = defaultdict(list)
    for row in rows:
        grouped[row[column]].append(row)
    return grouped
