import shutil
from pathlib import Path

import pytest
from bench.generated_packages import write_catalog
from tests.web.client import Client

from dayzero.catalog.release import LOG_NAME, Yank
from dayzero.evidence.ledger import file_records
from dayzero.evidence.model import Record, Retraction
from dayzero.web.app import create_app
from dayzero.wiring.catalog_releases import read_log
from dayzero.wiring.catalog_source import Places
from dayzero.wiring.store import evidence_folder

ROOT = Path(__file__).parents[2]
DEMOS = ("demo-kimi-k3-tiny", "demo-smollm2")


class Disk:
    """A catalog's folder, and what can happen to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.packages, self.evidence = folder / "packages", folder / "evidence"

    @property
    def ledger(self) -> Path:
        return self.evidence / "ledger.jsonl"

    def places(self) -> Places:
        return Places(packages=self.packages, evidence=self.evidence)

    def client(self, *, strict: bool = True) -> Client:
        return Client(create_app(self.places(), self.folder / "search.db"), strict=strict)

    def file(self, *records: Record) -> None:
        file_records(evidence_folder(self.evidence).ledger, lambda _: records)

    def retract(self, slug: str, reason: str, kind: str = "retract") -> None:
        self.file(Retraction(slug=slug, kind=kind, reason=reason, at="2026-11-20T10:00:00Z"))

    def yank(self, package: str, version: str, reason: str) -> None:
        _, line = read_log(self.packages).append(
            Yank(package=package, version=version, at="2026-11-20T11:00:00Z", reason=reason)
        )
        with (self.packages / LOG_NAME).open("ab") as log:
            log.write(line)


@pytest.fixture(scope="session")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Disk:
    """Two packages for GPUs, published, and the project's own as drafts; nobody changes them."""
    folder = tmp_path_factory.mktemp("catalog")
    write_catalog(folder, 2)
    for name in DEMOS:
        (folder / "packages" / name).mkdir()
        shutil.copy(ROOT / "packages" / name / "package.toml", folder / "packages" / name)
    return Disk(folder)


@pytest.fixture(scope="session")
def client(disk: Disk) -> Client:
    """The live catalog of the packages that nobody changes."""
    return disk.client()


@pytest.fixture
def changing(tmp_path: Path) -> Disk:
    """The project's own packages and evidence, to be changed."""
    for name in ("packages", "evidence"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return Disk(tmp_path)
