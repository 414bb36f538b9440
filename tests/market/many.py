"""Books with as many entries as are asked for: what one buyer did through the market, written again for many, past the market.

A million deeds of their own would take an hour. The copies have names, chains and balances of their own; nothing tells them from
deeds but the time that they took.
"""

import itertools
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
from tests.market import books

from dayzero.adapters.market_store import statements
from dayzero.market.account import open_account
from dayzero.market.chain import Head, link, rows_in
from dayzero.market.ledger import Grant, grant
from dayzero.market.model import Event, Purchase, Row
from dayzero.market.order import buy
from dayzero.market.ports import Desk, Market
from dayzero.market.refund import Refund
from dayzero.market.settlement import enter
from dayzero.wiring.market import refund_the_way_it_came

MARK = "copy-00000000"
AT_ONCE = 200


@dataclass(frozen=True)
class Life:
    """What one buyer did: the entries of the chain, and the balances that came of it."""

    account: str
    entries: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]


def fill(place: books.Place, entries: int) -> list[str]:
    """Make a market with at least so many entries, and give the accounts of the copies."""
    with books.market_at(place.owner, books.Clock()) as owner:
        shop = books.stock(owner)
        books.fund(owner, shop.buyer, 1)  # opens what the house has for all of them
        numbers = itertools.count()
        marked = Market(books=owner.books, now=owner.now, new_id=lambda: f"{MARK}-{next(numbers):04x}")
        life = _live(marked, shop)
        balances = owner.books.read(lambda desk: _balances(desk, life.account))
    life = Life(life.account, life.entries, (*life.rows, *balances))
    copies = range(1, -(-entries // len(life.entries)) + 1)
    write = _write_postgres if place.cluster else _write_sqlite
    write(place, itertools.chain.from_iterable(_copies(life, copies)))
    return [life.account.replace(MARK, _named(copy)) for copy in copies]


def _live(market: Market, shop: books.Shop) -> Life:
    """Have a buyer do everything once: credit, a signed licence, others, maintenance, a refund, a payment through a provider."""
    account = open_account(market, f"buyer-{MARK}")
    grant(market, Grant(account_id=account, amount_minor=3_000_000, currency="EUR", key=f"fund-{MARK}", reason="test"))
    buy(market, books.purchase(shop, "signed", account_id=account))
    for key in ("one", "two"):
        order = buy(market, Purchase(account_id=account, key=key, tier_id=shop.community))
    refund_the_way_it_came(market, Refund(order_id=order.id, key=f"back-{MARK}", reason="test"))
    buy(market, Purchase(account_id=account, key="care", tier_id=shop.maintenance))
    waits = buy(market, Purchase(account_id=account, key="waits", tier_id=shop.community, provider="stripe"))
    said = {"provider": "stripe", "order_id": waits.id, "payment": f"pay-{MARK}", "currency": "EUR", "body": "{}"}
    enter(market, Event(id=f"other-{MARK}", kind="other", amount_minor=0, **said))
    enter(market, Event(id=f"paid-{MARK}", kind="paid", amount_minor=books.COMMUNITY, **said))
    journal = market.books.read(lambda desk: desk.every("journal", account_id=account))
    bodies = tuple((str(entry["kind"]), str(entry["body"])) for entry in journal)
    return Life(account, bodies, tuple(row for _, body in bodies for row in rows_in(body)))


def _balances(desk: Desk, account: str) -> tuple[Row, ...]:
    wallets = desk.every("ledger_account", owner_id=account)
    return tuple(Row("balance", row) for each in wallets for row in desk.every("balance", ledger_account_id=each["id"]))


def _named(copy: int) -> str:
    return f"copy-{copy:08x}"


def _copies(life: Life, copies: range) -> Iterator[Iterator[tuple[str, tuple[object, ...]]]]:
    """Give the rows of each copy, each after those that it refers to."""
    shapes = [(row.table, statements.bound(row)) for row in life.rows]
    for copy in copies:
        name = _named(copy)
        yield (
            (table, tuple(each.replace(MARK, name) if isinstance(each, str) else each for each in values))
            for table, values in shapes
        )
        yield _chain(life, name)


def _chain(life: Life, name: str) -> Iterator[tuple[str, tuple[object, ...]]]:
    head, account = Head(), life.account.replace(MARK, name)
    for kind, body in life.entries:
        linked = link(head, body.replace(MARK, name))
        yield "journal", (account, linked.seq, linked.prev_seq, kind, linked.body, linked.prev_hash, linked.hash)
        head = Head(linked.seq, linked.hash)


def _grouped(rows: Iterator[tuple[str, tuple[object, ...]]]) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
    while some := list(itertools.islice(rows, AT_ONCE * 50)):
        grouped: dict[str, list[tuple[object, ...]]] = {}
        for table, values in some:
            grouped.setdefault(table, []).append(values)
        yield from grouped.items()


def _write_sqlite(place: books.Place, rows: Iterator[tuple[str, tuple[object, ...]]]) -> None:
    """Write with the triggers set aside: they would work each balance out again at each transfer."""
    plain = sqlite3.connect(place.database, isolation_level=None)
    triggers = plain.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    plain.execute("BEGIN")
    for name, _ in triggers:
        plain.execute(f"DROP TRIGGER {name}")
    for table, some in _grouped(rows):
        plain.executemany(statements.insert(table, "?"), some)
    for _, body in triggers:
        plain.execute(body)
    plain.execute("COMMIT")
    plain.close()


def _write_postgres(place: books.Place, rows: Iterator[tuple[str, tuple[object, ...]]]) -> None:
    with psycopg.connect(place.owner) as plain:
        plain.execute("SET session_replication_role = replica")
        for table, some in _grouped(rows):
            with plain.cursor().copy(f"COPY {table} ({', '.join(statements.columns(table))}) FROM STDIN") as copy:
                for values in some:
                    copy.write_row(values)
