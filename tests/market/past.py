"""Ways past the database's refusals, as its owner or on the file, and what the audit has to name for each."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from tests.market import books

from dayzero.market.chain import Head, link, rows_in
from dayzero.market.model import Finding, Values
from dayzero.market.ports import Desk, Market


def force(place: books.Place, *statements: str) -> None:
    """Change the database as nobody should: as superuser without triggers, or on the file."""
    if place.cluster:
        place.cluster.sql("; ".join(("SET session_replication_role = replica", *statements)), place.name)
        return
    plain = sqlite3.connect(place.database, isolation_level=None)
    for (trigger,) in plain.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        plain.execute(f"DROP TRIGGER {trigger}")
    for statement in statements:
        plain.execute(statement)
    plain.close()


@dataclass(frozen=True)
class Fault:
    """What was done, and what has to be named.

    Attributes:
        name: What was done.
        kind: Kind of the finding.
        where: Where it has to be, whole.
        reason: A part of its reason.
    """

    name: str
    kind: str
    where: str
    reason: str

    def named(self, findings: tuple[Finding, ...]) -> bool:
        """Say whether the audit names it."""
        return any(
            found.kind == self.kind and found.where == self.where and self.reason in found.reason for found in findings
        )


def tamper(place: books.Place, market: Market) -> list[Fault]:
    """Do every kind of harm, each to a buyer of its own among many, and say what has to be named."""
    accounts = market.books.read(_buyers)
    spread = [accounts[(len(accounts) - 1) * number // (len(TAMPERED) - 1)] for number in range(len(TAMPERED))]
    statements, faults = [], []
    for (name, harm), account in zip(TAMPERED.items(), spread, strict=True):
        journal = market.books.read(lambda desk, account=account: desk.every("journal", account_id=account))
        done, *expected = harm(journal)
        statements += done
        faults += [Fault(name, *each) for each in expected]
    force(place, *statements)
    return faults


def _buyers(desk: Desk) -> list[str]:
    return sorted(account for account in desk.heads() if account.startswith("copy-"))


def _where(entry: Values) -> str:
    return f"journal {entry['account_id']} #{entry['seq']}"


def _row(entry: Values) -> str:
    return f"account_id = '{entry['account_id']}' AND seq = {entry['seq']}"


def _body(place: int) -> Callable[[tuple[Values, ...]], tuple]:
    """Change the bytes of an entry."""

    def harm(journal: tuple[Values, ...]) -> tuple:
        entry = journal[place]
        change = f'UPDATE journal SET body = replace(body, \'"at":"2026\', \'"at":"2025\') WHERE {_row(entry)}'
        return [change], ("chain", _where(entry), "its bytes do not give its hash")

    return harm


def _deleted(journal: tuple[Values, ...]) -> tuple:
    gone, after = journal[4:6]
    return [f"DELETE FROM journal WHERE {_row(gone)}"], ("chain", _where(after), f"#{gone['seq']} is missing before it")


def _swapped(journal: tuple[Values, ...]) -> tuple:
    one, two = journal[3:5]
    swap = (
        f"UPDATE journal SET kind = '{new['kind']}', body = '{str(new['body']).replace(chr(39), chr(39) * 2)}', "
        f"hash = '{new['hash']}' WHERE {_row(old)}"
        for old, new in ((one, two), (two, one))
    )
    torn = ("chain", _where(one), "its bytes do not give its hash"), ("chain", _where(two), "it does not follow")
    return list(swap), *torn


def _rehashed(journal: tuple[Values, ...]) -> tuple:
    """Change an entry and give it the hash of what it says now; its successors stay."""
    before, entry, after = journal[4:7]
    linked = link(Head(before["seq"], before["hash"]), str(entry["body"]).replace('"at":"2026', '"at":"2025'))
    change = f"UPDATE journal SET body = replace(body, '\"at\":\"2026', '\"at\":\"2025'), hash = '{linked.hash}' WHERE {_row(entry)}"
    return [change], ("chain", _where(after), "it does not follow from the entry before it")


def _shortened(journal: tuple[Values, ...]) -> tuple:
    """Take the last entry away, whose hash a block has."""
    last = journal[-1]
    return [f"DELETE FROM journal WHERE {_row(last)}"], ("chain", _where(last), "block #1 says it was there")


def _changed_row(journal: tuple[Values, ...]) -> tuple:
    account = journal[0]["account_id"]
    change = f"UPDATE account SET name = 'else' WHERE id = '{account}'"
    return [change], ("row", f"account {account}", "name is 'else'")


def _recorded(journal: tuple[Values, ...], table: str) -> Values:
    return next(row.values for entry in journal for row in rows_in(str(entry["body"])) if row.table == table)


def _refunded_twice(journal: tuple[Values, ...]) -> tuple:
    sale, back = _recorded(journal, "revocation")["sale_id"], _recorded(journal, "revocation")["refund_id"]
    change = f"UPDATE transfer SET amount_minor = amount_minor * 2 WHERE id = '{back}'"
    return [change], ("money", f"transfer {sale}", "of it were refunded")


def _not_revoked(journal: tuple[Values, ...]) -> tuple:
    gone = _recorded(journal, "revocation")
    change = f"DELETE FROM revocation WHERE id = '{gone['id']}'"
    return [change], ("right", f"entitlement {gone['entitlement_id']}", "all of its payment went back")


def _another_block(_: tuple[Values, ...]) -> tuple:
    """Write the hash of a block anew: it is not what was signed."""
    change = f"UPDATE block SET hash = '{'0' * 64}' WHERE seq = 1"
    return [change], ("checkpoint", "block #1", "another hash"), ("chain", "block #1", "its bytes do not give its hash")


TAMPERED = {
    "the first entry of the first chain": _body(0),
    "an entry that is gone": _deleted,
    "two entries that are swapped": _swapped,
    "an entry between": _body(5),
    "an entry with a hash of its own": _rehashed,
    "a chain that is shorter than its block says": _shortened,
    "a row": _changed_row,
    "a refund above the sale": _refunded_twice,
    "a right that is not revoked": _not_revoked,
    "a block that is not the signed one": _another_block,
    "the last entry of the last chain": _body(-1),
}
"""What is done, by its name; each gives statements, and what has to be named: kind, place and a part of the reason."""
