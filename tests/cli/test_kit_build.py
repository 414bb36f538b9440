import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.kit.contents import CLAIM, DEFINITION, LOG, RECORDS, START, digest, raw_file
from tests.kit.k3 import definition as k3_definition

from dayzero.adapters.keys import make_key, save_key
from dayzero.cli.main import run
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Retraction
from dayzero_verify.canonical_zip import ArchivedFile, build, read

KIT, DRAFT, SIGNED = (f"demo-tiny-1.0.0.kit.{end}" for end in ("zip", "draft.json", "intoto.jsonl"))
REPORT = {
    "schema": "dayzero/audit/v2",
    "engine": "xllamacpp==2.0",
    "verdict": "proven",
    "findings": [],
    "not_checked": [],
    "rules": ["pin-conflict"],
}


def write_evidence(folder: Path, *records: object) -> None:
    (folder / "raw").mkdir(parents=True)
    _, lines = Ledger().append(records)  # type: ignore[arg-type]
    (folder / "ledger.jsonl").write_bytes(lines)
    for content in (START, LOG):
        (folder / "raw" / digest(content).hex).write_bytes(content)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("demo-tiny").mkdir()
    Path("demo-tiny/package.toml").write_text(DEFINITION, encoding="utf-8")
    write_evidence(Path("evidence"), *RECORDS)
    for name in ("owner", "second"):
        save_key(make_key("release"), private=Path(f"{name}.pem"), public=Path(f"{name}.pub.pem"))
    return tmp_path


def build_kit(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert run(["kit", "build", "demo-tiny", "-o", "dist", *words, "--output-format", "json"]) == 0
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    assert document["schema"] == "dayzero/kit-build/v1"
    return document


@pytest.mark.usefixtures("shop")
def test_a_kit_is_built_signed_and_verified_with_every_target_and_no_weight_byte(capsys: pytest.CaptureFixture[str]):
    Path("audit.json").write_text(json.dumps(REPORT))
    built = build_kit(capsys, "--audit", "audit.json")
    archive = (Path("dist") / KIT).read_bytes()
    assert (built["sha256"], built["size"]) == (digest(archive).hex, len(archive))
    assert (built["weight_bytes"], built["claims"]) == (0, [CLAIM.slug])
    assert len(built["targets"]) == 13  # type: ignore[arg-type]
    assert (built["not_carried"], built["left_out"]) == ([], [])
    assert run(["kit", "sign", f"dist/{KIT}", "--key", "owner.pem", "--key", "second.pem"]) == 0
    assert "signed demo-tiny 1.0.0: dist/demo-tiny-1.0.0.kit.intoto.jsonl" in capsys.readouterr().out
    for key in ("owner", "second"):
        required = ["--require", "deploy_files", "--require", "claims", "--require", "receipts"]
        assert run(["kit", "verify", f"dist/{KIT}", "--key", f"{key}.pub.pem", *required]) == 0
    assert "2 signatures" not in capsys.readouterr().out


@pytest.mark.usefixtures("shop")
def test_the_text_says_digest_size_targets_what_is_not_measured_and_what_comes_next(capsys: pytest.CaptureFixture[str]):
    assert run(["kit", "build", "demo-tiny", "-o", "dist", "--target", "shell"]) == 0
    text = capsys.readouterr().out
    archive = (Path("dist") / KIT).read_bytes()
    for line in (
        f"dist/{KIT}: {len(archive)} bytes, {len(read(archive))} files, 0 weight bytes counted",
        f"sha256 {digest(archive)}",
        "deploy targets: shell",
        "  kubernetes: not in it: not asked for",
        "measured: 1 claim",
        "not measured: quality: random weights",
        "  urn:dayzero:kit:v1, urn:dayzero:receipt:v1, https://slsa.dev/provenance/v1",
        f"next: dayzero kit sign dist/{KIT} --key KEY.pem",
    ):
        assert f"{line}\n" in text, line


@pytest.mark.usefixtures("shop")
def test_a_kit_without_evidence_is_built_and_says_that_nothing_was_measured(capsys: pytest.CaptureFixture[str]):
    Path("none").mkdir()
    assert run(["kit", "build", "demo-tiny", "-o", "dist", "--evidence", "none"]) == 0
    assert "not measured: the ledger claims nothing about this recipe" in capsys.readouterr().out
    readme = next(f.content for f in read((Path("dist") / KIT).read_bytes()) if f.path == "README.md").decode()
    assert "nothing was measured with this recipe" in readme


@pytest.mark.usefixtures("shop")
def test_a_claim_that_was_taken_back_is_not_stated_and_is_said(capsys: pytest.CaptureFixture[str]):
    gone = Retraction(slug=CLAIM.slug, kind="retract", reason="The clock was wrong.", at="2026-11-30T00:00:00Z")
    write_evidence(Path("later"), *RECORDS, gone)
    assert run(["kit", "build", "demo-tiny", "-o", "dist", "--evidence", "later"]) == 0
    said = f"{CLAIM.slug}: retracted on 2026-11-30T00:00:00Z, not stated: The clock was wrong."
    assert said in capsys.readouterr().out
    assert b"12.30" not in (Path("dist") / DRAFT).read_bytes()
    assert run(["kit", "sign", f"dist/{KIT}", "--key", "owner.pem"]) == 0
    assert run(["kit", "verify", f"dist/{KIT}", "--key", "owner.pub.pem"]) == 0


@pytest.mark.usefixtures("shop")
def test_the_site_is_in_files_and_provenance_and_a_site_that_nothing_reads_is_refused(capsys):
    build_kit(capsys, "--site", "namespace=models")
    draft = json.loads((Path("dist") / DRAFT).read_text())
    provenance = draft["statements"][2]["predicate"]["buildDefinition"]
    assert provenance["externalParameters"]["site"] == {"namespace": "models"}
    words = ["kit", "build", "demo-tiny", "-o", "other", "--target", "shell", "--site", "namespace=models"]
    assert run(words) == 2
    assert "no deploy file of this kit reads the site's namespace" in capsys.readouterr().err
    assert not Path("other").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["demo-tiny", "--target", "moon"], "moon"),
        (["demo-tiny", "--evidence", "nowhere"], "is not a folder"),
        (["demo-tiny", "--audit", "nowhere.json"], "cannot be read"),
        (["nobody"], "no package called"),
        (["demo-tiny", "--site", "x=1"], "is not NAME=VALUE of a site"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_what_cannot_be_built_is_2_and_leaves_nothing(words: list[str], why: str, capsys: pytest.CaptureFixture[str]):
    assert run(["kit", "build", *words, "-o", "dist"]) == 2
    assert why in capsys.readouterr().err
    assert not Path("dist").exists()


@pytest.mark.usefixtures("shop")
def test_evidence_that_was_changed_is_4(capsys: pytest.CaptureFixture[str]):
    (Path("evidence/raw") / digest(START).hex).write_bytes(b'{"seconds": 11}\n')
    assert run(["kit", "build", "demo-tiny", "-o", "dist"]) == 4
    assert "was changed" in capsys.readouterr().err


@pytest.mark.usefixtures("shop")
def test_nothing_is_overwritten_and_the_same_again_is_no_matter(capsys: pytest.CaptureFixture[str]):
    build_kit(capsys)
    build_kit(capsys)
    assert run(["kit", "sign", f"dist/{KIT}", "--key", "owner.pem"]) == 0
    assert run(["kit", "sign", f"dist/{KIT}", "--key", "owner.pem"]) == 0
    before = (Path("dist") / SIGNED).read_bytes()
    assert run(["kit", "sign", f"dist/{KIT}", "--key", "second.pem"]) == 2
    assert run(["kit", "build", "demo-tiny", "-o", "dist", "--target", "shell"]) == 2
    assert "is there already, with other bytes" in capsys.readouterr().err
    assert (Path("dist") / SIGNED).read_bytes() == before
    assert sorted(path.name for path in Path("dist").iterdir()) == sorted([KIT, DRAFT, SIGNED])


@pytest.mark.usefixtures("shop")
def test_an_archive_that_is_not_the_drafts_is_4_and_not_signed(capsys: pytest.CaptureFixture[str]):
    build_kit(capsys)
    archive = Path("dist") / KIT
    files = (*read(archive.read_bytes()), ArchivedFile("late.txt", b"generated later\n", executable=False))
    archive.write_bytes(build(files))
    assert run(["kit", "sign", f"dist/{KIT}", "--key", "owner.pem"]) == 4
    assert "the draft is about another archive" in capsys.readouterr().err
    assert not (Path("dist") / SIGNED).exists()


@pytest.mark.usefixtures("shop")
def test_a_kit_that_contradicts_itself_is_4_and_not_signed(capsys: pytest.CaptureFixture[str]):
    build_kit(capsys)
    draft = Path("dist") / DRAFT
    document = json.loads(draft.read_text())
    document["statements"][0]["predicate"]["flags"]["sha256"] = "0" * 64
    draft.write_text(json.dumps(document))
    assert run(["kit", "sign", f"dist/{KIT}", "--key", "owner.pem"]) == 4
    assert "the kit is not signed: the flags that are signed are not those of launch.json" in capsys.readouterr().err
    assert not (Path("dist") / SIGNED).exists()


@pytest.mark.usefixtures("shop")
def test_a_file_that_was_generated_after_signing_is_13_and_a_changed_one_12(capsys: pytest.CaptureFixture[str]):
    build_kit(capsys)
    assert run(["kit", "sign", f"dist/{KIT}", "--key", "owner.pem"]) == 0
    archive = Path("dist") / KIT
    whole = archive.read_bytes()
    archive.write_bytes(build((*read(whole), ArchivedFile("late.txt", b"x\n", executable=False))))
    assert run(["kit", "verify", f"dist/{KIT}", "--key", "owner.pub.pem"]) == 13
    edited = [ArchivedFile(f.path, f.content.replace(b"12.30", b"11.30"), f.executable) for f in read(whole)]
    archive.write_bytes(build(edited))
    assert run(["kit", "verify", f"dist/{KIT}", "--key", "owner.pub.pem"]) == 12


@pytest.mark.usefixtures("shop")
def test_the_statements_of_another_kit_are_15(capsys: pytest.CaptureFixture[str]):
    build_kit(capsys)
    assert run(["kit", "build", "demo-tiny", "-o", "other", "--target", "shell"]) == 0
    for folder in ("dist", "other"):
        assert run(["kit", "sign", f"{folder}/{KIT}", "--key", "owner.pem"]) == 0
    words = ["--attestation", f"other/{SIGNED}", "--key", "owner.pub.pem"]
    assert run(["kit", "verify", f"dist/{KIT}", *words]) == 15
    mixed = (Path("dist") / SIGNED).read_bytes().splitlines(keepends=True)
    mixed[1] = (Path("other") / SIGNED).read_bytes().splitlines(keepends=True)[1]
    Path("mixed.jsonl").write_bytes(b"".join(mixed))
    assert run(["kit", "verify", f"dist/{KIT}", "--attestation", "mixed.jsonl", "--key", "owner.pub.pem"]) == 15


@pytest.mark.usefixtures("shop")
def test_signing_needs_a_kit_its_draft_and_keys(capsys: pytest.CaptureFixture[str]):
    assert run(["kit", "sign", f"dist/{KIT}", "--key", "owner.pem"]) == 2
    build_kit(capsys)
    assert run(["kit", "sign", f"dist/{KIT}"]) == 2
    assert "hint: Give --key KEY.pem" in capsys.readouterr().err
    assert run(["kit", "sign", f"dist/{DRAFT}", "--key", "owner.pem"]) == 2
    assert run(["kit", "sign", f"dist/{KIT}", "--key", "owner.pub.pem"]) == 2
    (Path("dist") / DRAFT).unlink()
    assert run(["kit", "sign", f"dist/{KIT}", "--key", "owner.pem"]) == 2
    assert "hint: Build the kit first" in capsys.readouterr().err


@pytest.mark.usefixtures("shop")
def test_a_kit_whose_ledger_speaks_of_other_recipes_too_is_exported_with_its_own_claims(capsys):
    foreign = b'{"seconds": 9.1}\n'
    other = replace(CLAIM, slug="other/start", value="9.10", raw=digest(foreign), subject=digest(b"other"))
    record = replace(raw_file("other.json", foreign), captured_at="2026-11-29T23:00:00Z")
    write_evidence(Path("shared"), *RECORDS, record, other)
    (Path("shared/raw") / digest(foreign).hex).write_bytes(foreign)
    built = build_kit(capsys, "--evidence", "shared")
    assert (built["claims"], built["claims_elsewhere"]) == ([CLAIM.slug], 1)
    assert run(["kit", "sign", f"dist/{KIT}", "--key", "owner.pem"]) == 0
    words = ["evidence", "export", "--kit", f"dist/{KIT}", "--key", "owner.pub.pem", "-o", "crate"]
    assert run(words) == 0
    crate = Path("crate/ro-crate-metadata.json").read_text()
    assert (CLAIM.slug in crate, "other/start" in crate) == (True, False)


# --- the same bytes --------------------------------------------------------------------------------------------------

BUILD = """
import os, random, sys
os.umask(int(sys.argv[1], 8))
listing = os.listdir
os.listdir = lambda *a: sorted(listing(*a), reverse=sys.argv[2] == "down")
from dayzero.cli.main import run
sys.exit(run(["kit", "build", "demo-tiny", "-o", sys.argv[3]]))
"""


def test_the_same_bytes_come_out_whatever_umask_time_zone_locale_hash_seed_mtime_and_file_order(shop: Path):
    settings = [
        ("0022", "up", {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "1"}),
        ("0077", "down", {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2", "SOURCE_DATE_EPOCH": "1"}),
    ]
    made = []
    for number, (umask, order, environment) in enumerate(settings):
        folder = shop / f"out{number}"
        for file in sorted(shop.rglob("*.*"), reverse=order == "down"):
            os.utime(file, (number * 1_000_000, number * 1_000_000))
        command = [sys.executable, "-c", BUILD, umask, order, str(folder)]
        subprocess.run(
            command, env={**os.environ, **environment}, cwd=shop, capture_output=True, check=True, timeout=60
        )
        made.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert sorted(made[0]) == sorted([KIT, DRAFT])
    assert made[0] == made[1]


# --- the kit of a large model ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("shop")
def test_the_kit_of_kimi_k3_renders_all_targets_is_small_holds_no_weights_and_verifies(capsys):
    Path("kimi-k3").mkdir()
    Path("kimi-k3/package.toml").write_text(k3_definition(), encoding="utf-8")
    words = ["kit", "build", "kimi-k3", "-o", "dist", "--evidence", "none", "--output-format", "json"]
    Path("none").mkdir()
    assert run(words) == 0
    built = json.loads(capsys.readouterr().out)
    assert (len(built["targets"]), built["not_carried"], built["left_out"]) == (13, [], [])
    assert built["size"] < 3_000_000
    assert built["weight_bytes"] == 0
    kit = "dist/kimi-k3-0.1.0.kit.zip"
    pinned = {f"{number:064x}" for number in range(1, 97)}
    files = read(Path(kit).read_bytes())
    assert not pinned & {digest(file.content).hex for file in files}
    assert not [file.path for file in files if file.path.endswith((".safetensors", ".gguf", ".bin"))]
    assert run(["kit", "sign", kit, "--key", "owner.pem"]) == 0
    assert run(["kit", "verify", kit, "--key", "owner.pub.pem", "--require", "deploy_files"]) == 0
    draft = json.loads(Path("dist/kimi-k3-0.1.0.kit.draft.json").read_text())
    assert len(draft["statements"][0]["predicate"]["model"]["files"]) == 96
