import json

import pytest
from tests.catalog.sample import (
    AT,
    KIT,
    LOG,
    STATUSES,
    digest,
    edition_of,
    every_state,
    large,
    large_records,
    tiny,
    tiny_records,
    told_of,
)

from dayzero.catalog.assemble import assemble
from dayzero.catalog.claim_page import claim_pages
from dayzero.catalog.document import (
    claim_document,
    edition_document,
    package_document,
    packages_document,
    release_document,
)
from dayzero.catalog.edition import Catalog, SystemFit
from dayzero.catalog.release import ReleaseLog, Yank

RECORDS = (*tiny_records(), *large_records(), *every_state())
YANK = Yank(package=tiny().name, version="1.0.0", at=AT, reason="Too small.")
FIT = SystemFit(
    system="8xb300",
    label="8 x NVIDIA B300",
    gpu="b300",
    count=8,
    nodes=1,
    state="fits",
    ground="computed",
    sentence="So.",
)


def catalog() -> Catalog:
    told = told_of(*RECORDS)
    editions = (
        edition_of(tiny(), *RECORDS, at=AT, yank=YANK, kit=KIT, statuses=STATUSES),
        edition_of(large(), *RECORDS, fits=(FIT,)),
    )
    return assemble(editions, claim_pages(told, {digest(LOG): LOG}), told=told, log=ReleaseLog())


def test_the_listing_has_every_package_with_its_state_and_the_facets():
    document = packages_document(catalog())
    first, second = document["packages"]  # type: ignore[misc]
    assert (first["name"], first["version"], first["released"], first["yanked"]["reason"]) == (
        "demo-kimi-k3-tiny",
        "1.0.0",
        AT,
        "Too small.",
    )
    assert first["headline"]["value"] == "532.4"
    assert first["status"] == {
        "step": "measured",
        "state": "reached",
        "date": "2026-11-29",
        "pin": "xllamacpp==2026.10.11549",
    }
    assert (second["released"], second["headline"]["state"], second["fits"]) == (None, "withdrawn", ["8xb300"])
    assert document["facets"]["gpu"] == {"b300": 1, "cpu": 1}  # type: ignore[index]
    assert document["as_of"] == AT
    assert [back["kind"] for back in document["retractions"]] == ["retracted", "withdrawn", "corrected", "withdrawn"]  # type: ignore[union-attr]


def test_a_package_names_its_versions_and_which_one_is_looked_at_first():
    document = package_document(catalog().entries[0])
    assert (document["latest"], [each["version"] for each in document["editions"]]) == ("1.0.0", ["1.0.0"])  # type: ignore[union-attr]


def test_a_version_has_its_card_its_files_and_its_state_now():
    first, second = (edition_document(edition, frozenset()) for edition in catalog().editions)
    assert first["yanked"] == {"at": AT, "reason": "Too small."}
    assert first["release"] == "api/v1/releases/demo-kimi-k3-tiny/1.0.0.json"
    assert first["deploy"] == [
        {
            "target": "shell",
            "file": "serve.sh",
            "path": "packages/demo-kimi-k3-tiny/1.0.0/deploy/shell/serve.sh",
            "sha256": digest(b"#!/bin/sh\n").hex,
            "bytes": 10,
            "parsed_back": "proven",
            "why": "Equal.",
        }
    ]
    assert (second["release"], second["definition"]) == (None, "packages/kimi-k3-8xb300/draft/package.toml")
    assert second["fits"] == [
        {
            "system": "8xb300",
            "label": "8 x NVIDIA B300",
            "gpu": "b300",
            "gpus": 8,
            "nodes": 1,
            "state": "fits",
            "ground": "computed",
            "why": "So.",
            "own": False,
        }
    ]


def test_a_release_s_document_holds_nothing_that_can_change():
    edition = catalog().editions[0]
    document = release_document(edition)
    assert set(document) == {
        "schema",
        "name",
        "version",
        "published_at",
        "definition",
        "definition_sha256",
        "recipe_sha256",
        "kit",
    }
    assert digest(str(document["definition"]).encode()).hex == document["definition_sha256"]
    with pytest.raises(ValueError, match="is not released"):
        release_document(catalog().editions[1])


def test_a_claim_s_document_prints_a_value_only_where_it_stands():
    documents = {page.slug: claim_document(page) for page in catalog().pages}
    assert documents["s/standing"]["value"] == "140.30"
    for state in ("withdrawn", "retracted", "unsupported", "uncitable"):
        assert (documents[f"s/{state}"]["state"], documents[f"s/{state}"]["value"]) == (state, None)
    assert "88.20" not in json.dumps(documents["s/retracted"])


def test_every_document_is_plain_json_without_a_float():
    def walk(value: object) -> None:
        assert not isinstance(value, float)
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(each)

    made = catalog()
    pages = frozenset(page.slug for page in made.pages)
    documents = [packages_document(made), *(edition_document(edition, pages) for edition in made.editions)]
    for document in documents:
        walk(json.loads(json.dumps(document)))
