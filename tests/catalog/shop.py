"""A folder of packages and a folder of evidence, as a seller keeps them, and the commands on them."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.catalog.sample import ROWS, digest, raw_file

from dayzero.adapters.package_files import load_package
from dayzero.cli.main import run
from dayzero.core.package import Package
from dayzero.evidence.ledger import Ledger, parse
from dayzero.evidence.locator import PointerLocator, WholeFile
from dayzero.evidence.model import Claim, Extraction, Record
from dayzero.evidence.subject import recipe_digest
from dayzero.wiring import definitions

NAME = "demo-kimi-k3-tiny"
HEADLINE = f"{NAME}/c1-output-tok-s"


@dataclass(frozen=True, slots=True)
class Shop:
    """Where everything lies: ``packages``, ``evidence`` and, once it is built, ``site``."""

    root: Path

    @property
    def packages(self) -> Path:
        return self.root / "packages"

    @property
    def evidence(self) -> Path:
        return self.root / "evidence"

    @property
    def site(self) -> Path:
        return self.root / "site"

    @property
    def definition(self) -> Path:
        return self.packages / NAME / "package.toml"

    @property
    def log(self) -> Path:
        return self.packages / "releases.jsonl"

    @property
    def package(self) -> Package:
        return load_package(self.definition)

    def frozen(self, version: str = "1.0.0") -> Path:
        return self.packages / NAME / "releases" / version / "package.toml"

    def rewrite(self, *changes: tuple[str, str]) -> None:
        """Change the definition that is worked on."""
        text = self.definition.read_text()
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        self.definition.write_text(text)

    def second_version(self) -> None:
        self.rewrite(
            ('version = "1.0.0"\ntitle', 'version = "1.1.0"\ntitle'), ("start_budget_s = 60", "start_budget_s = 61")
        )

    def file(self, *records: Record) -> None:
        """Add records to the ledger."""
        ledger = self.ledger()
        _, lines = ledger.append(records)
        with (self.evidence / "ledger.jsonl").open("ab") as file:
            file.write(lines)

    def ledger(self) -> Ledger:
        return parse((self.evidence / "ledger.jsonl").read_bytes())

    def claim(self, value: str, id_: str = "c1-output-tok-s") -> Claim:
        """Make a claim about the recipe of the definition as it is now."""
        package = self.package
        ref = next(ref for ref in package.claims if ref.id == id_)
        return Claim(
            slug=package.slug(ref),
            label=ref.label,
            value=value,
            unit=ref.unit,
            raw=digest(ROWS),
            locator=PointerLocator(pointer=ref.pointer) if ref.pointer else WholeFile(),
            extraction=Extraction(extractor=ref.extractor, parameters=ref.parameters),
            subject=recipe_digest(package.recipe),
        )

    def publish(self, *more: str) -> int:
        return run(["catalog", "publish", str(self.definition.parent), *more])

    def yank(self, version: str = "1.0.0", reason: str = "Its cache is too small.") -> int:
        return run(["catalog", "yank", NAME, version, "--reason", reason, "--packages", str(self.packages)])

    def build(self, *more: str) -> int:
        places = ("--packages", str(self.packages), "--evidence", str(self.evidence))
        return run(["catalog", "build", *places, "-o", str(self.site), *more])

    def told(self, path: str) -> Mapping[str, Any]:
        """Read a document of the built site."""
        document: Mapping[str, Any] = json.loads((self.site / path).read_bytes())
        return document

    def text(self, path: str) -> str:
        return (self.site / path).read_text()

    def everywhere(self) -> str:
        """Give all pages, documents and feeds of the built site, one after the other; raw files and deploy files are no pages."""
        kinds = {".html", ".json", ".jsonld", ".atom", ".txt"}
        files = (file for file in sorted(self.site.rglob("*")) if file.suffix in kinds and "deploy" not in file.parts)
        return "\n".join(file.read_text() for file in files)


def open_shop(root: Path) -> Shop:
    """Lay out a shop with one package, one raw file and one number."""
    shop = Shop(root)
    shop.definition.parent.mkdir(parents=True)
    shutil.copy(definitions.package_file(NAME), shop.definition)
    (shop.evidence / "raw").mkdir(parents=True)
    (shop.evidence / "raw" / digest(ROWS).hex).write_bytes(ROWS)
    (shop.evidence / "ledger.jsonl").write_bytes(b"")
    shop.file(raw_file("requests.jsonl", ROWS), shop.claim("532.4"))
    return shop
