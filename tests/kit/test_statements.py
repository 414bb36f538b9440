import json
from dataclasses import replace

import pytest
from tests.kit.contents import CLAIM, MEASUREMENT, PACKAGE, RECIPE, ROWS, digest, kit, renamed, signed
from tests.samples import DIGEST
from tests.simulators.signer import KnownSigner

from dayzero.attestation.statement import payload, payload_digest
from dayzero.core.errors import EvidenceError, InputError
from dayzero.core.pins import Commit, HubRevision, InDistribution, ModelOrigin, Sha256, SourceBuild
from dayzero.evidence.model import Claim
from dayzero.kit.statements import kit_statement, kit_statements, receipt_statement
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
        (kit().archive.replace(b"'serving'", b"'Serving'"), signed(), ExitCode.DIGEST),
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


def test_the_kit_statement_pins_archive_files_engine_model_ledger_recipe_and_receipt():
    statement, receipt = kit_statements(kit(), PACKAGE, RECIPE, MEASUREMENT, "demo")
    predicate = json.loads(payload(statement))["predicate"]
    assert [(entry.name, entry.sha256) for entry in statement.subjects] == [("demo-tiny-1.0.0.kit.zip", kit().sha256)]
    assert statement.predicate_type == "urn:dayzero:kit:v1"
    assert predicate["files"] == [file.document() for file in kit().files]
    assert predicate["engine"]["wheels"] == [{"filename": "xllamacpp-2.0-py3-none-any.whl", "sha256": DIGEST.hex}]
    assert predicate["model"]["files"] == [{"path": "tiny.gguf", "sha256": DIGEST.hex, "size": 1000}]
    assert predicate["model"]["origin"] == {"kind": "seed", "generator": "kimi-k3", "seed": 7}
    assert predicate["ledger"] == {"sha256": digest(b'{"seq":0}\n').hex}
    assert predicate["recipe"] == {"sha256": RECIPE.hex}
    assert predicate["receipts"] == [{"predicateType": "urn:dayzero:receipt:v1", "sha256": payload_digest(receipt).hex}]
    assert (predicate["weightBytes"], predicate["signer"]) == (0, {"kind": "demo"})


def test_the_receipt_is_about_the_kit_and_each_raw_file_and_keeps_every_digit():
    receipt = receipt_statement(kit(), RECIPE, MEASUREMENT, "demo")
    raw = [file for file in kit().files if file.path.startswith("evidence/raw/")]
    assert [entry.sha256 for entry in receipt.subjects] == [kit().sha256, *(file.sha256 for file in raw)]
    assert len(raw) == 2
    predicate = json.loads(payload(receipt))["predicate"]
    assert predicate["claims"] == [
        {
            "slug": "demo-tiny/c1-ttft-p50",
            "label": "time to first token, median",
            "value": "12.30",
            "unit": "ms",
            "raw": digest(ROWS).hex,
            "locator": {"kind": "line", "line": 1, "sha256": digest(ROWS[:-1]).hex},
            "extraction": {"extractor": "bench-rows@1", "parameters": [["cell", "c1"]]},
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
        receipt_statement(kit(), RECIPE, replace(MEASUREMENT, claims=(claim,)), "demo")


def test_an_environment_that_names_something_twice_is_refused():
    with pytest.raises(InputError, match="twice"):
        receipt_statement(kit(), RECIPE, replace(MEASUREMENT, environment=(("a", "1"), ("a", "2"))), "demo")


def test_a_kit_of_another_version_is_not_stated_as_this_package():
    with pytest.raises(InputError, match=r"not a kit of demo-tiny 2\.0\.0"):
        kit_statement(kit(), replace(PACKAGE, version="2.0.0"), RECIPE, (), "demo")


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
    statement = kit_statement(kit(), package, RECIPE, (), "demo")
    assert json.loads(payload(statement))["predicate"]["model"]["origin"] == stated


def test_a_source_build_is_stated_with_its_commit():
    engine = replace(PACKAGE.recipe.engine, source=SourceBuild(repository="r", commit=Commit("b" * 40)))
    package = replace(PACKAGE, recipe=replace(PACKAGE.recipe, engine=engine))
    statement = kit_statement(kit(), package, RECIPE, (), "demo")
    assert json.loads(payload(statement))["predicate"]["engine"]["source"] == {"repository": "r", "commit": "b" * 40}
