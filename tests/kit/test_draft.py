import json
from dataclasses import replace

import pytest
from tests.kit.contents import CONTENTS, ENVIRONMENT, digest, renamed
from tests.kit.k3 import definition as k3_definition
from tests.simulators.signer import BrokenSigner, KnownSigner

from dayzero.adapters.package_files import parse_package
from dayzero.attestation.statement import payload
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.launch import Site, at_site
from dayzero.core.pins import Commit, InDistribution, Sha256, SourceBuild
from dayzero.kit.draft import completed, draft_text, parse_draft, sign_kit
from dayzero.kit.packing import Circumstances, Packed, pack
from dayzero.kit.provenance import DefinitionSource, provenance
from dayzero_verify.dsse import parse_envelope
from dayzero_verify.kit import examine
from dayzero_verify.report import ExitCode, Status
from dayzero_verify.statement import parse_statement

SOURCE = DefinitionSource(path="packages/demo-tiny/package.toml", commit=Commit("a" * 40), sha256=digest(b"toml"))
OWNER, SECOND = KnownSigner(), KnownSigner(seed=b"\x02" * 32)
REPORT = {
    "schema": "dayzero/audit/v2",
    "engine": "xllamacpp==2.0",
    "verdict": "proven",
    "reason": "no rule of 2 found what would stop it",
    "findings": [],
    "not_checked": [],
    "rules": ["pin-conflict", "native-symbols"],
}


def packed(audit: dict[str, object] | None = None) -> Packed:
    report = b"" if audit is None else json.dumps(audit).encode()
    return pack(CONTENTS, Circumstances(source=SOURCE, environment=ENVIRONMENT, audit=report))


def test_a_draft_is_read_back_as_it_was_written_and_holds_no_signature():
    draft = packed(REPORT).draft
    text = draft_text(draft)
    assert draft_text(parse_draft(text.encode())) == text
    read_back = completed(parse_draft(text.encode()), "demo")
    assert [payload(said) for said in read_back] == [payload(said) for said in completed(draft, "demo")]
    assert json.loads(text)["schema"] == "dayzero/kit-draft/v1"
    assert "signature" not in text
    assert "signer" not in text


def test_what_is_signed_lists_every_other_statement_and_verifies():
    made = packed(REPORT)
    attestation = sign_kit(made.kit.archive, made.draft, (OWNER,))
    report = examine(made.kit.archive, attestation, (OWNER.trusted,)).report
    assert report.exit_code is ExitCode.VERIFIED
    receipts = next(row for row in report.rows if row.check == "receipts")
    assert (receipts.status, receipts.reason) == (
        Status.PASS,
        "1 receipt, about this kit and its raw files; 2 other statements about this kit",
    )
    statements = [parse_statement(parse_envelope(line).payload) for line in attestation.splitlines()]
    assert [said.predicate_type for said in statements] == [
        "urn:dayzero:kit:v1",
        "urn:dayzero:receipt:v1",
        "https://slsa.dev/provenance/v1",
        "https://in-toto.io/attestation/test-result/v0.1",
    ]
    assert [said.predicate.get("signer") for said in statements] == [{"kind": "demo"}, {"kind": "demo"}, None, None]


@pytest.mark.parametrize("left_out", [1, 2, 3])
def test_no_statement_that_the_kit_names_can_be_left_out(left_out: int):
    made = packed(REPORT)
    lines = sign_kit(made.kit.archive, made.draft, (OWNER,)).splitlines(keepends=True)
    lines.pop(left_out)
    assert examine(made.kit.archive, b"".join(lines), (OWNER.trusted,)).report.exit_code is ExitCode.FILE_SET


def test_two_keys_give_two_signatures_on_each_line_and_either_is_enough():
    made = packed()
    attestation = sign_kit(made.kit.archive, made.draft, (OWNER, SECOND))
    assert [len(parse_envelope(line).signatures) for line in attestation.splitlines()] == [2, 2, 2]
    for key in (OWNER, SECOND):
        assert examine(made.kit.archive, attestation, (key.trusted,)).report.exit_code is ExitCode.VERIFIED


def test_a_draft_of_another_archive_is_not_signed():
    with pytest.raises(IntegrityError, match="about another archive"):
        sign_kit(renamed("# Other\n").archive, packed().draft, (OWNER,))


def test_a_receipt_of_another_kit_is_not_signed_with_this_one():
    made = packed()
    other = replace(made.draft.others[0], subjects=(replace(made.draft.subject, sha256=digest(b"x")),))
    with pytest.raises(IntegrityError, match="about another archive"):
        sign_kit(made.kit.archive, replace(made.draft, others=(other,)), (OWNER,))


def test_a_draft_that_does_not_list_the_archives_files_is_not_signed():
    made = packed()
    files = made.draft.kit.predicate["files"]
    assert isinstance(files, list)
    shorter = replace(made.draft.kit, predicate={**made.draft.kit.predicate, "files": files[:-1]})
    with pytest.raises(IntegrityError, match="the verifier refuses"):
        sign_kit(made.kit.archive, replace(made.draft, kit=shorter), (OWNER,))


def test_keys_of_two_kinds_no_key_and_a_key_that_signs_with_another_are_refused():
    made = packed()
    with pytest.raises(InputError, match="cannot sign one kit together"):
        sign_kit(made.kit.archive, made.draft, (OWNER, KnownSigner(seed=b"\x02" * 32, kind="release")))
    with pytest.raises(InputError, match="signed with a key"):
        sign_kit(made.kit.archive, made.draft, ())
    with pytest.raises(IntegrityError, match="does not hold"):
        sign_kit(made.kit.archive, made.draft, (BrokenSigner(),))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"{", "cannot be read"),
        (b"[]", "not one of schema"),
        (b'{"schema": "dayzero/kit-draft/v2", "statements": [1]}', "not one of schema"),
        (b'{"schema": "dayzero/kit-draft/v1", "statements": []}', "not one of schema"),
        (b'{"schema": "dayzero/kit-draft/v1", "statements": [1]}', "cannot be read"),
        (draft_text(replace(packed().draft, kit=packed().draft.others[0])).encode(), "about a kit"),
        (draft_text(replace(packed().draft, others=(packed().draft.kit,))).encode(), "about a kit"),
    ],
)
def test_what_is_no_draft_is_refused(content: bytes, why: str):
    with pytest.raises(InputError, match=why):
        parse_draft(content)


# --- provenance ------------------------------------------------------------------------------------------------------


def test_the_provenance_names_builder_definition_engine_and_every_model_file_and_no_time():
    said = packed().draft.others[1]
    document = json.loads(payload(said))
    assert document["predicate"] == {
        "buildDefinition": {
            "buildType": "urn:dayzero:kit-build:v1",
            "externalParameters": {
                "package": "demo-tiny",
                "version": "1.0.0",
                "targets": ["compose", "shell"],
                "site": {},
            },
            "resolvedDependencies": [
                {"name": "package.toml", "digest": {"sha256": digest(b"toml").hex}},
                {"name": "packages/demo-tiny/package.toml", "digest": {"gitCommit": "a" * 40}},
                {
                    "uri": "pkg:pypi/xllamacpp@2.0",
                    "name": "xllamacpp-2.0-cp310-abi3-manylinux2014_x86_64.whl",
                    "digest": {"sha256": "0123456789abcdef" * 4},
                },
                {
                    "uri": "pkg:pypi/xllamacpp@2.0",
                    "name": "xllamacpp-2.0-cp310-abi3-manylinux2014_aarch64.whl",
                    "digest": {"sha256": "cd" * 32},
                },
                {"name": "model/tiny.gguf", "digest": {"sha256": "0123456789abcdef" * 4}},
            ],
        },
        "runDetails": {"builder": {"id": "urn:dayzero:builder:local", "version": {"dayzero": "0.1.0"}}},
    }


def test_the_provenance_of_a_model_on_the_hub_names_its_commit_its_image_and_the_site():
    package = parse_package(k3_definition(), "package.toml")
    site = at_site(CONTENTS.launch, Site(namespace="models"))
    contents = replace(CONTENTS, package=package, launch=site)
    predicate = provenance(packed().kit, contents, DefinitionSource(sha256=digest(b"toml"))).predicate
    build = predicate["buildDefinition"]
    assert isinstance(build, dict)
    assert build["externalParameters"]["site"] == {"namespace": "models"}
    named = {entry.get("uri", ""): entry["digest"] for entry in build["resolvedDependencies"]}
    assert named["docker://docker.io/vllm/vllm-openai"] == {"sha256": "b" * 64}
    commit = "0123456789" * 4
    assert named[f"pkg:huggingface/moonshotai/Kimi-K3@{commit}"] == {"gitCommit": commit}
    assert len([entry for entry in build["resolvedDependencies"] if str(entry.get("name")).startswith("model/")]) == 96


def test_a_source_build_a_lock_and_a_wheel_of_weights_are_dependencies():
    recipe = CONTENTS.package.recipe
    source = SourceBuild(repository="https://example.org/engine", commit=Commit("c" * 40))
    weights = InDistribution(distribution="llm-x", version="1", wheel_sha256=Sha256("e" * 64), folder="llm_x")
    recipe = replace(
        recipe,
        engine=replace(recipe.engine, source=source, lock="locked\n"),
        model=replace(recipe.model, origin=weights),
    )
    contents = replace(CONTENTS, package=replace(CONTENTS.package, recipe=recipe))
    build = provenance(packed().kit, contents, SOURCE).predicate["buildDefinition"]
    assert isinstance(build, dict)
    assert {"uri": "git+https://example.org/engine", "digest": {"gitCommit": "c" * 40}} in build["resolvedDependencies"]
    assert {"name": "requirements.lock", "digest": {"sha256": digest(b"locked\n").hex}} in build["resolvedDependencies"]
    assert {"uri": "pkg:pypi/llm-x@1", "digest": {"sha256": "e" * 64}} in build["resolvedDependencies"]


# --- the audit's result ----------------------------------------------------------------------------------------------

FATAL = {"rule": "pin-conflict", "refutes": True}
LOST = {"rule": "native-symbols", "refutes": False}
OPEN = {"what": "which kernels?", "why": "no wheel", "needed": True}


@pytest.mark.parametrize(
    ("changes", "result", "passed", "warned", "failed"),
    [
        ({}, "PASSED", ["pin-conflict", "native-symbols"], [], []),
        ({"findings": [LOST]}, "WARNED", ["pin-conflict"], ["native-symbols"], []),
        ({"verdict": "refuted", "findings": [FATAL, LOST]}, "FAILED", [], ["native-symbols"], ["pin-conflict"]),
        ({"verdict": "undecided"}, "WARNED", ["pin-conflict", "native-symbols"], [], []),
        ({"verdict": "undecided", "not_checked": [OPEN]}, "WARNED", REPORT["rules"], ["which kernels?"], []),
    ],
)
def test_the_audits_verdict_becomes_a_test_result(changes, result, passed, warned, failed):
    said = packed({**REPORT, **changes}).draft.others[-1]
    predicate = said.predicate
    assert said.predicate_type == "https://in-toto.io/attestation/test-result/v0.1"
    assert predicate["result"] == result
    assert (predicate["passedTests"], predicate["warnedTests"], predicate["failedTests"]) == (passed, warned, failed)
    assert predicate["configuration"] == [
        {"name": "dayzero audit report", "digest": {"sha256": digest(json.dumps({**REPORT, **changes}).encode()).hex}}
    ]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"schema": "dayzero/audit/v1"}, "not one of schema"),
        ({"engine": "xllamacpp==1.0"}, "the package pins xllamacpp==2.0"),
        ({"verdict": "maybe"}, "holds no verdict"),
    ],
)
def test_a_report_of_something_else_is_refused(changes: dict[str, object], why: str):
    with pytest.raises(InputError, match=why):
        packed({**REPORT, **changes})


def test_a_report_that_is_no_json_is_refused():
    with pytest.raises(InputError, match="not strict JSON"):
        pack(CONTENTS, Circumstances(source=SOURCE, audit=b"proven"))
