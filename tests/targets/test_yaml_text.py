"""The YAML writer and its strict reader."""

import io

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.targets.launches import HOSTILE_WORDS, WORDS

from dayzero.core.errors import InputError
from dayzero.targets.yaml_text import Node, dump, load_all

_SCALARS = st.one_of(WORDS, st.integers(), st.booleans())
_TREES: st.SearchStrategy[Node] = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple), st.dictionaries(WORDS.filter(bool), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(document=st.dictionaries(WORDS, _TREES, max_size=4))
def test_what_is_written_is_read_back(document: dict[str, Node]) -> None:
    assert load_all(dump(document)) == (document,)


@given(document=st.dictionaries(WORDS, st.one_of(_SCALARS, st.lists(WORDS, max_size=3)), max_size=4))
def test_a_reader_of_yaml_1_1_reads_the_same(document: dict[str, Node]) -> None:
    assert yaml.safe_load(dump(document)) == document


@given(document=st.dictionaries(WORDS, st.one_of(_SCALARS, st.lists(WORDS, max_size=3)), max_size=4))
def test_a_reader_of_yaml_1_2_reads_the_same(document: dict[str, Node]) -> None:
    ruamel = pytest.importorskip("ruamel.yaml", reason="ruamel.yaml is not installed")
    assert ruamel.YAML(typ="safe", pure=True).load(io.StringIO(dump(document))) == document


def test_every_string_value_stands_in_double_quotes() -> None:
    lines = dump({"words": HOSTILE_WORDS}).splitlines()[1:]
    assert all(line.startswith('  - "') and line.endswith('"') for line in lines)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: plain\n", "line 1: 'plain' is not a double-quoted string"),
        ("a: 'single'\n", "line 1: 'single' is not a double-quoted string"),
        ("a: 1e3\n", "is not a double-quoted string"),
        ("a: 0777\n", "is not a double-quoted string"),
        ("a: yes\n", "is not a double-quoted string"),
        ("a: 1.0\n", "is not a double-quoted string"),
        ("a:\n", "is not a double-quoted string"),
        ("a: 2026-07-27\n", "is not a double-quoted string"),
        ('a: !!str "x"\nb: !x "y"\n', "line 2: "),
        ("a: |\n  x\n", "is not a double-quoted string"),
        ('a: "1"\na: "2"\n', "line 2: the key 'a' stands twice"),
        ('a: &x ["1"]\nb: *x\n', "line 1: an alias"),
        ('a: &x {"k": "1"}\nb:\n  <<: *x\n', "a key that is not a string"),
        ('1: "a"\n', "a key that is not a string"),
        ('[a]: "b"\n', "a key that is not a string"),
        ("a: [\n", "not YAML: "),
        ("a: \x01\n", "not YAML: "),
    ],
)
def test_what_readers_disagree_about_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        load_all(text)
    assert reason in caught.value.message
