import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.catalog.sample import ROWS, digest, ledger_of, raw_file
from tests.kit.measured import measured_kit
from tests.simulators.signer import KnownSigner

from dayzero.adapters.keys import Ed25519Key
from dayzero.cli.main import run
from dayzero.core.package import Package
from dayzero.evidence.locator import WholeFile
from dayzero.evidence.model import Claim, Extraction, Record, Retraction
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
    home = tmp_path / "packages" / "demo-kimi-k3-tiny"
    home.mkdir(parents=True)
    shutil.copy(definitions.package_file("demo-kimi-k3-tiny"), home)
    return home.parent


def build(packages: Path, evidence: Path, site: Path, *more: str) -> int:
    return run(["catalog", "build", "--packages", str(packages), "--evidence", str(evidence), "-o", str(site), *more])


def test_where_the_ledger_says_nothing_the_card_says_what_was_worked_out_for_its_own_system(tmp_path: Path) -> None:
    home = tmp_path / "packages" / "kimi-k3-8xb300"
    shutil.copytree(definitions.package_file("kimi-k3-8xb300").parent, home, ignore=shutil.ignore_patterns("releases"))
    assert build(home.parent, tmp_path / "none", tmp_path / "site") == 0
    fit = json.loads((tmp_path / "site/api/v1/packages/kimi-k3-8xb300/draft.json").read_bytes())["floor"]
    assert fit["fit"] == "computed-fits"
    assert fit["why"].endswith("The evidence ledger does not say whether it fits.")
    assert "Fits, computed" in (tmp_path / "site/index.html").read_text(encoding="utf-8")


def test_a_version_that_moves_to_newer_pins_is_listed_beside_the_one_before_it_with_what_changed_and_no_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    committed = definitions.package_file("kimi-k3-8xb300").parents[1]
    assert build(committed, tmp_path / "none", tmp_path / "site") == 0
    listed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("kimi-k3-8xb300")]
    assert listed == [
        "kimi-k3-8xb300 2.0.0: 0 of 0 numbers shown",
        "kimi-k3-8xb300 1.0.0: 0 of 0 numbers shown",
    ]
    told = json.loads((tmp_path / "site/api/v1/packages/kimi-k3-8xb300/2.0.0.json").read_bytes())
    assert (told["measurements"], told["headline"], told["difference"]["claims"]) == ([], None, [])
    changed = {row["name"]: (row["before"], row["after"]) for row in told["difference"]["changed"]}
    assert changed["build"] == ("vllm==0.27.0", "vllm==0.33.0")
    assert changed["flashinfer"] == ("flashinfer-python==0.6.16.post3", "flashinfer-python==0.7.2.post1")
    assert changed["--kda-prefill-backend"] == ("triton", "flashkda")


def test_a_site_is_built_from_definitions_and_evidence(
    tmp_path: Path, packages: Path, capsys: pytest.CaptureFixture[str]
):
    (package,) = definitions.packages(packages)
    evidence = filed(tmp_path / "evidence", made(package, "532.4"))
    assert build(packages, evidence, tmp_path / "site") == 0
    out, err = capsys.readouterr()
    assert "demo-kimi-k3-tiny 1.0.0 (not released): 532.4 tok/s (output rate, one stream); 1 of 9 numbers shown" in out
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


def test_a_claim_has_its_page_in_the_built_site(tmp_path: Path, packages: Path, capsys: pytest.CaptureFixture[str]):
    (package,) = definitions.packages(packages)
    evidence = filed(tmp_path / "evidence", made(package, "532.4"))
    assert build(packages, evidence, tmp_path / "site") == 0
    assert "with 1 card and 1 claim page" in capsys.readouterr().out
    assert "532.4 tok/s" in (tmp_path / f"site/claims/{SLUG}/index.html").read_text()


def test_a_raw_file_that_lies_elsewhere_in_the_repository_comes_along(tmp_path: Path, packages: Path):
    (package,) = definitions.packages(packages)
    filed(tmp_path / "evidence", made(package, "532.4"))
    (tmp_path / "evidence/raw" / digest(ROWS).hex).rename(tmp_path / "requests.jsonl")
    assert build(packages, tmp_path / "evidence", tmp_path / "site") == 1
    (tmp_path / "evidence.toml").write_text('raw = ["*.jsonl"]\n')
    assert build(packages, tmp_path / "evidence", tmp_path / "site") == 0
    assert (tmp_path / f"site/evidence/raw/{digest(ROWS)}").read_bytes() == ROWS


def test_a_card_shows_the_facts_of_its_verified_kit(tmp_path: Path, packages: Path, capsys: pytest.CaptureFixture[str]):
    kit, _ = measured_kit().write(tmp_path / "kits" / "deep")
    assert build(packages, tmp_path / "none", tmp_path / "site", "--kits", str(tmp_path / "kits")) == 0
    assert f"kit {kit.name}" in capsys.readouterr().err
    card = (tmp_path / "site/packages/demo-kimi-k3-tiny/index.html").read_text()
    for said in (
        kit.name,
        KnownSigner().trusted.keyid,
        "demo key",
        "0 B",
        f"dayzero-verify {kit.name} --key owner.pub.pem",
    ):
        assert said in card
    told = json.loads((tmp_path / "site/api/v1/packages/demo-kimi-k3-tiny/draft.json").read_text())
    assert told["kit"]["bytes"] == kit.stat().st_size
    handed_out = tmp_path / "site/packages/demo-kimi-k3-tiny/draft/kit"
    assert (handed_out / kit.name).read_bytes() == kit.read_bytes()
    assert len(list(handed_out.iterdir())) == 3


def test_a_card_without_a_kit_says_that_none_was_given(tmp_path: Path, packages: Path):
    (tmp_path / "kits").mkdir()
    for more in ((), ("--kits", str(tmp_path / "kits"))):
        assert build(packages, tmp_path / "none", tmp_path / "site", *more) == 0
        card = (tmp_path / "site/packages/demo-kimi-k3-tiny/index.html").read_text()
        assert "No kit was given when this page was built." in card


def spoiled(kit: Path, _key: Path) -> None:
    kit.write_bytes(kit.read_bytes().replace(b"5610", b"4610"))


def without_attestation(kit: Path, _key: Path) -> None:
    kit.with_name(kit.name.replace(".zip", ".intoto.jsonl")).unlink()


def without_key(_kit: Path, key: Path) -> None:
    key.unlink()


def twice(kit: Path, _key: Path) -> None:
    (kit.parent / "more").mkdir()
    (kit.parent / "more" / kit.name).write_bytes(kit.read_bytes())


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        (spoiled, 4, "does not verify"),
        (without_attestation, 2, "cannot read the attestation"),
        (without_key, 2, "none was given"),
        (twice, 2, "are both a kit of demo-kimi-k3-tiny 1.0.0"),
    ],
)
def test_a_kit_that_cannot_be_relied_on_builds_no_site(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: Callable[[Path, Path], None], code: int, said: str
):
    fault(*measured_kit().write(tmp_path / "kits"))
    packages = definitions.package_file("demo-kimi-k3-tiny").parent.parent
    assert build(packages, tmp_path / "none", tmp_path / "site", "--kits", str(tmp_path / "kits")) == code
    assert said in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_a_kit_of_another_recipe_builds_no_site(tmp_path: Path, packages: Path, capsys: pytest.CaptureFixture[str]):
    measured_kit().write(tmp_path / "kits")
    definition = packages / "demo-kimi-k3-tiny/package.toml"
    definition.write_text(definition.read_text().replace("start_budget_s = 60", "start_budget_s = 61"))
    assert build(packages, tmp_path / "none", tmp_path / "site", "--kits", str(tmp_path / "kits")) == 4
    assert "another recipe" in capsys.readouterr().err


def test_a_key_from_elsewhere_is_the_one_that_counts(
    tmp_path: Path, packages: Path, capsys: pytest.CaptureFixture[str]
):
    _, key = measured_kit().write(tmp_path / "kits")
    other = tmp_path / "other.pub.pem"
    other.write_bytes(Ed25519Key(Ed25519PrivateKey.from_private_bytes(b"\x02" * 32), "release").public_pem())
    arguments = (packages, tmp_path / "none", tmp_path / "site", "--kits", str(tmp_path / "kits"))
    assert build(*arguments, "--key", str(other)) == 4
    assert build(*arguments, "--key", str(other), "--key", str(key)) == 0
    assert build(packages, tmp_path / "none", tmp_path / "site", "--key", str(key)) == 2
    assert "--key without --kits" in capsys.readouterr().err


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
