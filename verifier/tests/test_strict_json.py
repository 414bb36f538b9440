import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verifier.tests.vectors import vectors

from dayzero_verify.strict_json import MAX_DEPTH, StrictJsonError, loads

TWICE = {"y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"}


def accepted(text: bytes) -> bool:
    try:
        loads(text)
    except StrictJsonError:
        return False
    return True


def test_the_parsing_suite_is_refused_and_accepted_as_its_names_say_but_for_keys_that_occur_twice():
    files = sorted((vectors("jsontestsuite")).rglob("test_parsing/*.json"))
    verdicts = {file.name: accepted(file.read_bytes()) for file in files}
    assert [name for name, taken in verdicts.items() if name.startswith("n_") and taken] == []
    assert {name for name, taken in verdicts.items() if name.startswith("y_") and not taken} == TWICE
    assert [sum(name.startswith(kind) for name in verdicts) for kind in ("n_", "y_", "i_")] == [188, 95, 35]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{"a":1,"a":1}', "occurs twice"),
        (b'{"a":{"b":1,"b":2}}', "occurs twice"),
        (b'{"a":1,"\\u0061":2}', "occurs twice"),
        (b"[NaN]", "not a JSON number"),
        (b"[Infinity]", "not a JSON number"),
        (b"[-Infinity]", "not a JSON number"),
        (b"[1e400]", "too large"),
        (b"[-1e400]", "too large"),
        (b"[9007199254740992]", "beyond"),
        (b"[-9007199254740992]", "beyond"),
        (b"[" + b"9" * 100_000 + b"]", "beyond"),
        (b"[" * 65 + b"]" * 65, "nested deeper"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "nested deeper"),
        (b"[" * 100_000, "nested deeper"),
        (b'["\\ud800"]', "surrogate"),
        (b'"\\udc00"', "surrogate"),
        (b'{"\\ud800":1}', "surrogate"),
        (b'[[["\\ud800"]]]', "surrogate"),
        (b'["\xed\xa0\x80"]', "not UTF-8"),
        (b'["\xc0\xaf"]', "not UTF-8"),
        (b"\xef\xbb\xbf[]", "not JSON"),
        (b"[] []", "not JSON"),
        (b"", "not JSON"),
        (b"[1,]", "not JSON"),
        (b'["\x00"]', "not JSON"),
    ],
)
def test_what_readers_disagree_about_is_refused(text: bytes, why: str):
    with pytest.raises(StrictJsonError, match=why):
        loads(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, None),
        (b'["[[[[", "]\\"["]', ["[[[[", ']"[']),
        (b"[9007199254740991, -9007199254740991]", [2**53 - 1, -(2**53 - 1)]),
        (b'["\\ud83d\\ude00"]', ["\U0001f600"]),
        (b'{"a":[],"b":{"a":1}}', {"a": [], "b": {"a": 1}}),
    ],
)
def test_what_is_plain_is_read(text: bytes, value: object):
    assert value is None or loads(text) == value
    assert accepted(text)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**53) + 1, 2**53 - 1)
        | st.text()
        | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=12,
    )
)
def test_every_ordinary_document_comes_back_as_it_was_written(document: object):
    assert loads(json.dumps(document, ensure_ascii=False).encode()) == document


@pytest.mark.parametrize(
    "text", [b'"' + b'\\"' * 2_000_000, b'"\\' * 1_000_000, b'["' * 1_000_000, b'"' + b"\\" * 3_000_001]
)
def test_hostile_text_costs_no_more_than_its_length(text: bytes):
    began = time.process_time()
    with pytest.raises(StrictJsonError):
        loads(text)
    assert time.process_time() - began < 5  # seconds of a processor; backtracking would take hours
