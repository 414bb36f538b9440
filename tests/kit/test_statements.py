import json
from dataclasses import replace

import pytest
from tests.kit.contents import (
    CLAIM,
    CONTENTS,
    ENVIRONMENT,
    LAUNCH,
    PACKAGE,
    RECIPE,
    START,
    digest,
    kit,
    renamed,
    signed,
)
from tests.samples import DIGEST
from tests.simulators.signer import KnownSigner

from dayzero import __version__
from dayzero.attestation.statement import payload, payload_digest
from dayzero.core.errors import EvidenceError, InputError
from dayzero.core.package import Unmeasured
from dayzero.core.pins import Commit, HubRevision, InDistribution, ModelOrigin, Sha256, SourceBuild
from dayzero.evidence.model import Claim
from dayzero.kit.assemble import assemble
from dayzero.kit.draft import Draft, completed
from dayzero.kit.model import Run
from dayzero.kit.statements import kit_statement, receipt_statements
from dayzero_verify.kit import examine
from dayzero_verify.report import ExitCode, Status


def test_the_verifier_accepts_what_is_built_and_signed_here():
    report = examine(kit().archive, signed(), (KnownSigner().trusted,)).report
    assert report.exit_code is ExitCode.VERIFIED
    answers = {row.check: row.status for row in report.rows}
    assert answers["receipts"] is answers["manifest"] is answers["uncounted"] is Status.PASS
    assert (report.kit, report.demo) == ("demo-tiny 1.0.0", True)


def test_a_release_key_gives_a_kit_without_the_demo_mark():
    signer = KnownSigner(kind="release")
    report = examine(kit().archive, signed(signer), (signer.trusted,)).report
    assert (report.exit_code, report.demo) == (ExitCode.VERIFIED, False)


@pytest.mark.parametrize(
    ("archive", "attestation", "code"),
    [
        (renamed("# Other\n").archive, signed(), ExitCode.STATEMENT),
        (kit().archive, signed(made=renamed("# Other\n")), ExitCode.STATEMENT),
        (kit().archive, signed(KnownSigner(seed=b"\x02" * 32)), ExitCode.SIGNATURE),
        (kit().archive.replace(b"For tests.", b"For Tests.", 1), signed(), ExitCode.DIGEST),
        (kit().archive, signed().splitlines(keepends=True)[0], ExitCode.FILE_SET),
        (
            kit().archive,
            signed().splitlines(keepends=True)[0] + signed(made=renamed("#")).splitlines(keepends=True)[1],
            ExitCode.STATEMENT,
        ),
    ],
)
def test_the_verifier_refuses_parts_that_do_not_belong_together(archive: bytes, attestation: bytes, code: ExitCode):
    assert examine(archive, attestation, (KnownSigner().trusted,)).report.exit_code is code


def test_the_kit_statement_pins_archive_files_engine_model_flags_ledger_recipe_targets_and_builder():
    statement, receipt = completed(Draft(kit_statement(kit(), CONTENTS), receipt_statements(kit(), CONTENTS)), "demo")
    predicate = json.loads(payload(statement))["predicate"]
    assert [(entry.name, entry.sha256) for entry in statement.subjects] == [("demo-tiny-1.0.0.kit.zip", kit().sha256)]
    assert statement.predicate_type == "urn:dayzero:kit:v1"
    assert predicate["files"] == [file.document() for file in kit().files]
    assert predicate["engine"]["wheels"][1] == {
        "filename": "xllamacpp-2.0-cp310-abi3-manylinux2014_aarch64.whl",
        "sha256": "cd" * 32,
    }
    assert predicate["model"]["files"] == [{"path": "tiny.gguf", "sha256": DIGEST.hex, "size": 1000}]
    assert predicate["model"]["origin"] == {"kind": "seed", "generator": "kimi-k3", "seed": 7}
    words = {"argv": list(LAUNCH.argv), "env": [["OMP_NUM_THREADS", "1"]]}
    canonical = json.dumps(words, separators=(",", ":"), sort_keys=True).encode()
    assert predicate["flags"] == {"sha256": digest(canonical).hex}
    assert predicate["ledger"] == {"sha256": digest(CONTENTS.ledger).hex}
    assert predicate["recipe"] == {"sha256": RECIPE.hex}
    assert predicate["receipts"] == [{"predicateType": "urn:dayzero:receipt:v1", "sha256": payload_digest(receipt).hex}]
    assert (predicate["weightBytes"], predicate["signer"]) == (0, {"kind": "demo"})
    assert (predicate["supersedes"], predicate["minVersion"]) == ("", "")
    assert predicate["targets"]["carried"] == ["compose", "shell"]
    assert "kubernetes" in predicate["targets"]["leftOut"]
    assert predicate["builder"] == {"name": "dayzero", "version": __version__}


def test_a_later_version_supersedes_the_one_before_it_and_may_name_the_oldest_to_be_served():
    changes = (replace(PACKAGE.changes[0], version="1.0.1"), *PACKAGE.changes)
    newer = replace(CONTENTS, package=replace(PACKAGE, version="1.0.1", changes=changes))
    predicate = kit_statement(assemble(newer), newer, min_version="1.0.0").predicate
    assert (predicate["supersedes"], predicate["minVersion"]) == ("1.0.0", "1.0.0")


@pytest.mark.parametrize("version", ["1.0.1", "2.0.0", "1", "latest"])
def test_the_oldest_version_to_be_served_is_a_version_up_to_this_one(version: str):
    with pytest.raises(InputError, match=r"not a version up to 1\.0\.0"):
        kit_statement(kit(), CONTENTS, min_version=version)


def test_the_receipt_is_about_the_kit_and_each_raw_file_and_keeps_every_digit():
    (receipt,) = receipt_statements(kit(), CONTENTS, ENVIRONMENT)
    raw = [file for file in kit().files if file.path.startswith("evidence/raw/")]
    assert [entry.sha256 for entry in receipt.subjects] == [kit().sha256, *(file.sha256 for file in raw)]
    assert len(raw) == 2
    predicate = json.loads(payload(receipt))["predicate"]
    assert predicate["claims"] == [
        {
            "slug": "demo-tiny/start-to-healthy",
            "label": "start to healthy",
            "value": "12.30",
            "unit": "s",
            "raw": digest(START).hex,
            "locator": {"kind": "pointer", "pointer": "/seconds"},
            "extraction": {"extractor": "json-value@1", "parameters": [["decimals", "2"]]},
            "subject": RECIPE.hex,
        }
    ]
    assert predicate["notMeasured"] == [{"topic": "quality", "why": "random weights"}]
    assert predicate["workload"]["cells"][0]["warmupRequests"] == 1
    assert predicate["environment"] == {"machine": "cpu-1core", "system": "Linux"}


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        (replace(CLAIM, raw=Sha256("0" * 64)), "which is not in the kit"),
        (replace(CLAIM, raw=kit().sha256), "which is not in the kit"),
        (replace(CLAIM, subject=Sha256("0" * 64)), "was measured on the recipe"),
    ],
)
def test_a_claim_without_its_raw_file_or_of_another_recipe_is_not_receipted(claim: Claim, why: str):
    with pytest.raises(EvidenceError, match=why):
        receipt_statements(kit(), replace(CONTENTS, runs=(Run("", None, (), (claim,)),)))


def test_an_environment_that_names_something_twice_is_refused():
    with pytest.raises(InputError, match="twice"):
        receipt_statements(kit(), CONTENTS, (("a", "1"), ("a", "2")))


def test_a_kit_of_another_version_is_not_stated_as_this_package():
    with pytest.raises(InputError, match=r"not a kit of demo-tiny 2\.0\.0"):
        kit_statement(kit(), replace(CONTENTS, package=replace(PACKAGE, version="2.0.0")))


@pytest.mark.parametrize(
    ("origin", "stated"),
    [
        (
            HubRevision(repository="o/m", revision=Commit("a" * 40)),
            {"kind": "hub", "repository": "o/m", "revision": "a" * 40},
        ),
        (
            InDistribution(distribution="llm-x", version="1", wheel_sha256=DIGEST, folder="llm_x"),
            {
                "kind": "distribution",
                "distribution": "llm-x",
                "version": "1",
                "wheelSha256": DIGEST.hex,
                "folder": "llm_x",
            },
        ),
    ],
)
def test_every_origin_of_weights_is_stated(origin: ModelOrigin, stated: dict[str, str]):
    model = replace(PACKAGE.recipe.model, origin=origin)
    package = replace(PACKAGE, recipe=replace(PACKAGE.recipe, model=model))
    statement = kit_statement(kit(), replace(CONTENTS, package=package))
    assert json.loads(payload(statement))["predicate"]["model"]["origin"] == stated


def test_a_source_build_is_stated_with_its_commit():
    engine = replace(PACKAGE.recipe.engine, source=SourceBuild(repository="r", commit=Commit("b" * 40)))
    package = replace(PACKAGE, recipe=replace(PACKAGE.recipe, engine=engine))
    statement = kit_statement(kit(), replace(CONTENTS, package=package))
    assert json.loads(payload(statement))["predicate"]["engine"]["source"] == {"repository": "r", "commit": "b" * 40}


def test_the_receipt_says_that_a_gate_was_skipped_and_why():
    silent = replace(PACKAGE, unmeasured=(Unmeasured(topic="task gate", why="The weights are random."),))
    (receipt,) = receipt_statements(kit(), replace(CONTENTS, package=silent))
    assert json.loads(payload(receipt))["predicate"]["gates"] == [
        {"gate": "distribution gate", "verdict": "skipped", "reason": "it was not run"},
        {"gate": "task gate", "verdict": "skipped", "reason": "The weights are random."},
        {"gate": "construction", "verdict": "skipped", "reason": "it was not run"},
    ]


def test_the_receipt_states_the_verdict_of_a_gate_that_was_run():
    ran = replace(CLAIM, slug="demo-tiny/gate-task", value="same", unit="", label="60 items")
    (receipt,) = receipt_statements(kit(), replace(CONTENTS, runs=(replace(CONTENTS.runs[0], claims=(ran,)),)))
    gates = json.loads(payload(receipt))["predicate"]["gates"]
    assert gates[1] == {"gate": "task gate", "verdict": "same", "reason": "60 items"}


def test_a_gate_that_was_run_is_skipped_in_no_receipt_of_the_kit():
    ran = replace(CLAIM, slug="demo-tiny/gate-distribution", value="same", unit="", label="64 prompts")
    runs = (CONTENTS.runs[0], replace(CONTENTS.runs[0], claims=(ran,)))
    receipts = receipt_statements(kit(), replace(CONTENTS, runs=runs))
    said = [json.loads(payload(receipt))["predicate"]["gates"][0]["verdict"] for receipt in receipts]
    assert said == ["same", "same"]
