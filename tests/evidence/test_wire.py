import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evidence.records import RECORDS

from dayzero.core.errors import InputError
from dayzero.evidence.model import Record
from dayzero.evidence.wire import from_wire, to_wire


@given(RECORDS)
def test_every_record_comes_back_from_the_wire(record: Record):
    name, body = to_wire(record)
    back = from_wire(name, body)
    assert back == record
    assert type(back) is type(record)


@given(RECORDS, st.data())
def test_a_key_too_many_or_too_few_is_refused(record: Record, data: st.DataObject):
    name, body = to_wire(record)
    with pytest.raises(InputError):
        from_wire(name, body | {"further": 1})
    gone = data.draw(st.sampled_from(sorted(body)))
    with pytest.raises(InputError):
        from_wire(name, {key: value for key, value in body.items() if key != gone})


@given(RECORDS, st.data())
def test_a_value_of_another_type_is_refused(record: Record, data: st.DataObject):
    name, body = to_wire(record)
    key = data.draw(st.sampled_from(sorted(body)))
    with pytest.raises(InputError):
        from_wire(name, body | {key: True})


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("no-such", {}),
        (
            "derived",
            {"slug": "a", "label": "", "value": "1.5", "unit": "", "rule": "ratio@1", "inputs": ["b"], "decimals": 2},
        ),
        (
            "derived",
            {"slug": "a", "label": "", "value": "1.50", "unit": "", "rule": "ratio", "inputs": ["b"], "decimals": 2},
        ),
        (
            "derived",
            {"slug": "a", "label": "", "value": "1.50", "unit": "", "rule": "ratio@1", "inputs": ["a"], "decimals": 2},
        ),
        (
            "derived",
            {"slug": "a", "label": "", "value": "1.50", "unit": "", "rule": "ratio@1", "inputs": [], "decimals": 2},
        ),
        (
            "derived",
            {
                "slug": "a",
                "label": "",
                "value": "1.50",
                "unit": "",
                "rule": "sum@1",
                "inputs": ["b", "b"],
                "decimals": 2,
            },
        ),
        ("explanation", {"slug": "a", "statement": "x", "facts": [], "trials": []}),
        ("explanation", {"slug": "a", "statement": "x\ny", "facts": ["b"], "trials": []}),
        ("uncitable", {"slug": "a", "topic": "x", "why": " "}),
        ("concern", {"slug": "a", "reason": "x", "at": "yesterday"}),
        ("expiry", {"slug": "a", "reason": "", "at": "2026-08-02T09:00:00Z"}),
        ("retraction", {"slug": "a", "kind": "forget", "reason": "x", "at": "2026-08-02T09:00:00Z"}),
    ],
)
def test_a_body_that_means_nothing_is_refused(name: str, body: dict[str, object]):
    with pytest.raises(InputError):
        from_wire(name, body)


@pytest.mark.parametrize(
    "locator",
    [
        {"kind": "line", "line": 0, "sha256": "ab" * 32},
        {"kind": "range", "first": 3, "last": 2, "sha256": "ab" * 32},
        {"kind": "jsonl", "line": 1, "pointer": "a"},
        {"kind": "csv", "key_column": "", "key": "a", "column": "b"},
        {"kind": "member", "member": "", "sha256": "ab" * 32},
        {"kind": "span", "offset": -1, "length": 1, "sha256": "ab" * 32},
        {"kind": "span", "offset": 0, "length": 0, "sha256": "ab" * 32},
        {"kind": "member", "member": "a", "sha256": "AB" * 32},
        {"kind": "xpath", "path": "/"},
    ],
)
def test_a_locator_that_points_nowhere_is_refused(locator: dict[str, object]):
    body = {
        "slug": "a", "label": "", "value": "1", "unit": "", "raw": "ab" * 32, "subject": "ab" * 32,
        "locator": locator, "extraction": {"extractor": "x@1", "parameters": []},
    }  # fmt: skip
    with pytest.raises(InputError):
        from_wire("claim", body)
    assert from_wire("claim", body | {"locator": {"kind": "file"}})
