import hashlib
import json
from pathlib import Path

import pytest
from tests.kit.measured import NAME, MeasuredKit, measured_kit, records

from dayzero.core.errors import EvidenceError
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Concern, Derived, Record, Retraction
from dayzero.kit.ro_crate import CRATE_NAME, ro_crate

AT = "2026-11-30T08:00:00Z"
SLUG = f"{NAME}/c1-ttft-p50"


def graph_of(
    kit: MeasuredKit, *later: Record, pages: tuple[tuple[str, bytes], ...] = ()
) -> dict[str, dict[str, object]]:
    ledger, _ = kit.ledger.append(later)
    document = json.loads(ro_crate(kit.content, ledger, pages))
    assert document["@context"][0] == "https://w3id.org/ro/crate/1.1/context"
    return {entity["@id"]: entity for entity in document["@graph"]}


def references(value: object) -> set[str]:
    found: set[str] = set()
    match value:
        case {"@id": str(target), **rest} if not rest:
            found.add(target)
        case dict():
            found |= {each for member in value.values() for each in references(member)}
        case list():
            found |= {each for member in value for each in references(member)}
        case _:
            pass
    return found


def test_the_descriptor_and_the_root_are_those_of_ro_crate_1_1():
    graph = graph_of(measured_kit())
    assert graph[CRATE_NAME]["about"] == {"@id": "./"}
    assert graph[CRATE_NAME]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    root = graph["./"]
    assert (root["@type"], root["datePublished"]) == ("Dataset", "2026-11-29T17:10:46Z")
    assert {"name", "description", "license", "hasPart"} <= set(root)


def test_every_file_of_the_kit_is_in_it_with_size_and_digest():
    kit = measured_kit()
    graph = graph_of(kit, pages=(("site/index.html", b"<p>"),))
    files = {each["@id"]: each for each in graph.values() if each["@type"] == "File"}
    expected = {file.path: file.content for file in kit.content.files} | {"site/index.html": b"<p>"}
    assert set(files) == set(expected)
    for path, content in expected.items():
        assert files[path]["sha256"] == hashlib.sha256(content).hexdigest()
        assert files[path]["contentSize"] == str(len(content))
    assert references(graph["./"]["hasPart"]) == set(files)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("README.md", "text/markdown"),
        ("package.toml", "application/toml"),
        ("launch.json", "application/json"),
        ("serve.sh", "text/x-shellscript"),
        ("evidence/ledger.jsonl", "application/jsonl"),
        ("requirements.lock", "text/plain"),
    ],
)
def test_a_file_says_its_media_type(path: str, kind: str):
    assert graph_of(measured_kit())[path]["encodingFormat"] == kind


def test_a_raw_file_goes_by_the_name_under_which_it_was_captured():
    files = [each for each in graph_of(measured_kit()).values() if str(each["@id"]).startswith("evidence/raw/")]
    assert {(each["name"], each["encodingFormat"]) for each in files} == {
        ("requests.jsonl", "application/jsonl"),
        ("start.json", "application/json"),
    }


def test_the_measurement_is_an_action_from_the_model_by_the_engine_to_the_raw_files():
    graph = graph_of(measured_kit())
    action = graph["#measurement"]
    assert action["@type"] == "CreateAction"
    assert (action["startTime"], action["endTime"]) == ("2026-11-29T17:10:40Z", "2026-11-29T17:10:46Z")
    assert graph["#engine"]["softwareVersion"] == measured_kit().package.recipe.engine.version
    assert references(action["result"]) == {path for path in graph if path.startswith("evidence/raw/")}
    assert graph["#licence"]["name"] == measured_kit().package.recipe.model.licence
    assert references(action["instrument"]) | references(action["object"]) == {"#engine", "#model"}


def test_a_claim_is_a_property_value_on_its_raw_file():
    graph = graph_of(measured_kit(), pages=((f"site/claims/{SLUG}/index.html", b"<p>"),))
    claim = graph[f"#claim/{SLUG}"]
    assert (claim["@type"], claim["value"], claim["unitText"]) == ("PropertyValue", "56.1", "ms")
    (raw,) = references(claim["subjectOf"])
    assert graph[raw]["name"] == "requests.jsonl"
    assert references(claim["mainEntityOfPage"]) == {f"site/claims/{SLUG}/index.html"}


def test_a_claim_that_was_taken_back_has_no_value_in_the_crate():
    graph = graph_of(measured_kit(), Retraction(slug=SLUG, kind="retract", reason="Wrong clock.", at=AT))
    assert f"#claim/{SLUG}" not in graph
    assert "56.1" not in json.dumps(graph)


def test_a_claim_under_concern_says_so():
    graph = graph_of(measured_kit(), Concern(slug=SLUG, reason="Retried.", at=AT))
    assert graph[f"#claim/{SLUG}"]["description"] == "under concern: Retried."


def test_a_derived_number_refers_to_what_enters():
    inputs = (SLUG, f"{NAME}/start-to-healthy")
    derived = Derived(slug="x/r", label="r", value="1.00", unit="x", rule="ratio@1", inputs=inputs, decimals=2)
    graph = graph_of(measured_kit(), derived)
    assert references(graph["#claim/x/r"]["valueReference"]) == {f"#claim/{slug}" for slug in inputs}


def test_what_was_not_measured_is_said():
    (silent,) = (each for each in graph_of(measured_kit()).values() if each["@type"] == "Comment")
    assert (silent["name"], silent["text"]) == ("Not measured: quality", "The weights are random.")


def test_every_reference_leads_to_an_entity():
    graph = graph_of(measured_kit())
    targets = {target for entity in graph.values() for target in references(list(entity.values()))}
    outside = {target for target in targets if target.startswith("http")}
    assert targets - outside <= set(graph)


def test_the_same_kit_gives_the_same_bytes():
    kit = measured_kit()
    pages = (("site/b.html", b"b"), ("site/a.html", b"a"))
    assert ro_crate(kit.content, kit.ledger, pages) == ro_crate(kit.content, kit.ledger, pages[::-1])


def test_a_kit_without_evidence_is_not_described():
    with pytest.raises(EvidenceError, match="holds no evidence"):
        ro_crate(measured_kit().content, Ledger())


def test_another_program_reads_it(tmp_path: Path):
    rocrate = pytest.importorskip("rocrate.rocrate", reason="rocrate is not installed")
    kit = measured_kit()
    for file in kit.content.files:
        place = tmp_path / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content)
    (tmp_path / CRATE_NAME).write_bytes(ro_crate(kit.content, kit.ledger))
    crate = rocrate.ROCrate(tmp_path)
    assert {entity.id for entity in crate.data_entities} == {file.path for file in kit.content.files}
    assert all((tmp_path / entity.id).is_file() for entity in crate.data_entities)
    values = {entity["propertyID"]: entity["value"] for entity in crate.get_by_type("PropertyValue")}
    assert values == {SLUG: "56.1", f"{NAME}/start-to-healthy": "0.64"}
    (action,) = crate.get_by_type("CreateAction")
    assert {each.id for each in action["result"]} <= {file.path for file in kit.content.files}
    assert len(records()) == len(kit.ledger.entries)
