import json
import shutil
from pathlib import Path

import pytest

from dayzero.core.errors import InputError
from dayzero.evidence.model import Claim
from dayzero.evidence.subject import recipe_digest
from dayzero.wiring.definitions import package
from dayzero.wiring.package_evidence import file_package
from dayzero.wiring.store import open_repository

ROOT = Path(__file__).parents[2]
NAME = "qwen3-8b-shape-1xh200"
RELEASE = ROOT / "packages" / NAME / "releases" / "1.0.0"


@pytest.fixture(scope="module")
def filed_run(tmp_path_factory):
    """The run of a release as ``dayzero bench`` left it, taken out of this repository's own evidence."""
    folder = tmp_path_factory.mktemp("run")
    repository = open_repository(ROOT)
    wanted = {"requests.jsonl", "receipt.json", "start.json", "engine.log", "bringup.json"}
    recipe = recipe_digest(package(str(RELEASE)).recipe)
    claims = (entry.record for entry in repository.ledger.entries if isinstance(entry.record, Claim))
    of_release = {claim.raw for claim in claims if claim.subject == recipe}
    files = repository.ledger.raw_files()
    moments = {files[raw].captured_at for raw in of_release if files[raw].name == "requests.jsonl"}
    for raw in files.values():
        if raw.name in wanted and raw.captured_at in moments:
            (folder / raw.name).write_bytes(repository.raw.read(raw.sha256))
    assert {path.name for path in folder.iterdir()} == wanted
    return folder


@pytest.fixture
def root(tmp_path):
    (tmp_path / "evidence").mkdir()
    return tmp_path


def slugs(root):
    return set(open_repository(root).ledger.standings())


def test_a_run_gives_every_claim_of_the_definition_and_the_steps_it_reached(filed_run, root):
    definition = package(str(RELEASE))
    shown = file_package(definition, root, run=filed_run, audit=None, command="")
    assert {definition.slug(claim) for claim in definition.claims} <= slugs(root)
    assert {f"{NAME}/status-{step}" for step in ("starts", "serves", "measured")} <= slugs(root)
    assert f"{NAME}/status-resolves" not in slugs(root)
    assert {claim.subject for claim in shown.claims} == {recipe_digest(definition.recipe)}


def test_filing_the_same_run_again_appends_nothing(filed_run, root):
    definition = package(str(RELEASE))
    file_package(definition, root, run=filed_run, audit=None, command="")
    before = (root / "evidence" / "ledger.jsonl").read_bytes()
    file_package(definition, root, run=filed_run, audit=None, command="")
    assert (root / "evidence" / "ledger.jsonl").read_bytes() == before


def test_of_a_run_that_is_not_valid_only_the_start_is_filed(filed_run, root, tmp_path):
    run = shutil.copytree(filed_run, tmp_path / "not-valid")
    (run / "receipt.json").unlink()
    record = json.loads((run / "bringup.json").read_text())
    del record["status"]["measured"]
    (run / "bringup.json").write_text(json.dumps(record))
    file_package(package(str(RELEASE)), root, run=run, audit=None, command="")
    assert slugs(root) == {f"{NAME}/{one}" for one in ("start-to-healthy", "status-starts", "status-serves", "fit")}
    assert "requests.jsonl" not in {raw.name for raw in open_repository(root).ledger.raw_files().values()}


def test_a_run_of_another_recipe_is_refused_and_nothing_is_written(filed_run, root):
    with pytest.raises(InputError, match="is not of this recipe"):
        file_package(package(str(ROOT / "packages" / "demo-smollm2")), root, run=filed_run, audit=None, command="")
    assert not (root / "evidence" / "ledger.jsonl").exists()


def audit_report(**other: str) -> str:
    recipe = recipe_digest(package(str(RELEASE)).recipe).hex
    report = {"schema": "dayzero/audit/v1", "build": "vllm==0.26.0", "recipe": recipe, "verdict": "proven"}
    return json.dumps({**report, **other})


def test_an_audit_is_the_step_that_the_pins_resolve(root, tmp_path):
    (tmp_path / "audit.json").write_text(audit_report())
    file_package(package(str(RELEASE)), root, run=None, audit=tmp_path / "audit.json", command="")
    assert slugs(root) == {f"{NAME}/status-resolves"}


@pytest.mark.parametrize("other", [{"build": "vllm==0.27.0"}, {"schema": "dayzero/fit/v1"}, {"recipe": "00" * 32}])
def test_an_audit_of_another_build_model_or_recipe_is_refused(other, root, tmp_path):
    (tmp_path / "audit.json").write_text(audit_report(**other))
    with pytest.raises(InputError, match=rf"is no audit of {NAME} on vllm==0\.26\.0"):
        file_package(package(str(RELEASE)), root, run=None, audit=tmp_path / "audit.json", command="")


def test_nothing_to_file_is_refused(root):
    with pytest.raises(InputError, match="nothing to file"):
        file_package(package(str(RELEASE)), root, run=None, audit=None, command="")
