import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verifier.tests.models import header_of

from dayzero_verify.safetensors import (
    MAX_HEADER_BYTES,
    HeaderError,
    TruncatedError,
    header_length,
    load_object,
    tensors,
)

TENSORS = {"a": 2, "b": 3}  # 20 bytes


def names(document: object, data: int = 20) -> frozenset[str]:
    text = document if isinstance(document, bytes) else json.dumps(document, separators=(",", ":")).encode()
    return frozenset(tensors(text, 8 + len(text) + data))


def changed(name: str, **members: object) -> dict[str, object]:
    header = header_of(TENSORS)
    header[name] = {**header[name], **members}  # type: ignore[dict-item]
    return header


def test_a_whole_header_names_its_tensors():
    assert names(header_of(TENSORS)) == {"a", "b"}
    assert names(header_of(TENSORS, metadata=False)) == {"a", "b"}
    assert names({}, data=0) == frozenset()
    assert names({"s": {"dtype": "BF16", "shape": [], "data_offsets": [0, 2]}}, data=2) == {"s"}


@pytest.mark.parametrize(
    ("document", "data", "why"),
    [
        (header_of(TENSORS), 24, "4 bytes stand behind the last tensor"),
        (changed("b", data_offsets=[12, 24]), 24, "'b' leaves a hole"),
        (changed("b", data_offsets=[4, 16]), 16, "'b' overlaps"),
        (changed("a", shape=[3]), 20, "'a' is no tensor"),
        (changed("a", dtype="Q4"), 20, "'a' is no tensor"),
        (changed("a", dtype=["F32"]), 20, "'a' is no tensor"),
        (changed("a", shape="22"), 20, "'a' is no tensor"),
        (changed("a", shape={}, data_offsets=[0, 4]), 20, "'a' is no tensor"),
        (changed("a", data_offsets=[0]), 20, "'a' is no tensor"),
        (changed("a", data_offsets=[0, 4, 8]), 20, "'a' is no tensor"),
        (changed("a", more=1), 20, "'a' is no tensor"),
        (changed("a", shape=[1] * 65), 20, "'a' is no tensor"),
        (changed("a", shape=[2**53] * 60), 20, "'a' has a shape or an offset that is not a whole number from 0"),
        (changed("a", data_offsets=[False, 8]), 20, "not a whole number from 0"),
        (changed("a", shape=[2.0]), 20, "not a whole number from 0"),
        (changed("a", shape=[-1, -2]), 20, "not a whole number from 0"),
        (changed("a", data_offsets=[-8, 0]), 20, "not a whole number from 0"),
        ({"a": 1}, 0, "'a' is no tensor"),
        ([], 0, "not a JSON object"),
        (b"{", 0, "not a JSON object"),
        (b"\xff", 0, "not a JSON object"),
        (b"[" * 200_000, 0, "not a JSON object"),
        (b'{"a":{"dtype":"F32","shape":[' + b"9" * 5000 + b'],"data_offsets":[0,4]}}', 4, "not a JSON object"),
    ],
)
def test_a_header_that_does_not_fill_its_file_is_refused(document, data, why):
    with pytest.raises(HeaderError, match=why):
        names(document, data)


def test_a_file_that_ends_before_its_tensors_is_truncated():
    with pytest.raises(TruncatedError, match="ends 4 bytes before its tensors do"):
        names(header_of(TENSORS), 16)


ONE = b'{"dtype":"U8","shape":[1],"data_offsets":[0,1]}'


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":%s,"a":%s}' % (ONE, ONE),
        b'{"a":%s,"a" :%s}' % (ONE, ONE),
        b'{"a":%s,"a"\n:%s}' % (ONE, ONE),
        b'{"a":%s,"\\u0061":%s}' % (ONE, ONE),
        b'{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        b'{"a":{"dtype":"U8","shape":[1],"shape" :[1],"data_offsets":[0,1]},"__metadata__":{"x":":y"}}',
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"d\\u0074ype":"U8"}}',
        b'{"__metadata__":{"a":"b","a":"c"}}',
        b'{"__metadata__":{"a":{"b":"c","b" :"c"}}}',
    ],
)
def test_a_key_that_stands_there_twice_is_found_however_it_is_written(text):
    with pytest.raises(HeaderError, match="occurs twice"):
        tensors(text, 8 + len(text) + 1)


@pytest.mark.parametrize("colon", [b":", b" :", b"\n:", b"\t :"])
@pytest.mark.parametrize("key", [b"a", b"\\u0061"])
def test_a_tensor_that_an_index_lists_twice_is_found(colon, key):
    with pytest.raises(HeaderError, match="occurs twice"):
        load_object(b'{"weight_map":{"a":"x","%s"%s"y"}}' % (key, colon))


JSON_TEXT = st.sampled_from(["a", "b", ":", '"', "\\", " ", "a:", ":a"])
SPACE = st.sampled_from(["", "", "", " ", "\n", "\t"])


@st.composite
def objects(draw: st.DrawFn, depth: int = 2) -> str:
    pairs = []
    for _ in range(draw(st.integers(0, 3))):
        value = draw(objects(depth - 1)) if depth and draw(st.booleans()) else json.dumps(draw(JSON_TEXT))
        pairs.append(json.dumps(draw(JSON_TEXT)) + draw(SPACE) + ":" + draw(SPACE) + value)
    return "{" + ",".join(pairs) + "}"


@given(objects())
def test_counting_keys_finds_what_looking_at_each_object_finds(text):
    twice = []

    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        twice.append(len(dict(found)) != len(found))
        return dict(found)

    plain = json.loads(text, object_pairs_hook=pairs)
    if any(twice):
        with pytest.raises(HeaderError, match="occurs twice"):
            load_object(text.encode())
    else:
        assert load_object(text.encode()) == plain


@pytest.mark.parametrize(
    ("prefix", "size", "error", "why"),
    [
        (b"", 0, TruncatedError, "ends after 0 bytes"),
        (b"1234567", 7, TruncatedError, "ends after 7 bytes"),
        ((10).to_bytes(8, "little"), 17, TruncatedError, "ends inside its header of 10 bytes"),
        ((MAX_HEADER_BYTES + 1).to_bytes(8, "little"), 1 << 40, HeaderError, "are the most"),
        (b"version ", 130, HeaderError, "are the most"),
    ],
)
def test_the_length_of_a_header_is_held_to_the_file_and_to_the_formats_limit(prefix, size, error, why):
    with pytest.raises(error, match=why):
        header_length(prefix, size)
    assert header_length((10).to_bytes(8, "little"), 18) == 10
