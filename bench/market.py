"""How many purchases a second the market takes on PostgreSQL, beside pgbench's TPC-B-like load on the same server in the same run.

    python -m bench.market [--seconds S] [--rounds N]

Goal: 0.5 times pgbench, over 1,000 wallets, signed purchases (a licence with four affirmations, the order, the transfer, the
entitlement and the entry of the chain, in one transaction). Both have 8 clients on one server with its own settings (fsync on),
in turns; pgbench runs its built-in script as it comes, scale 10. Purchases come from 4 processes of 2 threads each, through the
code that the market runs. A server of its own is started in a temporary folder. Use a quiet machine: the clients share its cores.
"""

import argparse
import multiprocessing
import re
import shutil
import statistics
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.market import books
from tests.postgres_fixtures import PostgresCluster

from dayzero.market.account import open_account
from dayzero.market.audit import audit
from dayzero.market.model import Purchase
from dayzero.market.order import buy

WALLETS, PROCESSES, THREADS = 1000, 4, 2
GOAL = 0.5
_TPS = re.compile(r"^tps = ([0-9.]+)", re.MULTILINE)


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    folder = Path(f"/tmp/dz-pg-{uuid.uuid4().hex[:12]}")  # noqa: S108  (a socket's path may have 107 bytes)
    folder.mkdir(mode=0o755)
    cluster = PostgresCluster(folder, fsync="on")
    try:
        cluster.start()
        _compare(cluster, asked.seconds, asked.rounds)
        cluster.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _compare(cluster: PostgresCluster, seconds: float, rounds: int) -> None:
    for name in ("market", "tpcb"):
        cluster.sql(f"CREATE DATABASE {name}")
    cluster.program("pgbench", "-i", "-q", "-s", "10", "tpcb")
    place = books.postgres_place(cluster, "market")
    shop, wallets = _stock(place)
    rates: dict[str, list[float]] = {"pgbench TPC-B-like": [], "signed purchases": [], "unsigned purchases": []}
    for number in range(rounds):
        rates["pgbench TPC-B-like"].append(_pgbench(cluster, seconds))
        for name, signed in (("signed purchases", True), ("unsigned purchases", False)):
            rates[name].append(_purchases(place, shop, wallets, seconds, f"{number}-{signed}"))
    base = statistics.median(rates["pgbench TPC-B-like"])
    print(f"{'':24}{'median/s':>10}{'x pgbench':>11}   rounds")
    for name, found in rates.items():
        middle = statistics.median(found)
        print(f"{name:24}{middle:>10.0f}{middle / base:>11.2f}   {', '.join(f'{rate:.0f}' for rate in found)}")
    reached = statistics.median(rates["signed purchases"]) / base >= GOAL
    print(f"goal: signed purchases at least {GOAL} x pgbench: {'reached' if reached else 'MISSED'}")
    for name, count in _statements(cluster, place, shop, wallets).items():
        print(f"statements of one transaction, {name}: {count}")
    deadlocks = cluster.log.read_text(encoding="utf-8").count("deadlock detected")
    with books.market_at(place.database, books.Clock()) as market:
        seen = audit(market)
    print(
        f"deadlocks in the log: {deadlocks}; audit: {len(seen.findings)} findings in {seen.rows} rows of {seen.accounts} accounts"
    )


def _stock(place: books.Place) -> tuple[books.Shop, list[str]]:
    with books.market_at(place.owner, books.Clock()) as owner:
        shop = books.stock(owner)
        books.fund(owner, shop.buyer, 1)  # opens the account that grants come from, before eight ask at once

        def fill(number: int) -> str:
            wallet = open_account(owner, f"buyer-{number}")
            books.fund(owner, wallet, 10**12, key=f"fund-{number}")
            return wallet

        with ThreadPoolExecutor(5) as pool:
            return shop, list(pool.map(fill, range(WALLETS)))


def _pgbench(cluster: PostgresCluster, seconds: float) -> float:
    clients = str(PROCESSES * THREADS)
    printed = cluster.program("pgbench", "-n", "-c", clients, "-j", "2", "-T", str(round(seconds)), "tpcb")
    found = _TPS.search(printed)
    if found is None:
        raise RuntimeError(printed)
    return float(found.group(1))


def _statements(cluster: PostgresCluster, place: books.Place, shop: books.Shop, wallets: list[str]) -> dict[str, int]:
    """Count the statements that the server was sent for one transaction, BEGIN and COMMIT among them, by its own log."""
    counts = {}
    for database in ("market", "tpcb"):
        cluster.sql(f"ALTER DATABASE {database} SET log_statement = 'all'")
    before = _logged(cluster)
    cluster.program("pgbench", "-n", "-t", "1", "tpcb")
    once = _logged(cluster)
    cluster.program("pgbench", "-n", "-t", "2", "tpcb")
    counts["pgbench TPC-B-like"] = _logged(cluster) - once - (once - before)  # it looks for its tables first
    with books.market_at(place.database, books.Clock(), pool_size=1) as market:
        for name, tier, signing in (("signed", shop.enterprise, books.signing()), ("unsigned", shop.community, None)):
            for number, who in enumerate(
                ("", "of a buyer that was not seen before", "")
            ):  # the first reads what is on offer
                before, wallet = _logged(cluster), wallets[(number + 1) // 2 + 2 * bool(signing)]
                buy(market, Purchase(account_id=wallet, key=f"count-{name}-{number}", tier_id=tier, signing=signing))
                counts[f"{name} purchase {who}".rstrip()] = _logged(cluster) - before
    return counts


def _logged(cluster: PostgresCluster) -> int:
    return len(re.findall(r"LOG:  (?:statement|execute [^:]+): ", cluster.log.read_text(encoding="utf-8")))


def _purchases(place: books.Place, shop: books.Shop, wallets: list[str], seconds: float, name: str) -> float:
    context = multiprocessing.get_context("fork")
    ready, done = context.Barrier(PROCESSES + 1), context.SimpleQueue()
    workers = [
        context.Process(
            target=_process, args=(place.database, shop, wallets[n::PROCESSES], seconds, f"{name}-{n}", ready, done)
        )
        for n in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    ready.wait()
    found = [done.get() for _ in workers]
    for worker in workers:
        worker.join()
    return sum(count for count, _ in found) / max(took for _, took in found)


def _process(database, shop, wallets, seconds, name, ready, done) -> None:  # noqa: ANN001, PLR0913, PLR0917  (see _purchases)
    with books.market_at(database, books.Clock(), pool_size=THREADS) as market:
        signing = books.signing() if "True" in name else None
        tier = shop.enterprise if signing else shop.community
        counts = [0] * THREADS

        def work(thread: int) -> None:
            mine = wallets[thread::THREADS]
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                number = counts[thread]
                wanted = Purchase(
                    account_id=mine[number % len(mine)], key=f"{name}-{thread}-{number}", tier_id=tier, signing=signing
                )
                buy(market, wanted)
                counts[thread] += 1

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS)]
        ready.wait()
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done.put((sum(counts), time.perf_counter() - began))


if __name__ == "__main__":
    main()
