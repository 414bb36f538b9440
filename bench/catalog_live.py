"""Ask a live catalog of many packages, on SQLite and on PostgreSQL, and weigh its search index."""

import http.client
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlencode, urlsplit

from bench.generated_packages import write_catalog
from tests.postgres_fixtures import PostgresCluster

ANSWER_MS: Final = 50
START_S: Final = 60
CLIENTS: Final = 4
_WORDS: Final = (
    "qwen3", "llama", "h200", "b200", "l40s", "vllm", "weights", "published", "235b", "apache", "0.27.1", "full context",
)  # fmt: skip


def dayzero(*words: str) -> list[str]:
    """Give the words of a command of the catalog."""
    return [sys.executable, "-m", "dayzero", "catalog", *words]


def inputs(folder: Path) -> tuple[str, ...]:
    """Name a folder's definitions and evidence as the catalog's commands take them."""
    return ("--packages", str(folder / "packages"), "--evidence", str(folder / "evidence"))


def generated(work: Path, count: int) -> Path:
    """Make so many packages, unless they are there."""
    folder = work / f"of-{count}"
    if folder.is_dir():
        return folder
    began = time.monotonic()
    write_catalog(folder, count)
    print(f"  {count:,} packages generated in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return folder


@dataclass(frozen=True, slots=True)
class Server:
    """A live server that answers.

    Attributes:
        address: Where, without a ``/`` at its end.
        pid: Its process.
    """

    address: str
    pid: int

    def cpu_s(self) -> float:
        """Say how much processor time it has taken so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_bytes(self) -> int:
        """Say how much memory it has held at most."""
        said = Path(f"/proc/{self.pid}/status").read_text()
        return 1024 * int(said.partition("VmHWM:")[2].split()[0])


@contextmanager
def served(folder: Path, database: str, log: Path) -> Iterator[Server]:
    """Run the live server until the context ends; it is there once it answers."""
    words = dayzero("serve", *inputs(folder), "--database", database)
    with log.open("w") as errors, subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True) as process:  # noqa: S603
        try:
            line = process.stdout.readline() if process.stdout else ""
            if "http://" not in line:
                raise SystemExit(f"the server did not start: {line}{log.read_text()}")
            server = Server(line.split()[-1].rstrip("/"), process.pid)
            _wait(server.address)
            yield server
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)


def _wait(address: str) -> None:
    until = time.monotonic() + 1800
    while time.monotonic() < until:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=1800)
        try:
            connection.request("GET", "/api/v1/packages?limit=1")
            if connection.getresponse().status == http.HTTPStatus.OK:
                return
        except ConnectionError:
            pass
        finally:
            connection.close()
        time.sleep(0.1)
    raise SystemExit("the server never answered")


def questions(kind: str, count: int) -> list[str]:
    """Make addresses of one kind, few of them alike."""
    dice = random.Random(kind)  # noqa: S311  (no secret)
    return [_question(kind, dice) for _ in range(count)]


def _question(kind: str, dice: random.Random) -> str:
    facets = {"gpu": ("h200", "l40s", "h100", "b200", "b300"), "engine": ("vllm",), "tier": ("open", "licensed")}
    chosen = {name: dice.choice(values) for name, values in facets.items() if dice.random() < 0.6}  # noqa: PLR2004
    words = " ".join(dice.sample(_WORDS, dice.choice((1, 2))))
    match kind:
        case "front page":
            return "/index.html"
        case "listing":
            return f"/find?{urlencode({**chosen, 'offset': 50 * dice.randrange(20)})}"
        case "search":
            return f"/find?{urlencode({'q': words, **({} if dice.random() < 0.5 else chosen)})}"  # noqa: PLR2004
        case "API listing":
            return f"/api/v1/packages?{urlencode({**chosen, 'limit': 50, 'offset': 50 * dice.randrange(20)})}"
        case _:
            return f"/api/v1/packages?{urlencode({'q': words, 'limit': 50})}"


def ask(address: str, paths: Sequence[str]) -> list[float]:
    """Ask over one kept connection, and give what each answer took to its last byte, in ms."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    taken = []
    for path in paths:
        began = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        taken.append((time.perf_counter() - began) * 1000)
        if answer.status != http.HTTPStatus.OK:
            raise SystemExit(f"{answer.status} for {path}")
    connection.close()
    return taken


def ask_together(address: str, paths: Sequence[str], clients: int) -> list[float]:
    """Ask over several connections at once."""
    taken: list[list[float]] = [[] for _ in range(clients)]

    def one(number: int) -> None:
        taken[number] = ask(address, paths[number::clients])

    threads = [threading.Thread(target=one, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [value for values in taken for value in values]


def percentile(values: Sequence[float], percent: float) -> float:
    """Give the value that so many percent do not exceed."""
    return sorted(values)[min(len(values) - 1, round(percent / 100 * len(values)))]


def answers(server: Server, where: str, asked: int) -> None:
    """Print how long the live server takes, by kind of question."""
    for kind in ("front page", "listing", "search", "API listing", "API search"):
        paths = questions(kind, asked)
        ask(server.address, paths[: max(20, asked // 10)])
        before = server.cpu_s()
        alone = ask(server.address, paths)
        each = 1000 * (server.cpu_s() - before) / asked
        together = ask_together(server.address, paths, CLIENTS)
        p99 = percentile(alone, 99)
        print(
            f"{where:<12} {kind:<12} {percentile(alone, 50):9.1f} {p99:9.1f} {each:9.1f} "
            f"{percentile(together, 50):9.1f} {percentile(together, 99):9.1f}   {'kept' if p99 < ANSWER_MS else 'MISSED'}",
            flush=True,
        )


class Sqlite:
    """Keeps each index in a file."""

    name = "SQLite"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def url(self, count: int) -> str:
        """Name a new database as the server takes it."""
        for old in self._folder.glob(f"index-{count}.db*"):
            old.unlink()
        return str(self._folder / f"index-{count}.db")

    def size(self, count: int) -> int:
        """Give its bytes, once what was written ahead is in its place."""
        file = self._folder / f"index-{count}.db"
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return file.stat().st_size


class Postgresql:
    """Keeps each index in a database of a server of its own."""

    name = "PostgreSQL"

    def __init__(self, cluster: PostgresCluster) -> None:
        self._cluster = cluster
        self._empty: dict[int, int] = {}

    def url(self, count: int) -> str:
        """Name a new database as the server takes it."""
        self._cluster.sql(f"CREATE DATABASE of{count}")
        self._empty[count] = self._bytes(count)
        return self._cluster.url(f"of{count}")

    def size(self, count: int) -> int:
        """Give what the index added to an empty database, in bytes."""
        return self._bytes(count) - self._empty[count]

    def _bytes(self, count: int) -> int:
        name, user = f"of{count}", self._cluster.user
        words = ["psql", "-X", "-At", "-h", str(self._cluster.folder), "-U", user, "-d", name, "-c"]
        words = ["runuser", "-u", user, "--", *words] if os.geteuid() == 0 else words
        asked = [*words, f"SELECT pg_database_size('{name}')"]
        return int(subprocess.run(asked, capture_output=True, text=True, check=True, cwd="/").stdout)  # noqa: S603


@contextmanager
def databases(work: Path) -> Iterator[tuple[Sqlite | Postgresql, ...]]:
    """Give SQLite, and a PostgreSQL of its own where one is installed."""
    if not any(Path("/usr/lib/postgresql").glob("*/bin/initdb")) and not shutil.which("initdb"):
        print("PostgreSQL is not installed: nothing is said about it")
        yield (Sqlite(work),)
        return
    folder = Path(tempfile.mkdtemp(prefix="dz-pg-"))
    folder.chmod(0o755)
    cluster = PostgresCluster(folder)
    try:
        cluster.start()
        yield Sqlite(work), Postgresql(cluster)
        cluster.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Start:
    """One start of the live server, to its first answer."""

    packages: int
    database: str
    what: str
    wall_s: float
    cpu_s: float
    peak_bytes: int


def live(work: Path, counts: Sequence[int], asked: int) -> None:
    """Print how fast the server answers at the last number of packages, and its starts and its index at each."""
    starts: list[Start] = []
    sizes: list[tuple[int, str, int]] = []
    print(
        f"live on {counts[-1]:,} packages: ms to the last byte, {asked} questions of each kind; goal: p99 of 1 client < {ANSWER_MS}"
    )
    print(f"{'':<25} {'1 client: p50':>9} {'p99':>5} {'CPU':>9} {f'{CLIENTS} clients: p50':>9} {'p99':>5}")
    with databases(work) as all_of_them:
        for count in counts:
            folder = generated(work, count)
            for database in all_of_them:
                url = database.url(count)
                for what in ("first", "again"):
                    began = time.monotonic()
                    with served(folder, url, work / "serve.log") as server:
                        took = time.monotonic() - began
                        starts.append(Start(count, database.name, what, took, server.cpu_s(), server.peak_bytes()))
                        if (count, what) == (counts[-1], "again"):
                            answers(server, database.name, asked)
                sizes.append((count, database.name, database.size(count)))
    _print(starts, sizes)


def _print(starts: Sequence[Start], sizes: Sequence[tuple[int, str, int]]) -> None:
    print(
        f"{'start':<12} {'packages':>9} {'index':>9} {'wall s':>9} {'CPU s':>9} {'peak MiB':>9}   goal: within {START_S} s"
    )
    for start in starts:
        print(
            f"{start.database:<12} {start.packages:9,} {start.what:>9} {start.wall_s:9.1f} {start.cpu_s:9.1f} "
            f"{start.peak_bytes / 1024**2:9.0f}   {'kept' if start.wall_s <= START_S else 'MISSED'}"
        )
    print(f"{'search index':<12} {'packages':>9} {'KiB':>9} {'bytes each':>11}")
    for count, name, size in sizes:
        print(f"{name:<12} {count:9,} {size / 1024:9,.0f} {size / count:11,.0f}")
