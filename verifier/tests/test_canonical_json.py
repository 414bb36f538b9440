import pytest

from dayzero_verify.canonical_json import CanonicalJsonError, canonical_json
from dayzero_verify.strict_json import Json


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, b"null"),
        ([True, False, 0, -12], b"[true,false,0,-12]"),
        ({"b": 1, "a": {"B": [], "A": {}}}, b'{"a":{"A":{},"B":[]},"b":1}'),
        ('a"b\\c\n\u00e9', b'"a\\"b\\\\c\n\xc3\xa9"'),
        ({"\u00e9": 1, "z": 2}, b'{"z":2,"\xc3\xa9":1}'),
    ],
)
def test_a_value_has_one_form(value: Json, text: bytes):
    assert canonical_json(value) == text


@pytest.mark.parametrize("value", [1.0, 2**53, [{"a": -(2**53)}], "\ud800", {"\ud800": 1}])
def test_a_value_that_readers_could_disagree_about_has_none(value: Json):
    with pytest.raises(CanonicalJsonError):
        canonical_json(value)
