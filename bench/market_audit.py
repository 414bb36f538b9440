"""What an audit costs at a million entries of the journal: from the last checkpoint on, the next checkpoint, and all of it.

    python -m bench.market_audit [--entries N] [--accounts N] [--new N] [--full]

SQLite in a temporary folder. The entries are what a provider said (one row each), spread over the accounts and written in one
transaction past the market, for a million of their own would take an hour; the new ones come through the market, after the
checkpoint. Each step runs in a process of its own, whose highest memory is printed. ``--full`` reads everything, too.
"""

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.market import books

from dayzero.adapters.keys import make_key, save_key
from dayzero.adapters.market_store import statements
from dayzero.adapters.store.engine import open_engine
from dayzero.market.account import open_account
from dayzero.market.audit import Audited, audit
from dayzero.market.audit_since import audit_since
from dayzero.market.chain import Head, entry_row
from dayzero.market.model import Deed, Event, Row
from dayzero.market.ports import Market
from dayzero.market.settlement import enter
from dayzero.wiring.market import read_checkpoint_file, write_checkpoint

AT = "2026-08-01T12:00:00Z"
BATCH = 1000


def main() -> None:
    """Run every step and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--accounts", type=int, default=1000)
    parser.add_argument("--new", type=int, default=1000)
    parser.add_argument("--full", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_key(make_key("release"), private=folder / "m.key.pem", public=folder / "m.pub.pem")
        place = books.sqlite_place(folder)
        print(f"{'step':44}{'s':>8}{'MiB at most':>13}")
        _step(f"write {asked.entries} entries", _fill, place.owner, asked.entries, asked.accounts)
        first = _step("first checkpoint", _checkpoint, place.owner, folder)
        _step(f"{asked.new} entries through the market", _more, place.owner, asked.new)
        _step("audit since the first checkpoint", _since, place.owner, folder, first)
        _step("second checkpoint", _checkpoint, place.owner, folder)
        if asked.full:
            _step("audit of everything", _full, place.owner)


def _step(name: str, work: Callable[..., str], *given: object) -> str:
    context = multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    process = context.Process(target=_measured, args=(answers, work, given))
    process.start()
    process.join()
    took, highest, said = json.loads(answers.get())
    print(f"{name:44}{took:>8.1f}{highest:>13.0f}   {said}", flush=True)
    return str(said)


def _measured(answers, work, given) -> None:  # noqa: ANN001  (see _step)
    began = time.perf_counter()
    said = work(*given)
    took = time.perf_counter() - began
    answers.put(json.dumps([took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, said]))


def _fill(database: str, entries: int, accounts: int) -> str:
    with books.market_at(database, books.Clock()) as market:
        books.stock(market)
        buyers = [open_account(market, f"buyer-{number}") for number in range(accounts)]
    engine = open_engine(database)
    with engine.begin() as connection:
        cursor = connection.connection.cursor()
        heads = {account: Head(*_newest(cursor, account)) for account in buyers}
        for table, rows in _batches(buyers, heads, entries):
            cursor.executemany(statements.insert(table, "?"), rows)
    engine.dispose()
    return f"{Path(database).stat().st_size / 2**20:.0f} MiB"


def _newest(cursor, account: str) -> tuple[int, str]:  # noqa: ANN001  (of sqlite3)
    return cursor.execute("SELECT seq, hash FROM journal WHERE account_id = ? ORDER BY seq DESC", (account,)).fetchone()


def _batches(buyers: list[str], heads: dict[str, Head], entries: int) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
    said: list[tuple[object, ...]] = []
    kept: list[tuple[object, ...]] = []
    for number in range(entries):
        account = buyers[number % len(buyers)]
        event = Row("provider_event", {**_event(number), "received_at": AT})
        entry = entry_row(Deed(account=account, kind="event", at=AT, rows=(event,)), heads[account])
        heads[account] = Head(int(str(entry.values["seq"])), str(entry.values["hash"]))
        said.append(statements.bound(event))
        kept.append(statements.bound(entry))
        if len(said) == BATCH or number == entries - 1:
            yield "provider_event", said
            yield "journal", kept
            said, kept = [], []


def _event(number: int) -> dict[str, str | int]:
    named: dict[str, str | int] = {"provider": "stripe", "event_id": f"e{number}", "kind": "other", "order_id": ""}
    return {**named, "payment_ref": "", "amount_minor": 0, "currency": "EUR", "body": "{}"}


def _more(database: str, new: int) -> str:
    with books.market_at(database, books.Clock()) as market:
        for number in range(new):
            values = _event(number)
            texts = {name: str(values[name]) for name in ("provider", "order_id", "currency", "body")}
            enter(market, Event(id=f"new-{number}", kind="other", payment="", amount_minor=0, **texts))
    return "their fsync included"


def _checkpoint(database: str, folder: Path) -> str:
    with books.market_at(database, books.Clock()) as market:
        return write_checkpoint(market, folder / "m.key.pem", folder / "outside").name


def _since(database: str, folder: Path, name: str) -> str:
    signed = read_checkpoint_file(folder / "outside" / name, (folder / "m.pub.pem",))
    return _told(database, lambda market: audit_since(market, signed))


def _full(database: str) -> str:
    return _told(database, audit)


def _told(database: str, ask: Callable[[Market], Audited]) -> str:
    with books.market_at(database, books.Clock()) as market:
        seen = ask(market)
    return f"{len(seen.findings)} findings in {seen.entries} entries of {seen.accounts} chains, {seen.rows} rows"


if __name__ == "__main__":
    main()
