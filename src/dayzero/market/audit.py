"""Go through the books as a stranger would: chains, rows, money, and what every right to use rests on. Nothing is taken on trust.

The database refuses what is wrong when it is written; the audit finds what somebody changed behind its back. Every table is read
in turn, a few rows at a time: memory is that of one block, of one batch, and of what was found.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from dayzero.core.errors import IntegrityError
from dayzero.market.audit_rules import (
    RIGHTS,
    deposit_key,
    hold_amount,
    hold_covered,
    hold_deliveries,
    hold_downloads,
    hold_given,
    hold_numbers,
    hold_prices,
    hold_refunds,
    hold_rights,
    hold_row,
    hold_terms,
    hold_wallets,
    moves,
    recorded,
    whole,
)
from dayzero.market.chain import Head, broken, canonical, heads_in
from dayzero.market.checkpoint import Signed
from dayzero.market.model import CREDIT, KEYS, Finding, Row, Value, Values, row_name
from dayzero.market.ports import Desk, Market
from dayzero.market.rows import text
from dayzero.market.tally import Closely, Tally

_BATCH = 250
_CLOSELY = 40_000
_LISTED = 1000
_KINDS = ("chain", "checkpoint", "row", "terms", "money", "right", "provider")

T = TypeVar("T")
Draw: TypeAlias = Callable[[], Tally]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """What the audit saw.

    Attributes:
        findings: What is wrong, the chains first; at most a thousand of a kind.
        unlisted: How many more were found.
        entries, rows, accounts, blocks: How much was looked at.
        checkpoints: How many signed checkpoints the books were held to.
        since: The block after which the audit began; 0 where it read everything.
    """

    findings: tuple[Finding, ...]
    unlisted: int
    entries: int
    rows: int
    accounts: int
    blocks: int
    checkpoints: int
    since: int = 0


class Seen:
    """What was looked at, and what was found: the first ones of each kind, and how many there were."""

    def __init__(self) -> None:
        self._found: list[Finding] = []
        self._kinds: Counter[str] = Counter()
        self.entries = self.rows = self.accounts = self.blocks = 0

    def find(self, findings: Iterable[Finding]) -> None:
        """Take in what was found."""
        for finding in findings:
            self._kinds[finding.kind] += 1
            if self._kinds[finding.kind] <= _LISTED:
                self._found.append(finding)

    def chain(self, entries: Iterable[Values], name: str, head: Head | None = None) -> Iterator[Values]:
        """Hold each entry of a chain to the one before it, and give it on."""
        head = head or Head()
        for entry in entries:
            self.find(broken((entry,), name, head))
            head = Head(whole(entry, "seq"), text(entry, "hash"))
            yield entry

    def recorded(self, entries: Iterable[Values], name: str, head: Head | None = None) -> Iterator[tuple[str, Row]]:
        """Hold a chain of the journal, and give each row that an entry recorded, with the entry."""
        for entry in self.chain(entries, name, head):
            self.entries += 1
            where = f"{name} #{entry['seq']}"
            try:
                rows = recorded(entry)
            except IntegrityError as error:
                self.find([Finding(kind="row", where=where, reason=error.message)])
                continue
            for row in rows:
                yield where, row

    def audited(self, *, checkpoints: int, since: int = 0) -> Audited:
        """Say what was seen."""
        return Audited(
            findings=tuple(sorted(self._found, key=lambda finding: _KINDS.index(finding.kind))),
            unlisted=self._kinds.total() - len(self._found),
            entries=self.entries,
            rows=self.rows,
            accounts=self.accounts,
            blocks=self.blocks,
            checkpoints=checkpoints,
            since=since,
        )


def audit(market: Market, checkpoints: tuple[Signed, ...] = ()) -> Audited:
    """Audit the books. Time is that of reading each table once, twice where something was found.

    Args:
        market: The market.
        checkpoints: Checkpoints that were kept outside the database, their signatures checked.
    """

    def draw() -> Tally:
        return Tally(f"{market.new_id()}{market.new_id()}".encode()[-64:])

    return market.books.read(lambda desk: _audit(desk, checkpoints, draw))


def _audit(desk: Desk, checkpoints: tuple[Signed, ...], draw: Draw) -> Audited:
    seen = Seen()
    _blocks(desk, checkpoints, seen)
    rows = draw()
    for _, row in _recorded(desk, seen):
        rows.add(row.name, f"{row.table} {canonical(row.values)}", 1)
    for table, found in _kept(desk):
        seen.rows += 1
        seen.find(hold_numbers(table, found))
        rows.add(row_name(table, found), f"{table} {canonical(found)}", -1)
    _differing(desk, rows, seen)
    given = draw()
    _money(desk, draw(), given, seen)
    for terms in _batches(desk.stream("terms")):
        said = desk.among("terms_affirmation", "terms_id", _values(terms, "id"))
        seen.find(hold_terms({"terms": terms, "terms_affirmation": said}))
    _refunds(desk, seen)
    seen.find(hold_prices(desk.stream("price_tier")))
    for table in RIGHTS:
        for rights in _batches(desk.stream(table)):
            _rights(desk, table, rights, seen)
            for right in rights:
                given.add(text(right, "transfer_id"), text(right, "transfer_id"), -1)
    _given(desk, Closely(given, _CLOSELY), seen)
    for downloads in _batches(desk.stream("download")):
        _downloads(desk, downloads, seen)
    for deliveries in _batches(row for row in desk.stream("provider_event") if row["kind"] != "other"):
        _deliveries(desk, deliveries, seen)
    return seen.audited(checkpoints=len(checkpoints))


def _recorded(desk: Desk, seen: Seen) -> Iterator[tuple[str, Row]]:
    """Go through every chain of the journal; give each row that an entry recorded, with the entry."""
    for account, entries in itertools.groupby(
        desk.stream("journal", "account_id", "seq"), lambda row: row["account_id"]
    ):
        seen.accounts += 1
        yield from seen.recorded(entries, f"journal {account}")


def _kept(desk: Desk) -> Iterator[tuple[str, Values]]:
    for table in KEYS:
        for row in desk.stream(table):
            yield table, row


def _differing(desk: Desk, rows: Tally, seen: Seen) -> None:
    """Name the rows that are not what was recorded: both sides are read again, and only some groups of them are held."""
    closely, said = Closely(rows, _CLOSELY), set[str]()
    if not closely:
        return
    seen.find(Finding(kind="row", where="rows", reason=reason) for reason in closely.rest("rows"))
    present = {name: row for table, row in _kept(desk) if (name := row_name(table, row)) in closely}
    for where, row in _recorded(desk, Seen()):
        if row.name in closely:
            if row.name in said:
                seen.find([Finding(kind="row", where=row.name, reason=f"{where} records it once more")])
            said.add(row.name)
            seen.find(hold_row(row, present.get(row.name), where))
    unsaid = (name for name in present if name not in said)
    seen.find(Finding(kind="row", where=name, reason="no entry of the journal recorded it") for name in unsaid)


def _blocks(desk: Desk, checkpoints: tuple[Signed, ...], seen: Seen) -> None:
    """Hold the blocks to each other, the journal to what they say of it, and them to the signed checkpoints."""
    written: dict[int, str] = {}
    asked = {signed.seq for signed in checkpoints}
    for block in seen.chain(desk.entries("block", 1), "block"):
        seen.blocks += 1
        if block["seq"] in asked:
            written[whole(block, "seq")] = text(block, "hash")
        try:
            heads = heads_in(text(block, "body"))
        except IntegrityError as error:
            seen.find([Finding(kind="chain", where=f"block #{block['seq']}", reason=error.message)])
            continue
        for some in _batches(heads.items()):
            found = desk.hashes([(account, head.seq) for account, head in some])
            seen.find(
                _lost(block, account, head, found.get((account, head.seq), ""))
                for account, head in some
                if found.get((account, head.seq)) != head.hash
            )
    for signed in checkpoints:
        if written.get(signed.seq) != signed.hash:
            reason = "a signed checkpoint says that it had another hash" if signed.seq in written else "it is gone"
            where = f"block #{signed.seq}"
            seen.find([Finding(kind="checkpoint", where=where, reason=f"{reason} ({signed.name})")])


def _lost(block: Values, account: str, head: Head, found: str) -> Finding:
    reason = f"block #{block['seq']} says it was there" + (", with another hash" if found else "")
    return Finding(kind="chain", where=f"journal {account} #{head.seq}", reason=reason)


def _money(desk: Desk, tally: Tally, given: Tally, seen: Seen) -> None:
    """Hold every balance to the transfers, and count the sales among them."""
    for wallet in _wallets(desk):
        tally.add(wallet, f"is {wallet}", 1)
    for row in desk.stream("balance"):
        seen.find(hold_covered(row))
        tally.add(text(row, "ledger_account_id"), f"is {row['ledger_account_id']}", -1)
        tally.add(text(row, "ledger_account_id"), f"has {row['ledger_account_id']}", -whole(row, "amount_minor"))
    for transfer in desk.stream("transfer"):
        seen.find(hold_amount(transfer))
        for wallet, amount in moves((transfer,)):
            tally.add(wallet, f"has {wallet}", amount)
        if transfer["kind"] == "sale":
            given.add(text(transfer, "id"), text(transfer, "id"), 1)
    closely = Closely(tally, _CLOSELY)
    if closely:
        seen.find(Finding(kind="money", where="balances", reason=reason) for reason in closely.rest("balances"))
        folded: dict[str, int] = defaultdict(int)
        for wallet, amount in moves(desk.stream("transfer")):
            if wallet in closely:
                folded[wallet] += amount
        kept = {
            row["ledger_account_id"]: whole(row, "amount_minor")
            for row in desk.stream("balance")
            if text(row, "ledger_account_id") in closely
        }
        seen.find(hold_wallets({wallet for wallet in _wallets(desk) if wallet in closely}, kept, folded))


def _given(desk: Desk, closely: Closely, seen: Seen) -> None:
    """Name the sales that gave no right; a right without its sale is named with the rights."""
    if not closely:
        return
    seen.find(Finding(kind="right", where="sales", reason=reason) for reason in closely.rest("sales and rights"))
    rights = (text(right, "transfer_id") for table in RIGHTS for right in desk.stream(table))
    held = {sale for sale in rights if sale in closely}
    sales = (row for row in desk.stream("transfer") if row["kind"] == "sale" and text(row, "id") in closely)
    seen.find(itertools.chain.from_iterable(hold_given(sale, held) for sale in sales))


def _wallets(desk: Desk) -> Iterator[str]:
    return (text(row, "id") for row in desk.stream("ledger_account") if row["kind"] == "wallet")


def _refunds(desk: Desk, seen: Seen) -> None:
    went = itertools.groupby(desk.stream("transfer", "reverses_id"), lambda row: row["reverses_id"])
    for some in _batches((sale, sum(whole(row, "amount_minor") for row in rows)) for sale, rows in went):
        sales = desk.among("transfer", "id", [sale for sale, _ in some])
        tables = {"transfer": sales}
        for table in RIGHTS:
            tables[table] = desk.among(table, "order_id", _values(sales, "order_id"))
        revoked = (desk.among("revocation", f"{table}_id", _values(tables[table], "id")) for table in RIGHTS)
        tables["revocation"] = tuple(itertools.chain.from_iterable(revoked))
        seen.find(hold_refunds(tables, dict(some)))


def _rights(desk: Desk, table: str, rights: tuple[Values, ...], seen: Seen) -> None:
    orders = desk.among("orders", "id", _values(rights, "order_id"))
    signatures = desk.among("signature", "id", _values(rights, "signature_id"))
    delivered = [row["id"] for row in orders if row["provider"] != CREDIT]
    nothing: dict[str, tuple[Values, ...]] = dict.fromkeys(RIGHTS, ())
    tables = {
        "orders": orders,
        "transfer": desk.among("transfer", "order_id", _values(rights, "order_id")),
        "price_tier": desk.among("price_tier", "id", _values(orders, "tier_id")),
        "signature": signatures,
        "terms": desk.among("terms", "id", _values(signatures, "terms_id")),
        "settlement": desk.among("settlement", "order_id", delivered),
        "provider_event": desk.among("provider_event", "order_id", delivered),
        table: rights,
    }
    seen.find(hold_rights({**nothing, **tables}))


def _downloads(desk: Desk, downloads: tuple[Values, ...], seen: Seen) -> None:
    rests_on = {"entitlement": "entitlement_id", "package_version": "version_id", "subscription": "subscription_id"}
    tables = {table: desk.among(table, "id", _values(downloads, column)) for table, column in rests_on.items()}
    seen.find(hold_downloads({**tables, "download": downloads}))


def _deliveries(desk: Desk, deliveries: tuple[Values, ...], seen: Seen) -> None:
    payments = [value for value in _values(deliveries, "payment_ref") if value]
    said = {(row["provider"], row["event_id"]): row for row in deliveries}
    said |= {(row["provider"], row["event_id"]): row for row in desk.among("provider_event", "payment_ref", payments)}
    events = tuple(said.values())
    orders = _values(events, "order_id")
    tables = {
        "provider_event": events,
        "orders": desk.among("orders", "id", orders),
        "settlement": desk.among("settlement", "order_id", orders),
        "transfer": desk.among("transfer", "idem_key", [deposit_key(row) for row in events if row["kind"] == "paid"]),
    }
    seen.find(hold_deliveries(deliveries, tables))


def _values(rows: Iterable[Values], column: str) -> list[Value]:
    return sorted({row[column] for row in rows if row[column] is not None}, key=str)


def _batches(found: Iterable[T]) -> Iterator[tuple[T, ...]]:
    waiting = iter(found)
    while some := tuple(itertools.islice(waiting, _BATCH)):
        yield some
