"""A buyer's process that is killed after any statement of a purchase leaves all of it or nothing; the same for the server."""

import itertools
import os
import signal
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import sqlalchemy
from tests.market import books
from tests.postgres_fixtures import PostgresCluster

from dayzero.adapters.market_store.wire import Wire
from dayzero.market.audit import audit
from dayzero.market.ledger import balance
from dayzero.market.model import Value

TABLES = (
    "signature",
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
            count_around(Wire, count)
            books.buy_signed(market, shop, "crash")
        os._exit(DONE)
    finally:
        os._exit(1)


def count_around(wire: type[Wire], count: Callable[[], None]) -> None:
    """Count the statements that go past SQLAlchemy: before each is sent, and after its answer is there."""
    ask = wire.ask

    def counted(self: Wire, statement: str, values: Iterable[Value]) -> object:
        count()
        answer = ask(self, statement, values)
        count()
        return answer

    wire.ask = counted


def state(market) -> dict[str, object]:
    return {table: market.books.read(lambda desk, table=table: desk.every(table)) for table in TABLES}


@pytest.mark.parametrize(
    ("place", "one_by_one", "points"),
    [("sqlite", True, 15), ("postgresql", False, 4), ("postgresql", True, 15)],
    indirect=["place"],
    ids=["sqlite", "postgresql", "postgresql, row by row"],
)
def test_a_purchase_that_is_killed_at_any_statement_left_nothing_or_all_of_it(place, one_by_one, points, owner, shop):
    """On PostgreSQL the last statement is the transaction: who dies after its answer has bought, and finds that out by asking again."""
    books.fund(owner, shop.buyer, 2 * books.ENTERPRISE)
    before, left = state(owner), []
    while not any(left) and buy_and_die(place, shop, len(left) + 1, one_by_one=one_by_one) == -signal.SIGKILL:
        left.append(state(owner) != before)
        assert audit(owner).findings == ()
    assert len(left) >= points
    assert left[:-1] == [False] * (len(left) - 1)
    assert left[-1] != one_by_one
    assert buy_and_die(place, shop, 10**6, one_by_one=one_by_one) == DONE  # asked again, it is the same order
    assert_bought_once(owner, shop)


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_buyer_who_is_killed_while_the_server_works_has_bought_or_not_and_buys_once(place, owner, shop):
    books.fund(owner, shop.buyer, 2 * books.ENTERPRISE)
    engine = owner.books._engine  # noqa: SLF001  (the test holds what the statement waits for)
    with engine.begin() as holding:
        holding.exec_driver_sql("SELECT 1 FROM balance FOR UPDATE")
        child = os.fork()
        if not child:
            try:
                with books.market_at(place.database, books.Clock(), pool_size=1) as market:
                    books.buy_signed(market, shop, "crash")
            finally:
                os._exit(DONE)
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND starts_with(query, 'WITH p0')"
        while not holding.exec_driver_sql(waits).scalar_one():
            holding.exec_driver_sql("SELECT pg_sleep(0.02), pg_stat_clear_snapshot()")
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with books.market_at(place.database, books.Clock()) as market:
        books.buy_signed(market, shop, "crash")
    assert_bought_once(owner, shop)


def assert_bought_once(owner, shop) -> None:
    assert balance(owner, shop.buyer, "EUR") == books.ENTERPRISE
    assert len(state(owner)["entitlement"]) == 1
    assert audit(owner).findings == ()


def test_a_server_that_dies_keeps_what_it_confirmed(clock):
    folder = Path(tempfile.mkdtemp(prefix="dz-pg-", dir="/tmp"))  # a socket's path may have 107 bytes
    folder.chmod(0o755)
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
