import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.core.verdict import Place, Proven, Refuted, Undecided, conjunction

VERDICTS = st.one_of(st.builds(Proven, st.text()), st.builds(Refuted, st.text()), st.builds(Undecided, st.text()))


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ((), Undecided("nothing was checked")),
        ((Proven("a"), Proven("b")), Proven("all hold")),
        ((Proven("a"), Undecided("b")), Undecided("b")),
        ((Undecided("a"), Refuted("b"), Refuted("c")), Refuted("b; c")),
    ],
)
def test_a_conjunction_is_as_weak_as_its_weakest_statement(verdicts, expected):
    assert conjunction(verdicts, proven="all hold") == expected


@given(st.lists(VERDICTS))
def test_only_proven_statements_prove_a_conjunction(verdicts):
    result = conjunction(verdicts, proven="all hold")
    assert isinstance(result, Proven) == (bool(verdicts) and all(isinstance(v, Proven) for v in verdicts))
    assert isinstance(result, Refuted) == any(isinstance(v, Refuted) for v in verdicts)


def test_a_place_prints_as_editors_and_terminals_link_it():
    assert str(Place(artifact="", file="log.txt", position="line 12")) == "log.txt:12"
    assert str(Place(artifact="xllamacpp 1", file="x.so", position="byte 0x1f")) == "xllamacpp 1: x.so:byte 0x1f"
    assert str(Place(artifact="", file="log.txt")) == "log.txt"
