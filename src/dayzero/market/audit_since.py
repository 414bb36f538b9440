"""Go on with an audit from a signed checkpoint: what was recorded since is held to the rows, the money and the rights it concerns.

What the checkpoint covers is not read again: its hash stands for every entry up to it. Rows that no entry recorded, rows of before
that were changed, and money that a provider speaks of and that is not in the books are found by the full audit alone.
"""

from collections import defaultdict

from dayzero.core.errors import IntegrityError
from dayzero.market.audit import Audited, Seen
from dayzero.market.audit_rules import (
    RIGHTS,
    Tables,
    hold_amount,
    hold_covered,
    hold_given,
    hold_refunds,
    hold_rights,
    hold_row,
    hold_wallets,
    moves,
    whole,
)
from dayzero.market.chain import Head, heads_in
from dayzero.market.checkpoint import Signed
from dayzero.market.model import CREDIT, HOUSE, Finding, Value
from dayzero.market.ports import Desk, Market
from dayzero.market.rows import text

_OF_ACCOUNT = ("orders", "transfer", "signature", "entitlement", "subscription", "revocation")


def audit_since(market: Market, since: Signed) -> Audited:
    """Audit what was recorded since a checkpoint. Memory: the head of each chain, and the rows of one account that has grown.

    Args:
        market: The market.
        since: The checkpoint, its signature checked.
    """
    return market.books.read(lambda desk: _audit(desk, since))


def _audit(desk: Desk, since: Signed) -> Audited:
    seen = Seen()
    covered = _covered(desk, since, seen)
    found = desk.heads() if covered is not None else {}
    for account, head in sorted((covered or {}).items()):
        if account not in found or found[account].seq < head.seq:
            seen.find([_lost(account, head, since)])
    for account, newest in sorted(found.items()):
        base = (covered or {}).get(account, Head())
        if newest.seq >= base.seq and newest != base:
            seen.accounts += 1
            _grown(desk, account, base, seen)
    return seen.audited(checkpoints=1, since=since.seq)


def _covered(desk: Desk, since: Signed, seen: Seen) -> dict[str, Head] | None:
    """Go through the blocks, and give the heads that the signed one stands for; ``None`` where it is not there as it was signed."""
    covered: dict[str, Head] | None = None
    heads: dict[str, Head] = {}
    for block in seen.chain(desk.entries("block", 1), "block"):
        seen.blocks += 1
        try:
            heads |= heads_in(text(block, "body"))
        except IntegrityError as error:
            seen.find([Finding(kind="chain", where=f"block #{block['seq']}", reason=error.message)])
        if block["seq"] == since.seq and block["hash"] == since.hash:
            covered = dict(heads)
    if covered is None:
        reason = f"it is gone, or has another hash than the signed checkpoint ({since.name})"
        seen.find([Finding(kind="checkpoint", where=f"block #{since.seq}", reason=reason)])
    return covered


def _grown(desk: Desk, account: str, base: Head, seen: Seen) -> None:
    """Hold a chain that has grown to the head it had, and what its new entries recorded to the rows."""
    name = f"journal {account}"
    entries = desk.entries("journal", max(base.seq, 1), account_id=account)
    if base.seq:
        first = next(entries, None)
        if first is None or first["hash"] != base.hash:
            seen.find([Finding(kind="chain", where=f"{name} #{base.seq}", reason="a block says it had another hash")])
    for where, row in seen.recorded(entries, name, base):
        seen.rows += 1
        seen.find(hold_row(row, desk.stored(row), where))
    if account != HOUSE:
        _hold(_tables(desk, account), seen)


def _hold(tables: Tables, seen: Seen) -> None:
    """Hold one account's money and rights to what they rest on."""
    wallets = {row["id"] for row in tables["ledger_account"] if row["kind"] == "wallet"}
    kept = {row["ledger_account_id"]: whole(row, "amount_minor") for row in tables["balance"]}
    folded: dict[str, int] = defaultdict(int)
    backs: dict[Value, int] = defaultdict(int)
    for transfer in tables["transfer"]:
        seen.find(hold_amount(transfer))
        backs[transfer["reverses_id"]] += whole(transfer, "amount_minor")
    for wallet, amount in moves(tables["transfer"]):
        folded[wallet] += amount
    for balance in tables["balance"]:
        seen.find(hold_covered(balance))
    seen.find(hold_wallets(wallets, kept, folded))
    seen.find(hold_refunds(tables, backs))
    held = {right["transfer_id"] for table in RIGHTS for right in tables[table]}
    for transfer in tables["transfer"]:
        if transfer["kind"] == "sale":
            seen.find(hold_given(transfer, held))
    seen.find(hold_rights(tables))


def _tables(desk: Desk, account: str) -> Tables:
    """Read what one account's money and rights rest on."""
    tables = {table: desk.every(table, account_id=account) for table in _OF_ACCOUNT}
    wallets = desk.every("ledger_account", owner_id=account)
    awaited = sorted(text(row, "id") for row in tables["orders"] if row["provider"] != CREDIT)
    tiers = sorted({text(row, "tier_id") for row in tables["orders"]})
    terms = sorted({text(row, "terms_id") for row in tables["signature"]})
    return {
        **tables,
        "settlement": tuple(row for each in awaited for row in desk.every("settlement", order_id=each)),
        "provider_event": tuple(row for each in awaited for row in desk.every("provider_event", order_id=each)),
        "ledger_account": wallets,
        "balance": tuple(row for each in wallets for row in desk.every("balance", ledger_account_id=each["id"])),
        "price_tier": tuple(row for tier in tiers for row in desk.every("price_tier", id=tier)),
        "terms": tuple(row for each in terms for row in desk.every("terms", id=each)),
    }


def _lost(account: str, head: Head, since: Signed) -> Finding:
    reason = f"block #{since.seq} or one before it says it was there"
    return Finding(kind="chain", where=f"journal {account} #{head.seq}", reason=reason)
