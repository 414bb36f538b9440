"""Go on with an audit from a signed checkpoint: what was recorded since is held to the rows, the money and the rights it concerns.

What the checkpoint covers is not read again: its hash stands for every entry up to it. Rows that no entry recorded, rows of before
that were changed, and money that a provider speaks of and that is not in the books are found by the full audit alone.
"""

from collections.abc import Iterator, Mapping

from dayzero.core.errors import IntegrityError
from dayzero.market.affirmation import as_kept
from dayzero.market.audit import Audited, hold_money, hold_rights, hold_row
from dayzero.market.chain import Head, broken, heads_in, rows_in
from dayzero.market.checkpoint import Signed
from dayzero.market.model import HOUSE, Finding, Values
from dayzero.market.ports import Desk, Market
from dayzero.market.rows import number, text

_OF_ACCOUNT = ("orders", "transfer", "signature", "entitlement", "subscription", "revocation")


class _Seen:
    """What was looked at, and what was found."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.entries = self.rows = self.accounts = self.blocks = 0

    def chain(self, entries: Iterator[Values], name: str, head: Head) -> Iterator[Values]:
        """Hold each entry to the one before it, and give it on."""
        for entry in entries:
            self.findings += broken((entry,), name, head)
            head = Head(number(entry, "seq"), text(entry, "hash"))
            yield entry


def audit_since(market: Market, since: Signed) -> Audited:
    """Audit what was recorded since a checkpoint. Memory: the head of each chain, and the rows of one account that has grown.

    Args:
        market: The market.
        since: The checkpoint, its signature checked.
    """
    return market.books.read(lambda desk: _audit(desk, since))


def _audit(desk: Desk, since: Signed) -> Audited:
    seen = _Seen()
    covered = _covered(desk, since, seen)
    found = desk.heads() if covered is not None else {}
    for account, head in sorted((covered or {}).items()):
        if account not in found or found[account].seq < head.seq:
            seen.findings.append(_lost(account, head, since))
    for account, newest in sorted(found.items()):
        base = (covered or {}).get(account, Head())
        if newest.seq >= base.seq and newest != base:
            seen.accounts += 1
            _grown(desk, account, base, seen)
    return Audited(
        findings=tuple(seen.findings),
        entries=seen.entries,
        rows=seen.rows,
        accounts=seen.accounts,
        blocks=seen.blocks,
        checkpoints=1,
        since=since.seq,
    )


def _covered(desk: Desk, since: Signed, seen: _Seen) -> dict[str, Head] | None:
    """Go through the blocks, and give the heads that the signed one stands for; ``None`` where it is not there as it was signed."""
    covered: dict[str, Head] | None = None
    heads: dict[str, Head] = {}
    for block in seen.chain(desk.entries("block", 1), "block", Head()):
        seen.blocks += 1
        try:
            heads |= heads_in(text(block, "body"))
        except IntegrityError as error:
            seen.findings.append(Finding(kind="chain", where=f"block #{block['seq']}", reason=error.message))
        if block["seq"] == since.seq and block["hash"] == since.hash:
            covered = dict(heads)
    if covered is None:
        reason = f"it is gone, or has another hash than the signed checkpoint ({since.name})"
        seen.findings.append(Finding(kind="checkpoint", where=f"block #{since.seq}", reason=reason))
    return covered


def _grown(desk: Desk, account: str, base: Head, seen: _Seen) -> None:
    """Hold a chain that has grown to the head it had, and what its new entries recorded to the rows."""
    name = f"journal {account}"
    entries = desk.entries("journal", max(base.seq, 1), account_id=account)
    if base.seq:
        first = next(entries, None)
        if first is None or first["hash"] != base.hash:
            seen.findings.append(
                Finding(kind="chain", where=f"{name} #{base.seq}", reason="a block says it had another hash")
            )
    for entry in seen.chain(entries, name, base):
        seen.entries += 1
        where = f"{name} #{entry['seq']}"
        try:
            recorded = as_kept(rows_in(text(entry, "body")))
        except IntegrityError as error:
            seen.findings.append(Finding(kind="row", where=where, reason=error.message))
            continue
        for row in recorded:
            seen.rows += 1
            seen.findings += hold_row(row, desk.stored(row), where)
    if account != HOUSE:
        tables = _tables(desk, account)
        seen.findings += hold_money(tables, tables["balance"])
        seen.findings += hold_rights(tables)


def _tables(desk: Desk, account: str) -> Mapping[str, tuple[Values, ...]]:
    """Read what one account's money and rights rest on."""
    tables = {table: desk.every(table, account_id=account) for table in _OF_ACCOUNT}
    wallets = desk.every("ledger_account", owner_id=account)
    tiers = sorted({text(row, "tier_id") for row in tables["orders"]})
    terms = sorted({text(row, "terms_id") for row in tables["signature"]})
    return {
        **tables,
        "ledger_account": wallets,
        "balance": tuple(row for each in wallets for row in desk.every("balance", ledger_account_id=each["id"])),
        "price_tier": tuple(row for tier in tiers for row in desk.every("price_tier", id=tier)),
        "terms": tuple(row for each in terms for row in desk.every("terms", id=each)),
    }


def _lost(account: str, head: Head, since: Signed) -> Finding:
    reason = f"block #{since.seq} or one before it says it was there"
    return Finding(kind="chain", where=f"journal {account} #{head.seq}", reason=reason)
