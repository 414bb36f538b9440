"""A catalog with one of everything that a page can show, made without a network and without a GPU."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bench.generated_definitions import MODELS, Wanted
from bench.generated_packages import raw_files, records, released, write_evidence, write_log, write_package
from tests.bench.measured_run import rows
from tests.catalog import performance_sample

from dayzero.adapters.keys import make_key, save_key
from dayzero.bench.rows import encode
from dayzero.catalog.release import KitPin, Release, ReleaseRecord, Yank
from dayzero.cli.main import run
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.model import Record, Retraction
from dayzero.wiring.definitions import package, package_file

ANEW, LICENSED, YANKED, DRAFT, WITH_KIT = "qwen3-32b", "llama-3-3-70b", "qwen3-8b", "qwen3-235b", "demo-kimi-k3-tiny"
YANK_REASON: Final = "The wheel that it pins was taken from the index."
RETRACTION_REASON: Final = "The client shared its cores with the engine."
RETRACTED: Final = f"{LICENSED}/c8-ttft-ms"
_BY_NAME: Final = {model.name: model for model in MODELS}


@dataclass(frozen=True, slots=True)
class Shop:
    """Where a catalog's inputs lie."""

    packages: Path
    evidence: Path
    kits: Path
    perfdb: Path | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """Name them as ``dayzero catalog`` takes them."""
        page = ("--perfdb", str(self.perfdb)) if self.perfdb else ()
        return ("--packages", str(self.packages), "--evidence", str(self.evidence), "--kits", str(self.kits), *page)


def wanted(name: str, model: str, gpu: tuple[str, int, int], **more: object) -> Wanted:
    kind, count, memory = gpu
    return replace(
        Wanted(name=name, model=_BY_NAME[model], gpu=kind, count=count, memory_gb=memory, seed=len(name)),
        **more,  # type: ignore[arg-type]
    )


OLD, NEW = ("1.0.0",), ("1.1.0", "1.0.0")
RUNS: Final = (
    (wanted(ANEW, "Qwen3-32B", ("h200", 1, 150), engine="0.27.0"), "2026-11-12T09:00:00Z"),
    (wanted(YANKED, "Qwen3-8B", ("l40s", 1, 47), engine="0.26.0"), "2026-11-13T09:00:00Z"),
    (wanted(LICENSED, "Llama-3.3-70B", ("b200", 8, 191), tier="licensed"), "2026-11-14T09:00:00Z"),
    (wanted(ANEW, "Qwen3-32B", ("h200", 1, 150), version="1.1.0", versions=NEW), "2026-11-20T09:00:00Z"),
    (wanted(YANKED, "Qwen3-8B", ("l40s", 1, 47), version="1.1.0", versions=NEW), "2026-11-21T09:00:00Z"),
)


def open_shop(folder: Path) -> Shop:
    """Write definitions, releases, evidence and one signed kit."""
    page = performance_sample.write(folder / "perfdb-page.json")
    shop = Shop(folder / "packages", folder / "evidence", folder / "kits", page)
    filed: list[Record] = []
    raws: list[bytes] = []
    log: list[ReleaseRecord] = [with_kit(shop, filed, raws)]
    for asked, at in RUNS:
        file, files = write_package(shop.packages, asked), raw_files(asked)
        filed += records(package(str(file)), files, at)
        raws += files.values()
        log.append(released(file, at))
    filed.append(Retraction(slug=RETRACTED, kind="retract", reason=RETRACTION_REASON, at="2026-11-25T09:00:00Z"))
    log.append(Yank(package=YANKED, version="1.0.0", at="2026-11-22T09:00:00Z", reason=YANK_REASON))
    write_package(shop.packages, wanted(DRAFT, "Qwen3-235B-A22B", ("b300", 8, 288)))
    write_evidence(shop.evidence, filed, raws)
    write_log(shop.packages, log)
    return shop


def with_kit(shop: Shop, filed: list[Record], raws: list[bytes], *, tier: str = "open") -> Release:
    """Measure the demo's package in thought, pack and sign its kit, and publish it; every claim comes out of its raw file."""
    home, at = shop.packages / WITH_KIT, "2026-11-11T09:00:00Z"
    home.mkdir(parents=True)
    file = Path(shutil.copy(package_file(WITH_KIT), home))
    file.write_text(file.read_text(encoding="utf-8").replace('tier = "open"', f'tier = "{tier}"'), encoding="utf-8")
    made = package(str(file))
    files = {**raw_files(wanted(WITH_KIT, "Qwen3-8B", ("", 0, 0))), "requests.jsonl": _demo_rows(made)}
    filed += records(made, files, at)
    raws += files.values()
    evidence = shop.kits.parent / "kit-evidence"
    write_evidence(evidence, filed, raws)
    archive = shop.kits / f"{WITH_KIT}-{made.version}.kit.zip"
    build = ["kit", "build", str(home), "--evidence", str(evidence), "--target", "shell", "-o", str(shop.kits)]
    assert run(build) == 0
    save_key(make_key("demo"), private=shop.kits.parent / "owner.pem", public=shop.kits / "owner.pub.pem")
    assert run(["kit", "sign", str(archive), "--key", str(shop.kits.parent / "owner.pem")]) == 0
    content = archive.read_bytes()
    pin = KitPin(archive=archive.name, sha256=Sha256.of(content), size=Bytes(len(content)))
    return released(file, at, pin)


def _demo_rows(made: Package) -> bytes:
    return b"".join(
        encode(row)
        for cell in made.workload.cells
        for row in rows(
            cell=cell.name,
            streams=cell.concurrency,
            warmup=cell.warmup_requests,
            requests=cell.requests,
            tokens=cell.output_tokens,
        )
    )
