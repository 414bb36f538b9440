"""A real PostgreSQL of its own for the tests that ask for one: started once, a fresh database a test."""

import getpass
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

_ACCOUNT = "postgres"
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "max_connections": "60",
    "logging_collector": "off",
    "log_lock_waits": "on",
    "deadlock_timeout": "200ms",
}


def _program(name: str) -> str:
    """Find a program of the server; Debian keeps them out of PATH, one folder a version."""
    found = shutil.which(name) or next(
        (str(file) for file in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)), ""
    )
    if not found:
        pytest.skip("PostgreSQL is not installed")
    return found


def _as_account(arguments: list[str]) -> str:
    """Run a program of the server, which refuses to run as root, as its own account, and give what it printed."""
    asked = ["runuser", "-u", _ACCOUNT, "--", *arguments] if os.geteuid() == 0 else arguments
    return subprocess.run(asked, check=True, capture_output=True, text=True, cwd="/").stdout


class PostgresCluster:
    """A server of PostgreSQL on a socket in a folder.

    Attributes:
        folder: Where its data and its socket lie.
        log: What it wrote.
        settings: What it is started with.
        user: The superuser's name.
    """

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder, self.log, self.settings = folder, folder / "server.log", {**_SETTINGS, **settings}
        self.user = _ACCOUNT if os.geteuid() == 0 else getpass.getuser()

    def start(self) -> None:
        """Make the cluster and start it."""
        if os.geteuid() == 0:
            shutil.chown(self.folder, _ACCOUNT)
        data = str(self.folder / "data")
        _as_account([_program("initdb"), "-D", data, "-U", self.user, "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"])
        self.restart()

    def restart(self) -> None:
        """Start it on the data that are there."""
        data = str(self.folder / "data")
        settings = " ".join(f"-c {name}={value}" for name, value in self.settings.items())
        options = f"-k {self.folder} {settings}"
        _as_account([_program("pg_ctl"), "-D", data, "-l", str(self.log), "-w", "-o", options, "start"])

    def stop(self, mode: str = "immediate") -> None:
        """Stop it."""
        _as_account([_program("pg_ctl"), "-D", str(self.folder / "data"), "-m", mode, "-w", "stop"])

    def remove(self) -> None:
        """Delete its folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str, user: str = "") -> str:
        """Give the URL of a database, as ``dayzero.adapters.store.engine.open_engine`` takes it."""
        return f"postgresql://{user or self.user}@/{database}?host={self.folder}"

    def program(self, name: str, *arguments: str) -> str:
        """Run a program that asks the server as the superuser, and give what it printed."""
        return _as_account([_program(name), "-h", str(self.folder), "-U", self.user, *arguments])

    def sql(self, statement: str, database: str = "postgres") -> None:
        """Have the superuser run a statement."""
        asked = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", str(self.folder), "-U", self.user, "-d", database]
        _as_account([_program("psql"), *asked, "-c", statement])


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[PostgresCluster]:
    """Start a server for the whole run, or skip where PostgreSQL is not installed."""
    _program("initdb")
    folder = Path(f"/tmp/dz-pg-{uuid.uuid4().hex[:12]}")  # noqa: S108  (a socket's path may have 107 bytes)
    folder.mkdir(mode=0o755)
    cluster = PostgresCluster(folder)
    try:
        cluster.start()
        yield cluster
        cluster.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_database(postgres_cluster: PostgresCluster) -> Iterator[str]:
    """Make an empty database for one test, and give its name."""
    name = f"t{uuid.uuid4().hex[:12]}"
    postgres_cluster.sql(f"CREATE DATABASE {name}")
    yield name
    postgres_cluster.sql(f"DROP DATABASE {name} WITH (FORCE)")
