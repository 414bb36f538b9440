"""A buyer's process that is killed after any statement of a purchase leaves all of it or nothing; the same for the server."""

import itertools
import os
import signal
from pathlib import Path

import pytest
import sqlalchemy
from tests.market import books
from tests.postgres_fixtures import PostgresCluster

from dayzero.market.audit import audit
from dayzero.market.ledger import balance

TABLES = (
    "signature",
    "signature_affirmation",
    "signature_seal",
    "orders",
    "transfer",
    "entitlement",
    "journal",
    "balance",
)
DONE = 42


def buy_and_die(place: books.Place, shop: books.Shop, last: int, *, one_by_one: bool) -> int:
    """Buy in a process of its own that kills itself after its N-th statement, the transaction's end too; give how it ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        with books.market_at(place.database, books.Clock(), pool_size=1, one_by_one=one_by_one) as market:
            market.books.read(lambda desk: desk.one("account", id=shop.buyer))
            statements = itertools.count(1)

            def count(*_: object) -> None:
                if next(statements) == last:
                    os.kill(os.getpid(), signal.SIGKILL)

            engine = market.books._engine  # noqa: SLF001  (the test dies inside it)
            sqlalchemy.event.listen(engine, "after_cursor_execute", count)
            sqlalchemy.event.listen(engine, "commit", count)  # before the commit is sent
            books.buy_signed(market, shop, "crash")
        os._exit(DONE)
    finally:
        os._exit(1)


def state(market) -> dict[str, object]:
    return {table: market.books.read(lambda desk, table=table: desk.every(table)) for table in TABLES}


@pytest.mark.parametrize(
    ("place", "one_by_one"),
    [("sqlite", True), ("postgresql", False), ("postgresql", True)],
    indirect=["place"],
    ids=["sqlite", "postgresql", "postgresql, row by row"],
)
def test_a_purchase_that_is_killed_after_any_statement_left_nothing(place, one_by_one, owner, shop):
    books.fund(owner, shop.buyer, 2 * books.ENTERPRISE)
    before, killed = state(owner), 0
    while (ended := buy_and_die(place, shop, killed + 1, one_by_one=one_by_one)) == -signal.SIGKILL:
        killed += 1
        assert state(owner) == before
        assert audit(owner).findings == ()
    assert ended == DONE
    assert killed >= (15 if one_by_one else 2)
    assert balance(owner, shop.buyer, "EUR") == books.ENTERPRISE
    assert len(state(owner)["entitlement"]) == 1
    assert audit(owner).findings == ()


def test_a_server_that_dies_keeps_what_it_confirmed(tmp_path, clock):
    folder = Path(f"/tmp/dz-pg-{tmp_path.name[-20:]}-crash")  # noqa: S108  (a socket's path may have 107 bytes)
    folder.mkdir(mode=0o755)
    cluster = PostgresCluster(folder, fsync="on")
    try:
        cluster.start()
        cluster.sql("CREATE DATABASE market")
        place = books.postgres_place(cluster, "market")
        with books.market_at(place.owner, clock) as owner:
            shop = books.stock(owner)
            books.fund(owner, shop.buyer, 3 * books.ENTERPRISE)
            order = books.buy_signed(owner, shop)
            cluster.stop("immediate")
            cluster.restart()
            again = books.buy_signed(owner, shop)  # its kept connection is dead, and nothing was done on it yet
            assert (again.id, again.replayed) == (order.id, True)
            assert audit(owner).findings == ()
        cluster.stop()
    finally:
        cluster.remove()
