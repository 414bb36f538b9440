import json
import os
from hashlib import sha256
from pathlib import Path

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from dayzero.attestation.model import Statement, Subject
from dayzero.attestation.statement import payload, payload_digest
from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256

DIGEST = Sha256("ab" * 32)


def statement(predicate: dict[str, object]) -> Statement:
    return Statement(subjects=(Subject("a.zip", DIGEST),), predicate_type="urn:example:x", predicate=predicate)


def vectors() -> Path:
    beside = Path(__file__).parents[3] / "shared"
    folder = Path(os.environ.get("DAYZERO_SHARED") or beside) / "vectors" / "jcs" / "testdata"
    if not folder.is_dir():
        pytest.skip("the public vectors are not here: no folder ../shared/vectors/jcs and no $DAYZERO_SHARED")
    return folder


def test_the_canonical_form_is_that_of_rfc_8785_on_all_six_vectors():
    names = sorted(file.name for file in (vectors() / "input").glob("*.json"))
    assert len(names) == 6
    for name in names:
        document = json.loads((vectors() / "input" / name).read_text(encoding="utf-8"))
        assert rfc8785.dumps(document) == (vectors() / "output" / name).read_bytes(), name


def test_the_payload_is_an_in_toto_statement_in_canonical_form():
    assert payload(statement({"b": "1", "a": [1, None, True]})) == (
        b'{"_type":"https://in-toto.io/Statement/v1","predicate":{"a":[1,null,true],"b":"1"},'
        b'"predicateType":"urn:example:x","subject":[{"digest":{"sha256":"' + b"ab" * 32 + b'"},"name":"a.zip"}]}'
    )


def test_a_statement_is_named_by_the_digest_of_its_payload():
    assert payload_digest(statement({})).hex == sha256(payload(statement({}))).hexdigest()


@given(st.dictionaries(st.text(min_size=1), st.text() | st.integers(-(2**53) + 1, 2**53 - 1), max_size=6))
def test_the_order_of_members_does_not_show(members: dict[str, object]):
    backwards = dict(reversed(list(members.items())))
    assert payload(statement(members)) == payload(statement(backwards))


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (140.3, "float"),
        ({"deep": [{"x": 1.0}]}, r"statement\.predicate\.x\.deep\[0\]\.x is a float"),
        ((0.5,), "float"),
    ],
)
def test_a_float_is_refused_because_its_digits_would_not_survive(value: object, why: str):
    with pytest.raises(InputError, match=why):
        payload(statement({"x": value}))


@pytest.mark.parametrize("value", [2**53, -(2**53), object(), {1: "x"}, b"bytes", "\ud800"])
def test_what_json_cannot_carry_unchanged_is_refused(value: object):
    with pytest.raises(InputError, match="canonical JSON"):
        payload(statement({"x": value}))
