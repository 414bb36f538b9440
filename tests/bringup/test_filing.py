import json
from dataclasses import dataclass, field, replace

import pytest
from tests.samples import package, recipe

from dayzero.bringup.filing import file_run
from dayzero.bringup.model import Captured
from dayzero.core.errors import EvidenceError, InputError
from dayzero.core.package import ClaimRef
from dayzero.core.pins import Sha256
from dayzero.evidence.model import Claim, NotMeasured, RawFile
from dayzero.evidence.subject import recipe_digest
from dayzero.wiring import plugins

START = Captured(name="start.json", content=json.dumps({"seconds": "0.6419"}).encode(), command="serve")
BRINGUP = Captured(
    name="bringup.json",
    content=json.dumps(
        {"status": dict.fromkeys(("resolves", "starts", "serves", "measured"), "reached"), "fit": "measured-fits"}
    ).encode(),
    command="demo",
)
CLAIM = ClaimRef(
    id="start-to-healthy",
    label="start to healthy",
    unit="s",
    source="start.json",
    pointer="/seconds",
    extractor="json-value@1",
    parameters=(("decimals", "2"),),
)


@dataclass
class Shelf:
    kept: dict[str, bytes] = field(default_factory=dict)

    def read(self, digest: Sha256) -> bytes:
        return self.kept[digest.hex]

    def put(self, content: bytes) -> Sha256:
        digest = Sha256.of(content)
        self.kept[digest.hex] = content
        return digest


def run(shelf: Shelf, *captured: Captured, claim: ClaimRef = CLAIM):
    return file_run(
        package(claims=(claim,)),
        captured,
        shelf,
        plugins.extractors(),
        captured_at="2026-11-29T12:00:00Z",
    )


def test_a_run_becomes_raw_files_claims_statuses_and_what_has_no_number():
    shelf = Shelf()
    records = run(shelf, START, BRINGUP)
    assert [record.name for record in records if isinstance(record, RawFile)] == ["start.json", "bringup.json"]
    claims = {record.slug: record for record in records if isinstance(record, Claim)}
    assert claims["demo-tiny/start-to-healthy"].text == "0.64 s"
    assert claims["demo-tiny/start-to-healthy"].raw == Sha256.of(START.content)
    assert {slug: claim.value for slug, claim in claims.items() if "status" in slug or slug.endswith("fit")} == {
        "demo-tiny/status-resolves": "reached",
        "demo-tiny/status-starts": "reached",
        "demo-tiny/status-serves": "reached",
        "demo-tiny/status-measured": "reached",
        "demo-tiny/fit": "measured-fits",
    }
    assert [record.topic for record in records if isinstance(record, NotMeasured)] == ["quality"]
    assert set(shelf.kept) == {Sha256.of(START.content).hex, Sha256.of(BRINGUP.content).hex}


def test_a_claim_on_a_file_that_the_run_did_not_leave_is_bad_input():
    with pytest.raises(InputError, match=r"rests on requests.jsonl, which a run does not leave"):
        run(Shelf(), START, claim=replace(CLAIM, source="requests.jsonl"))


def test_a_value_that_is_not_in_the_raw_file_is_never_made_up():
    with pytest.raises(EvidenceError):
        run(Shelf(), START, claim=replace(CLAIM, pointer="/minutes"))


def test_a_recipe_has_one_digest_and_any_change_gives_it_another():
    base = recipe()
    changed = [
        replace(base, flags=("--n-ctx", "4096")),
        replace(base, env=(("A", "1"),)),
        replace(base, engine=replace(base.engine, version="2.1")),
        replace(base, model=replace(base.model, architecture="llama")),
    ]
    assert recipe_digest(base) == recipe_digest(recipe())
    assert len({recipe_digest(entry).hex for entry in (base, *changed)}) == 5
