"""What an audit costs as the books grow: all of them, from the last checkpoint on, and the next checkpoint; on both engines.

    python -m bench.market_audit [--engine sqlite postgresql] [--entries N ...] [--new N]

Goal: at most 300 MiB for the audit of a million entries of the journal, in a time that grows as they do. The books are
those of many buyers who did the same (see ``tests.market.many``), ten entries each; the new ones come through the market, after the
checkpoint. Then somebody goes past the database's refusals in every way at once, and the audit has to name each.

Each step runs in a process of its own, whose processor time and highest memory are printed; the server's are not in it. A file of
SQLite and a server of PostgreSQL of its own are made in a temporary folder, about 4 GiB for a million entries.
"""

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.market import books, many
from tests.market.past import TAMPERED, tamper
from tests.postgres_fixtures import PostgresCluster

from dayzero.adapters.keys import make_key, save_key
from dayzero.market.audit import Audited, audit
from dayzero.market.audit_since import audit_since
from dayzero.market.model import Event
from dayzero.market.settlement import enter
from dayzero.wiring.market import read_checkpoint_file, read_checkpoints, write_checkpoint

GOAL_MIB = 300.0


def main() -> None:
    """Run every step and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", nargs="+", default=["sqlite", "postgresql"])
    parser.add_argument("--entries", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--new", type=int, default=1000)
    asked = parser.parse_args()
    for engine in asked.engine:
        print(f"{engine:44}{'s':>8}{'s of cpu':>10}{'MiB at most':>13}")
        costs = [_measure(engine, entries, asked.new) for entries in asked.entries]
        first, last = (asked.entries[0], costs[0]), (asked.entries[-1], costs[-1])
        if first[0] < last[0]:
            ratio = (last[1].cpu_s / last[0]) / (first[1].cpu_s / first[0])
            print(f"growth: {last[0] / first[0]:.0f} times the entries, {ratio:.2f} times the time of each")
        reached = max(cost.mib for cost in costs) <= GOAL_MIB
        print(f"goal: at most {GOAL_MIB:.0f} MiB: {'reached' if reached else 'MISSED'}")


class Cost:
    """What a step cost, and what it said."""

    def __init__(self, wall_s: float, cpu_s: float, mib: float, said: str) -> None:
        self.wall_s, self.cpu_s, self.mib, self.said = wall_s, cpu_s, mib, said


@contextmanager
def place_of(engine: str, folder: Path) -> Iterator[books.Place]:
    """Make the schema, in a server of its own where it is PostgreSQL."""
    if engine == "sqlite":
        yield books.sqlite_place(folder)
        return
    folder.chmod(0o755)
    server = folder / "pg"
    server.mkdir(mode=0o755)
    cluster = PostgresCluster(server)
    cluster.start()
    try:
        cluster.sql("CREATE DATABASE market")
        yield books.postgres_place(cluster, "market")
    finally:
        cluster.stop()


def _measure(engine: str, entries: int, new: int) -> Cost:
    """Run all steps on books of so many entries; gives what the audit of everything cost."""
    with tempfile.TemporaryDirectory(prefix="dz-") as name, place_of(engine, Path(name)) as place:
        folder = Path(name) / "keys"
        make_keys(folder)
        step(f"write {entries} entries", fill, place, entries)
        first = step("first checkpoint", checkpoint, place, folder).said
        step(f"{new} entries through the market", more, place, new)
        step("audit since the first checkpoint", since, place, folder, first)
        step("second checkpoint", checkpoint, place, folder)
        cost = step("audit of everything", full, place, folder)
        step(f"audit of everything, {len(TAMPERED)} faults in it", tampered, place, folder)
        return cost


def make_keys(folder: Path) -> None:
    """Make the key that signs checkpoints."""
    folder.mkdir()
    save_key(make_key("release"), private=folder / "m.key.pem", public=folder / "m.pub.pem")


def step(name: str, work: Callable[..., str], *given: object) -> Cost:
    """Have a step done in a process of its own, and print what it cost."""
    context = multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    process = context.Process(target=_measured, args=(answers, work, given))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(process.exitcode)
    cost = Cost(*json.loads(answers.get()))
    print(f"{name:44}{cost.wall_s:>8.1f}{cost.cpu_s:>10.1f}{cost.mib:>13.0f}   {cost.said}", flush=True)
    return cost


def _measured(answers, work, given) -> None:  # noqa: ANN001  (see step)
    began, used = time.perf_counter(), time.process_time()
    said = work(*given)
    took, used = time.perf_counter() - began, time.process_time() - used
    answers.put(json.dumps([took, used, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, said]))


def fill(place: books.Place, entries: int) -> str:
    """Write the books of many buyers."""
    return f"{len(many.fill(place, entries))} buyers"


def more(place: books.Place, new: int) -> str:
    """Take so many deliveries in."""
    with books.market_at(place.owner, books.Clock()) as market:
        for number in range(new):
            said = {"provider": "stripe", "order_id": "", "payment": "", "currency": "EUR", "body": "{}"}
            enter(market, Event(id=f"new-{number}", kind="other", amount_minor=0, **said))
    return "each a transaction"


def checkpoint(place: books.Place, folder: Path) -> str:
    """Sign the state of all chains."""
    with books.market_at(place.owner, books.Clock()) as market:
        return write_checkpoint(market, folder / "m.key.pem", folder / "outside").name


def since(place: books.Place, folder: Path, name: str) -> str:
    """Go on from a checkpoint."""
    signed = read_checkpoint_file(folder / "outside" / name, (folder / "m.pub.pem",))
    return _told(_asked(place, lambda market: audit_since(market, signed)))


def full(place: books.Place, folder: Path) -> str:
    """Audit everything, held to the checkpoints."""
    return _told(_audited(place, folder))


def tampered(place: books.Place, folder: Path) -> str:
    """Go past the database, and see what the audit names."""
    expected = _asked(place, lambda market: tamper(place, market))
    seen = _audited(place, folder)
    missed = [fault.name for fault in expected if not fault.named(seen.findings)]
    return f"{_told(seen)}; not named: {', '.join(missed) or 'none'}"


def _audited(place: books.Place, folder: Path) -> Audited:
    signed = read_checkpoints(folder / "outside", (folder / "m.pub.pem",))
    return _asked(place, lambda market: audit(market, signed))


def _asked(place, ask):  # noqa: ANN001, ANN202  (what ask gives)
    with books.market_at(place.owner, books.Clock()) as market:
        return ask(market)


def _told(seen: Audited) -> str:
    found = len(seen.findings) + seen.unlisted
    return f"{found} findings in {seen.entries} entries of {seen.accounts} chains, {seen.rows} rows"


if __name__ == "__main__":
    main()
