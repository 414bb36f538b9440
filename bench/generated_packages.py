"""Packages that nobody measured, made from a number: definitions, configurations, raw files and a ledger as real ones have them.

They are for benchmarks and tests: digests and latencies are drawn, and every claim is what the extractor finds in its raw file.
"""

import json
import random
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.generated_definitions import CELLS, REQUESTS, Wanted, config_text, definition, wanted

from dayzero.bench.model import Row, Usage
from dayzero.bench.rows import encode
from dayzero.catalog.release import LOG_NAME, KitPin, Release, ReleaseLog, ReleaseRecord
from dayzero.core.package import ClaimRef, Package
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.locator import PointerLocator, WholeFile
from dayzero.evidence.model import Claim, Extraction, RawFile, Record
from dayzero.evidence.subject import recipe_digest
from dayzero.extractors.bench_rows import EXTRACTOR as BENCH_ROWS
from dayzero.extractors.json_value import EXTRACTOR as JSON_VALUE
from dayzero.wiring.definitions import package
from dayzero_verify.times import format_time

MS = 1_000_000


def raw_files(asked: Wanted) -> Mapping[str, bytes]:
    """Make what a run leaves behind, by name."""
    dice = random.Random(f"{asked.name} {asked.version}")  # noqa: S311  (no secret)
    rows = b"".join(encode(row) for streams in CELLS for row in _rows(streams, dice))
    start = {"schema": "dayzero/start/v1", "outcome": "healthy", "seconds": f"{dice.uniform(40, 400):.4f}"}
    status = {
        "schema": "dayzero/bring-up/v1",
        "package": asked.name,
        "version": asked.version,
        "seed": asked.seed,
        "status": {"measured": "reached"},
    }
    documents = {"start.json": start, "bringup.json": status}
    return {"requests.jsonl": rows} | {
        name: f"{json.dumps(one, indent=2)}\n".encode() for name, one in documents.items()
    }


def _rows(streams: int, dice: random.Random) -> Iterator[Row]:
    first, gap = dice.uniform(40, 90) * (1 + streams / 24), dice.uniform(6, 14) * (1 + streams / 90)
    free = [1_000 * MS + stream for stream in range(streams)]
    for number in range(REQUESTS):
        stream = min(range(streams), key=free.__getitem__)
        sent = free[stream]
        stamps = [sent + round((first + dice.expovariate(1)) * MS)]
        for _ in range(7):
            stamps.append(stamps[-1] + round(dice.gauss(gap, 0.2) * MS))
        yield _row(f"c{streams}", number, sent, tuple(stamps))
        free[stream] = stamps[-1] + MS


def _row(cell: str, number: int, sent: int, stamps: tuple[int, ...]) -> Row:
    return Row(
        number=number,
        cell=cell,
        phase="measured",
        index=number,
        input_tokens=1024,
        output_tokens=len(stamps),
        session=number,
        due_ns=sent,
        sent_ns=sent,
        sent_by_ns=sent + 20_000,
        first_byte_ns=stamps[0],
        first_event_ns=stamps[0],
        content_ns=stamps,
        answer_ns=stamps[0],
        censored=(),
        end_ns=stamps[-1] + 100_000,
        lag_ns=50_000,
        new_connection=False,
        status=200,
        usage=Usage(prompt_tokens=1024, completion_tokens=len(stamps), cached_tokens=0),
        error="",
    )


def records(made: Package, files: Mapping[str, bytes], at: str) -> tuple[Record, ...]:
    """Write what a run of a package appends to the ledger: its raw files, every number of the card, and that it was measured."""
    raws = tuple(
        RawFile(sha256=Sha256.of(content), name=name, size=Bytes(len(content)), captured_at=at, command="dayzero bench")
        for name, content in files.items()
    )
    status = ClaimRef(
        id="status-measured", label="status ladder: measured", unit="", source="bringup.json",
        pointer="/status/measured", extractor="json-value@1", parameters=(),
    )  # fmt: skip
    return (*raws, *(_claim(made, ref, files[ref.source]) for ref in (*made.claims, status)))


def _claim(made: Package, ref: ClaimRef, content: bytes) -> Claim:
    place = PointerLocator(pointer=ref.pointer) if ref.pointer else WholeFile()
    reader = JSON_VALUE if ref.pointer else BENCH_ROWS
    return Claim(
        slug=made.slug(ref),
        label=ref.label,
        value=reader.extract(content, place, ref.parameters),
        unit=ref.unit,
        raw=Sha256.of(content),
        locator=place,
        extraction=Extraction(extractor=ref.extractor, parameters=ref.parameters),
        subject=recipe_digest(made.recipe),
    )


def write_package(folder: Path, asked: Wanted) -> Path:
    """Write a definition with its model's configuration into ``folder/NAME``, and give the definition's path."""
    home = folder / asked.name
    home.mkdir(parents=True, exist_ok=True)
    (home / "package.toml").write_text(definition(asked), encoding="utf-8")
    (home / "config.json").write_text(config_text(asked.model), encoding="utf-8")
    return home / "package.toml"


def write_evidence(folder: Path, filed: Sequence[Record], raws: Iterable[bytes]) -> None:
    """Write a ledger and the raw files that it names."""
    (folder / "raw").mkdir(parents=True)
    for content in raws:
        (folder / "raw" / Sha256.of(content).hex).write_bytes(content)
    _, lines = Ledger().append(filed)
    (folder / "ledger.jsonl").write_bytes(lines)


def released(file: Path, at: str, kit: KitPin | None = None) -> Release:
    """Freeze a definition as it stands, and give the record of its release."""
    made = package(str(file))
    frozen = file.parent / "releases" / made.version / file.name
    frozen.parent.mkdir(parents=True)
    shutil.copy(file, frozen)
    definition = Sha256.of(file.read_bytes())
    return Release(
        package=made.name,
        version=made.version,
        at=at,
        definition=definition,
        recipe=recipe_digest(made.recipe),
        kit=kit,
    )


def write_log(packages: Path, log: Sequence[ReleaseRecord]) -> None:
    """Write the log of releases and yanks."""
    _, lines = ReleaseLog().append(*log)
    (packages / LOG_NAME).write_bytes(lines)


def write_catalog(folder: Path, count: int) -> None:
    """Write ``packages``, each published once, and their ``evidence`` into a folder."""
    filed: list[Record] = []
    raws: list[bytes] = []
    log: list[ReleaseRecord] = []
    began = datetime(2026, 11, 1, tzinfo=UTC)
    for number in range(count):
        asked, at = wanted(number), format_time(began + timedelta(minutes=number))
        file = write_package(folder / "packages", asked)
        files = raw_files(asked)
        filed += records(package(str(file)), files, at)
        raws += files.values()
        log.append(released(file, at))
    write_evidence(folder / "evidence", filed, raws)
    write_log(folder / "packages", log)
