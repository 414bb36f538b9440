"""Every kit here is signed and whole, so that the verifier alone accepts it: what is wrong in it only dayzero can see."""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.kit.contents import CLAIM, CONTENTS, RECORDS, START, digest
from tests.simulators.signer import KnownSigner

from dayzero.attestation.envelope import seal
from dayzero.attestation.model import Statement
from dayzero.core.errors import EvidenceError
from dayzero.core.launch import LaunchSpec
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Retraction
from dayzero.kit.assemble import assemble
from dayzero.kit.backing import backing
from dayzero.kit.documents import launch_json, manifest_json
from dayzero.kit.draft import Draft, completed
from dayzero.kit.model import Kit, KitContents, KitFile
from dayzero.kit.statements import kit_statement, receipt_statements
from dayzero.wiring.deploy import deployment
from dayzero.wiring.kit_contents import RawInKit, contents_of
from dayzero.wiring.recheck_claims import _hold
from dayzero.wiring.recheck_kit import OpenKit
from dayzero_verify import rechecks
from dayzero_verify.canonical_zip import ArchivedFile, build, read
from dayzero_verify.cli import run
from dayzero_verify.kit import examine
from dayzero_verify.report import ExitCode, Report, Row, Status, extended

OWNER = KnownSigner()
RAW = f"evidence/raw/{digest(START)}"
Files = dict[str, bytes]


@dataclass(frozen=True)
class Change:
    """What the owner of the key did to a kit before signing it."""

    files: Callable[[Files], object] = dict
    kit: Callable[[dict[str, object]], object] = dict
    receipt: Callable[[dict[str, object]], object] = dict
    held: KitContents = CONTENTS


def changed(files: Mapping[str, bytes], held: KitContents) -> Kit:
    content = {path: text for path, text in files.items() if path != "manifest.json"}
    archived = [ArchivedFile(path, text, text.startswith(b"#!")) for path, text in sorted(content.items())]
    listed = [
        KitFile(path=file.path, size=len(file.content), sha256=digest(file.content), mode=file.mode)
        for file in archived
    ]
    manifest = manifest_json(held.package.name, held.package.version, listed).encode()
    archived.append(ArchivedFile("manifest.json", manifest, executable=False))
    listed.append(KitFile(path="manifest.json", size=len(manifest), sha256=digest(manifest), mode="0644"))
    archive = build(archived)
    name, version = held.package.name, held.package.version
    every = tuple(sorted(listed, key=lambda file: file.path))
    return Kit(name=name, version=version, files=every, archive=archive, sha256=digest(archive))


def edited(statement: Statement, edit: Callable[[dict[str, object]], object]) -> Statement:
    predicate = json.loads(json.dumps(dict(statement.predicate)))
    edit(predicate)
    return replace(statement, predicate=predicate)


def sold(change: Change) -> tuple[bytes, bytes]:
    """Give archive and attestation."""
    files: Files = {file.path: file.content for file in read(assemble(change.held).archive)}
    change.files(files)
    kit = changed(files, change.held)
    receipts = tuple(edited(one, change.receipt) for one in receipt_statements(assemble(change.held), change.held))
    receipts = tuple(replace(one, subjects=(replace(one.subjects[0], sha256=kit.sha256),)) for one in receipts)
    draft = Draft(edited(kit_statement(kit, change.held), change.kit), receipts)
    attestation = b"".join(seal(said, OWNER) for said in completed(draft, "demo"))
    return kit.archive, attestation


def answer(change: Change) -> Report:
    examination = examine(*sold(change), (OWNER.trusted,))
    if examination.content is None:
        return examination.report
    return extended(examination.report, rechecks.outcomes(examination.content))


def row(report: Report, check: str) -> Row:
    return next(row for row in report.rows if row.check == check)


def swap(path: str, old: str, new: str) -> Callable[[Files], object]:
    def edit(files: Files) -> None:
        assert old.encode() in files[path], (path, old)
        files[path] = files[path].replace(old.encode(), new.encode(), 1)

    return edit


def other_launch(files: Files) -> None:
    """Write another launch, and every deploy file from it, so that they agree with each other."""
    spec: LaunchSpec = replace(CONTENTS.launch, port=19999)
    files["launch.json"] = launch_json(spec).encode()
    files |= {path: text.encode() for path, text in deployment(spec, ("compose", "shell")).files}


def put(path: str, content: bytes) -> Callable[[Files], object]:
    return lambda files: files.update({path: content})


def test_a_kit_as_it_is_built_passes_both_checks():
    report = answer(Change())
    assert report.exit_code is ExitCode.VERIFIED
    assert row(report, "deploy_files") == Row(
        "deploy_files",
        Status.PASS,
        "those of 2 targets, rendered again from launch.json, are the same bytes",
    )
    assert row(report, "claims") == Row(
        "claims",
        Status.PASS,
        "1 claim, extracted again from 1 raw file, are the same; CARD.md and README.md, written again, are the same bytes",
    )


DRIFT: dict[str, tuple[Change, str]] = {
    "a flag in the script": (Change(swap("serve.sh", "8192", "8193")), r"serve\.sh line \d+ differs"),
    "a port that is published": (Change(swap("compose.yaml", "18480", "18481")), r"compose\.yaml line \d+ differs"),
    "what the container is made from": (Change(swap("Dockerfile", "FROM", "from")), r"Dockerfile line \d+ differs"),
    "a word of the launch": (Change(swap("launch.json", "8192", "8193")), r"launch\.json line \d+ differs"),
    "launch and deploy files together": (Change(other_launch), r"it is not the launch of package\.toml"),
    "the definition": (Change(swap("package.toml", "8192", "8193")), r"it is not the launch of package\.toml"),
    "a definition that is none": (Change(put("package.toml", b"x = 1\n")), r"package\.toml"),
    "a launch that is none": (Change(swap("launch.json", '"port": 18480', '"port": "18480"')), "is no launch"),
    "a launch in another form": (Change(swap("launch.json", "\n", "\n\n")), "one form"),
    "the lock": (Change(swap("requirements.lock", "cdcd", "cdce")), r"requirements\.lock line \d+ differs"),
    "the digests of the weights": (Change(swap("model.sha256", "0123", "0124")), r"model\.sha256 line 1 differs"),
    "the launcher": (Change(put("serve.py", b"import os\n")), r"serve\.py line 1 differs"),
    "a deploy file more": (Change(put("kubernetes.yaml", b"{}\n")), r"kubernetes\.yaml is in the kit, and neither"),
    "a deploy file less": (Change(lambda files: files.pop("compose.yaml")), r"compose\.yaml is missing"),
    "the signed engine": (Change(kit=lambda said: said.update(engine={})), "the engine that is signed"),
    "the signed model": (Change(kit=lambda said: said.pop("model")), "the model that is signed"),
    "the signed flags": (Change(kit=lambda said: said.update(flags={"sha256": "0" * 64})), "the flags that are signed"),
    "the signed recipe": (
        Change(kit=lambda said: said.update(recipe={"sha256": "0" * 64})),
        "the recipe that is signed",
    ),
}


@pytest.mark.parametrize("name", DRIFT)
def test_whatever_drifts_from_the_launch_is_21_and_named(name: str):
    change, reason = DRIFT[name]
    report = answer(change)
    assert (report.exit_code, row(report, "deploy_files").status) == (ExitCode.DEPLOY_DRIFT, Status.FAIL)
    assert re.search(reason, row(report, "deploy_files").reason), row(report, "deploy_files").reason


def stated(**changes: object) -> Callable[[dict[str, object]], object]:
    return lambda said: said["claims"][0].update(changes)  # type: ignore[index]


def forged(**changes: object) -> Change:
    """Change a claim in ledger, card and receipt alike; only the raw file still says otherwise."""
    records = tuple(replace(CLAIM, **changes) if record is CLAIM else record for record in RECORDS)  # type: ignore[arg-type]
    _, lines = Ledger().append(records)
    return Change(lambda files: files.update({"evidence/ledger.jsonl": lines}), receipt=stated(**changes))


CLAIMS: dict[str, tuple[Change, str]] = {
    "a number on the card": (Change(swap("CARD.md", "12.30", "11.30")), r"CARD\.md line \d+ differs.*12\.30.*11\.30"),
    "a number in the README": (Change(swap("README.md", "60 s", "50 s")), r"README\.md line \d+ differs"),
    "the words of the card": (Change(swap("CARD.md", "For tests.", "For all.")), r"CARD\.md line \d+ differs"),
    "a value in the receipt": (Change(receipt=stated(value="11.30")), r"says demo-tiny/start-to-healthy is '11\.30 s'"),
    "a unit in the receipt": (Change(receipt=stated(unit="ms")), r"is '12\.30 ms', the ledger says '12\.30 s'"),
    "a label in the receipt": (Change(receipt=stated(label="fast")), "from elsewhere than the ledger"),
    "a slug that nobody filed": (Change(receipt=stated(slug="demo-tiny/x")), "which the ledger does not claim"),
    "no claim at all": (Change(receipt=stated(locator={"kind": "moon"})), "claim"),
    "another recipe": (Change(kit=lambda said: said.update(recipe={"sha256": "0" * 64})), "on another recipe"),
    "a value in ledger and receipt": (forged(value="11.30"), r"says '11\.30', its raw file \w+ gives '12\.30'"),
    "a raw file": (Change(put(RAW, b'{"seconds": 11.3}\n')), "does not come out of its raw file|was changed"),
    "a raw file that is gone": (Change(lambda files: files.pop(RAW)), "holds no raw file"),
    "the chain of the ledger": (Change(swap("evidence/ledger.jsonl", "made it", "made up")), r"ledger\.jsonl"),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_whatever_number_does_not_come_out_of_its_raw_file_is_22_and_named(name: str):
    change, reason = CLAIMS[name]
    report = answer(change)
    assert row(report, "claims").status is Status.FAIL, row(report, "claims")
    drifted = row(report, "deploy_files").status is Status.FAIL  # the first check that fails decides
    assert report.exit_code is (ExitCode.DEPLOY_DRIFT if drifted else ExitCode.CLAIM)
    assert drifted is (name == "another recipe")
    assert re.search(reason, row(report, "claims").reason), row(report, "claims").reason


@pytest.mark.parametrize("name", ["a number on the card", "a number in the README"])
def test_a_number_edited_in_a_page_alone_is_22_through_the_command_line(name: str, tmp_path: Path):  # threat 31
    archive, attestation = sold(CLAIMS[name][0])
    (tmp_path / "a.kit.zip").write_bytes(archive)
    (tmp_path / "a.kit.intoto.jsonl").write_bytes(attestation)
    body = b64encode(OWNER.trusted.der).decode()
    (tmp_path / "key.pem").write_text(f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n")
    assert run([str(tmp_path / "a.kit.zip"), "--key", str(tmp_path / "key.pem")]) == ExitCode.CLAIM


def test_a_claim_that_the_kits_own_ledger_took_back_is_17():
    gone = Retraction(slug=CLAIM.slug, kind="retract", reason="The clock was wrong.", at="2026-11-30T00:00:00Z")
    _, lines = Ledger().append([*RECORDS, gone])
    report = answer(Change(put("evidence/ledger.jsonl", lines)))
    assert report.exit_code is ExitCode.RETRACTED
    assert "The clock was wrong." in next(row.reason for row in report.rows if row.status is Status.FAIL)


def test_the_recheck_alone_refuses_a_claim_that_was_taken_back_too():
    gone = Retraction(slug=CLAIM.slug, kind="withdraw", reason="Two causes.", at="2026-11-30T00:00:00Z")
    ledger, _ = Ledger().append([*RECORDS, gone])
    with pytest.raises(EvidenceError, match=r"was withdrawn on .*: Two causes\."):
        _hold(OpenKit({}, {}), ledger, CLAIM)


# --- what is not decided ---------------------------------------------------------------------------------------------


def test_a_kit_without_evidence_has_nothing_to_extract_and_its_pages_are_still_compared():
    bare = contents_without_evidence()
    report = answer(Change(held=bare))
    assert report.exit_code is ExitCode.VERIFIED
    assert (row(report, "claims").status, row(report, "deploy_files").status) == (Status.NOT_CHECKED, Status.PASS)
    assert "nothing was measured" in row(report, "claims").reason
    assert answer(Change(swap("CARD.md", "no number", "12.3 ms"), held=bare)).exit_code is ExitCode.CLAIM


def contents_without_evidence() -> KitContents:
    ledger = Ledger()
    said = backing(CONTENTS.package, b"", ledger, RawInKit({}))
    deployed = deployment(CONTENTS.launch, ("compose", "shell"))
    return contents_of(CONTENTS.package, CONTENTS.definition, CONTENTS.launch, (said, ledger), deployed)


def test_a_kit_that_was_signed_before_builders_were_named_is_read_back_and_says_so():
    report = answer(Change(kit=lambda said: [said.pop(name) for name in ("builder", "targets", "flags")]))
    assert report.exit_code is ExitCode.VERIFIED
    assert row(report, "deploy_files").status is Status.PASS
    assert "built by dayzero of a version that is not stated, this is" in row(report, "deploy_files").reason
    assert "the words of 3 deploy files, read back, are those of launch.json" in row(report, "deploy_files").reason


def earlier(files: Callable[[Files], object] = dict) -> Change:
    return Change(files, kit=lambda said: said.update(builder={"name": "dayzero", "version": "0.0.1"}))


OTHER_VERSION = {
    "other comments": (earlier(swap("compose.yaml", "# ", "# Made elsewhere. ")), "deploy_files", Status.PASS),
    "another frame": (earlier(swap("serve.sh", "# Written by", "# Made by")), "deploy_files", Status.NOT_CHECKED),
    "other words": (earlier(swap("serve.sh", "8192", "8193")), "deploy_files", Status.FAIL),
    "another launch": (earlier(other_launch), "deploy_files", Status.NOT_CHECKED),
    "a file of nobody": (earlier(put("x.yaml", b"{}\n")), "deploy_files", Status.NOT_CHECKED),
    "a definition of another kind": (earlier(put("package.toml", b"x = 1\n")), "deploy_files", Status.NOT_CHECKED),
    "other words on the card": (earlier(swap("CARD.md", "For tests.", "For all.")), "claims", Status.PASS),
    "a number on the card": (earlier(swap("CARD.md", "12.30", "11.30")), "claims", Status.FAIL),
    "broken markup": (earlier(swap("CARD.md", "<!--/claim-->", "")), "claims", Status.FAIL),
}


@pytest.mark.parametrize("name", OTHER_VERSION)
def test_of_a_kit_of_another_version_words_and_cited_numbers_are_compared_and_the_row_says_so(name: str):
    change, check, status = OTHER_VERSION[name]
    report = answer(change)
    found = row(report, check)
    assert found.status is status, found
    assert status is Status.FAIL or "built by dayzero 0.0.1, this is" in found.reason
    codes = {"deploy_files": ExitCode.DEPLOY_DRIFT, "claims": ExitCode.CLAIM}
    assert report.exit_code is (codes[check] if status is Status.FAIL else ExitCode.VERIFIED)


def test_what_is_not_installed_here_is_not_decided_here():
    moon = {"carried": ["compose", "moon", "shell"], "notCarried": [], "leftOut": []}
    report = answer(Change(kit=lambda said: said.update(targets=moon)))
    assert row(report, "deploy_files").reason == "the deploy target moon is not installed in this dayzero"
    assert row(report, "deploy_files").status is Status.NOT_CHECKED
    report = answer(Change(swap("launch.json", "dayzero/launch/v2", "dayzero/launch/v9")))
    assert "which this version does not read" in row(report, "deploy_files").reason


def test_a_kit_without_a_launch_is_not_decided():
    report = answer(Change(lambda files: files.pop("launch.json")))
    assert row(report, "deploy_files").status is Status.NOT_CHECKED
    assert "holds no launch.json" in row(report, "deploy_files").reason
