import inspect
from dataclasses import replace

import pytest
from tests.evidence.samples import COMPARISON, EXTRACTORS, OFF, capture, off_claim, text_draft
from tests.simulators.evidence_store import MemoryRaw

from dayzero.core.errors import EvidenceError, InputError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero.evidence.claims import Draft, file_raw, make_claim, read_raw
from dayzero.evidence.model import Claim, Retraction


def test_the_value_of_a_claim_is_extracted_and_cannot_be_given():
    assert off_claim().value == "140.30"
    assert off_claim().raw == Sha256.of(COMPARISON)
    assert "value" not in inspect.signature(Draft).parameters
    assert "value" not in inspect.signature(make_claim).parameters


def test_a_claim_whose_value_is_not_there_is_not_made():
    with pytest.raises(EvidenceError):
        make_claim(COMPARISON, text_draft(OFF, COMPARISON, 3, r"p99 (\d+)"), EXTRACTORS)


def test_a_claim_needs_an_installed_extractor():
    draft = text_draft(OFF, COMPARISON, 3, r"p50 (\d+)")
    with pytest.raises(EvidenceError) as caught:
        make_claim(COMPARISON, draft, {"json-value@1": EXTRACTORS["json-value@1"]})
    assert caught.value.message == "the extractor text-line@1 is not installed"
    assert caught.value.hint == "Install what provides it; installed here: json-value@1."


def test_a_raw_file_is_kept_under_its_digest():
    store = MemoryRaw()
    raw = file_raw(store, COMPARISON, capture("a.md"))
    assert (raw.sha256, raw.size.count, raw.name) == (Sha256.of(COMPARISON), len(COMPARISON), "a.md")
    assert read_raw(store, raw.sha256) == COMPARISON


def test_an_empty_raw_file_is_refused():
    with pytest.raises(EvidenceError):
        file_raw(MemoryRaw(), b"", capture("a.md"))


def test_a_changed_raw_file_is_not_handed_on():
    store = MemoryRaw()
    digest = store.put(COMPARISON)
    store.files[digest] = COMPARISON + b" "
    with pytest.raises(IntegrityError):
        read_raw(store, digest)


@pytest.mark.parametrize("slug", ["", "/a", "a/", "a//b", "../a", "a b", "a>b", ".a", "a/-b", "caf\u00e9"])
def test_what_cannot_be_a_slug_is_refused(slug: str):
    with pytest.raises(InputError):
        replace(off_claim(), slug=slug)


@pytest.mark.parametrize(
    "changes",
    [{"value": ""}, {"value": "a\nb"}, {"value": " 1"}, {"unit": "tok/s "}, {"label": "a\tb"}, {"value": "a  b"}],
)
def test_what_cannot_be_cited_on_one_line_is_refused(changes: dict[str, str]):
    with pytest.raises(InputError):
        replace(off_claim(), **changes)


def test_a_claim_prints_its_value_with_its_unit():
    assert off_claim().text == "140.30 tok/s"
    assert isinstance(replace(off_claim(), unit=""), Claim)
    assert replace(off_claim(), unit="").text == "140.30"


@pytest.mark.parametrize("changes", [{"kind": "delete"}, {"reason": " "}])
def test_a_retraction_says_how_and_why(changes: dict[str, str]):
    with pytest.raises(InputError):
        Retraction(**{"slug": OFF, "kind": "retract", "reason": "x", "at": "now", **changes})
