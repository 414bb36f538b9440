import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from tests.catalog.sample import ROWS, digest, ledger_of, raw_file

from dayzero.cli.main import run
from dayzero.core.package import Package
from dayzero.evidence.model import Claim, Extraction, Record, Retraction, WholeFile
from dayzero.evidence.subject import recipe_digest
from dayzero.wiring import definitions

SLUG = "demo-kimi-k3-tiny/c1-output-tok-s"


def filed(folder: Path, *records: Record) -> Path:
    """Lay a folder of evidence as a run leaves it."""
    (folder / "raw").mkdir(parents=True)
    (folder / "raw" / digest(ROWS).hex).write_bytes(ROWS)
    _, lines = ledger_of().append((raw_file("requests.jsonl", ROWS), *records))
    (folder / "ledger.jsonl").write_bytes(lines)
    return folder


def made(package: Package, value: str) -> Claim:
    ref = next(ref for ref in package.claims if ref.headline)
    return Claim(
        slug=f"{package.name}/{ref.id}",
        label=ref.label,
        value=value,
        unit=ref.unit,
        raw=digest(ROWS),
        locator=WholeFile(),
        extraction=Extraction(extractor=ref.extractor, parameters=ref.parameters),
        subject=recipe_digest(package.recipe),
    )


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Give a folder with one of the definitions that travel with dayzero."""
    folder = tmp_path / "packages"
    shutil.copytree(definitions.package_file("demo-kimi-k3-tiny").parent, folder / "demo-kimi-k3-tiny")
    return folder


def build(packages: Path, evidence: Path, site: Path, *more: str) -> int:
    return run(["catalog", "build", "--packages", str(packages), "--evidence", str(evidence), "-o", str(site), *more])


def test_a_site_is_built_from_definitions_and_evidence(
    tmp_path: Path, packages: Path, capsys: pytest.CaptureFixture[str]
):
    (package,) = definitions.packages(packages)
    evidence = filed(tmp_path / "evidence", made(package, "532.4"))
    assert build(packages, evidence, tmp_path / "site") == 0
    out, err = capsys.readouterr()
    assert "demo-kimi-k3-tiny 1.0.0: 532.4 tok/s (output rate, one stream); 1 of 9 numbers shown" in out
    assert "The evidence ledger holds no claim demo-kimi-k3-tiny/c1-ttft-p50." in err
    assert "532.4 tok/s" in (tmp_path / "site/packages/demo-kimi-k3-tiny/index.html").read_text()
    assert (tmp_path / f"site/evidence/raw/{digest(ROWS)}").read_bytes() == ROWS


def test_a_retracted_claim_is_gone_from_the_rebuilt_site(
    tmp_path: Path, packages: Path, capsys: pytest.CaptureFixture[str]
):
    (package,) = definitions.packages(packages)
    retraction = Retraction(slug=SLUG, kind="retract", reason="wrong clock", at="2026-11-30T08:00:00Z")
    evidence = filed(tmp_path / "evidence", made(package, "532.4"), retraction)
    assert build(packages, evidence, tmp_path / "site", "--output-format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "dayzero/catalog-build/v1"
    assert document["packages"][0]["gone"] == [SLUG]
    text = (tmp_path / "site/index.html").read_text()
    assert "wrong clock" in text
    assert "532.4" not in text


def test_no_evidence_at_all_is_a_site_that_says_so(tmp_path: Path, packages: Path, capsys: pytest.CaptureFixture[str]):
    assert build(packages, tmp_path / "none", tmp_path / "site") == 0
    assert "no number (output rate, one stream); 0 of 9 numbers shown" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()


def test_a_raw_file_with_a_changed_digit_builds_no_site(
    tmp_path: Path, packages: Path, capsys: pytest.CaptureFixture[str]
):
    (package,) = definitions.packages(packages)
    evidence = filed(tmp_path / "evidence", made(package, "532.4"))
    (evidence / "raw" / digest(ROWS).hex).write_bytes(ROWS.replace(b"561", b"461"))
    assert build(packages, evidence, tmp_path / "site") == 4
    assert digest(ROWS).hex in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_a_missing_raw_file_builds_no_site(tmp_path: Path, packages: Path, capsys: pytest.CaptureFixture[str]):
    (package,) = definitions.packages(packages)
    evidence = filed(tmp_path / "evidence", made(package, "532.4"))
    (evidence / "raw" / digest(ROWS).hex).unlink()
    assert build(packages, evidence, tmp_path / "site") == 1
    assert digest(ROWS).hex in capsys.readouterr().err


def test_a_built_site_is_served_until_it_is_interrupted(tmp_path: Path, packages: Path):
    build(packages, tmp_path / "none", tmp_path / "site")
    command = [
        sys.executable,
        "-c",
        "from dayzero.cli.main import main; main()",
        "catalog",
        "serve",
        str(tmp_path / "site"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout
        address = server.stdout.readline().split()[-1]
        assert b"dayzero" in httpx.get(address, trust_env=False).content
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=10) == 0
        assert server.stderr
        assert "stopped" in server.stderr.read()
