import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.kit.measured import NAME, ROWS, START, claim, measured_kit

from dayzero.cli.main import run
from dayzero.core.pins import Sha256
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Concern, Correction, Record, Retraction

SLUG = f"{NAME}/c1-ttft-p50"
AT = "2026-11-30T08:00:00Z"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    kit, key = measured_kit().write(tmp_path / "shop")
    kit.rename(tmp_path / "k.kit.zip")
    (tmp_path / "shop" / measured_kit().packed.kit.attestation_name).rename(tmp_path / "k.kit.intoto.jsonl")
    key.rename(tmp_path / "owner.pub.pem")
    return tmp_path


def evidence(folder: Path, *later: Record) -> None:
    """Lay the ledger of the kit with what was said later."""
    ledger = measured_kit().ledger
    (folder / "evidence/raw").mkdir(parents=True)
    _, lines = Ledger().append([*(entry.record for entry in ledger.entries), *later])
    (folder / "evidence/ledger.jsonl").write_bytes(lines)
    for content in (ROWS, START):
        (folder / "evidence/raw" / Sha256.of(content).hex).write_bytes(content)


EXPORT = ["evidence", "export", "--kit", "k.kit.zip", "--key", "owner.pub.pem", "-o", "out"]


def test_a_verified_kit_becomes_a_crate_with_the_pages_of_its_claims(shop: Path, capsys: pytest.CaptureFixture[str]):
    assert run(EXPORT) == 0
    out, err = capsys.readouterr()
    assert f"{NAME} 1.0.0: verified, signed with a demo key: integrity, not identity" in out
    assert "what was said since it was packed is not known" in err
    for file in measured_kit().content.files:
        assert (shop / "out" / file.path).read_bytes() == file.content
    assert f'data-claim="{SLUG}" value="56.1"' in (shop / f"out/site/claims/{SLUG}/index.html").read_text()
    crate = json.loads((shop / "out/ro-crate-metadata.json").read_bytes())
    described = {entity["@id"] for entity in crate["@graph"] if entity["@type"] == "File"}
    there = {path.relative_to(shop / "out").as_posix() for path in (shop / "out").rglob("*") if path.is_file()}
    assert there == described | {"ro-crate-metadata.json"}


@pytest.mark.usefixtures("shop")
def test_the_pages_of_an_export_cite_what_its_ledger_says(capsys: pytest.CaptureFixture[str]):
    assert run(EXPORT) == 0
    capsys.readouterr()
    run(["evidence", "check", "out", "--output-format", "json"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {finding["kind"] for finding in findings} <= {"claim-differs", "claim-unsupported"}  # the rows are made up


@pytest.mark.parametrize(
    "fault",
    [
        lambda shop: (shop / "k.kit.zip").write_bytes((shop / "k.kit.zip").read_bytes().replace(b"5610", b"4610")),
        lambda shop: (shop / "k.kit.intoto.jsonl").write_bytes(b"{}\n"),
        lambda shop: (shop / "owner.pub.pem").write_bytes(
            b"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
            b"-----END PUBLIC KEY-----\n"
        ),
    ],
    ids=["changed digit", "foreign statements", "another key"],
)
def test_a_kit_that_does_not_verify_is_refused_and_nothing_is_written(shop: Path, capsys, fault):
    fault(shop)
    assert run(EXPORT) == 4
    assert "does not verify" in capsys.readouterr().err
    assert not (shop / "out").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evidence", "export", "--kit", "none.zip", "--key", "owner.pub.pem", "-o", "out"], "cannot read the kit"),
        (["evidence", "export", "--kit", "k.kit.zip", "--key", "none.pem", "-o", "out"], "cannot read the key"),
        (["evidence", "export", "--kit", "k.kit.zip", "-o", "out"], "key"),
        (["evidence", "export", "nowhere", "--kit", "k.kit.zip", "--key", "owner.pub.pem", "-o", "out"], "nowhere"),
    ],
)
def test_bad_input_is_2(shop: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str):
    assert run(words) == 2
    assert said in capsys.readouterr().err
    assert not (shop / "out").exists()


def test_a_folder_that_is_there_is_left_alone(shop: Path, capsys: pytest.CaptureFixture[str]):
    (shop / "out").mkdir()
    (shop / "out/thesis").write_text("mine")
    assert run(EXPORT) == 2
    assert "is there already" in capsys.readouterr().err
    assert [path.name for path in (shop / "out").iterdir()] == ["thesis"]


@pytest.mark.parametrize("kind", ["retract", "withdraw"])
def test_what_was_taken_back_after_packing_has_no_value_in_crate_card_and_json(shop: Path, capsys, kind: str):
    evidence(shop, Retraction(slug=SLUG, kind=kind, reason="The clock was wrong.", at=AT))
    assert run([*EXPORT, "--output-format", "json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["schema"], document["ledger_continued"]) == ("dayzero/evidence-export/v1", True)
    assert [(event["slug"], event["reason"]) for event in document["later"]] == [(SLUG, "The clock was wrong.")]
    assert err == ""
    for name in ("ro-crate-metadata.json", f"site/packages/{NAME}/index.html", "site/index.json"):
        assert "56.1" not in (shop / "out" / name).read_text()
    assert "The clock was wrong." in (shop / f"out/site/claims/{SLUG}/index.html").read_text()


def test_a_concern_since_then_is_shown(shop: Path, capsys: pytest.CaptureFixture[str]):
    evidence(shop, Concern(slug=SLUG, reason="Measured again.", at=AT))
    assert run(EXPORT) == 0
    assert f"since then {SLUG}: concern {AT}: Measured again." in capsys.readouterr().out
    assert "under concern: Measured again." in (shop / "out/ro-crate-metadata.json").read_text()


@pytest.mark.parametrize("correction", [(), (Correction(slug=SLUG, reason="A digit was lost.", at=AT),)])
def test_a_claim_whose_place_was_taken_since_has_no_value(shop: Path, correction: tuple[Record, ...]):
    evidence(shop, *correction, replace(claim("c1-ttft-p50", "99.9")))
    assert run(EXPORT) == 0
    crate = (shop / "out/ro-crate-metadata.json").read_text()
    assert "56.1" not in crate
    assert "99.9" not in crate
    page = (shop / f"out/site/claims/{SLUG}/index.html").read_text()
    assert "A later claim took its place after this kit was packed" in page
    assert ("A digit was lost." in page) == bool(correction)


def test_another_ledger_is_left_alone(shop: Path, capsys: pytest.CaptureFixture[str]):
    evidence(shop)
    other, lines = Ledger().append([claim("c1-ttft-p50", "1.0")])
    assert other.entries
    (shop / "evidence/ledger.jsonl").write_bytes(lines)
    assert run(EXPORT) == 0
    assert "is not the one of the kit" in capsys.readouterr().err
    assert "56.1" in (shop / "out/ro-crate-metadata.json").read_text()
