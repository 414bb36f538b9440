"""A journal adds up to a state, whatever was cut off and whoever wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.core.errors import IntegrityError
from dayzero.optimize.facts import Begun, Ended, Pruned, Started, decode, encode, state, stock_trials
from dayzero.optimize.model import Excluded, Outcome

POINT = (("n-batch", "64"), ("async", "off"))
OUTCOME = Outcome(
    kind="measured", seconds=3.0, figures={"output_tok_s": 1.5}, missing={}, blocks=(1.0, 2.0), receipt=True
)
FACTS = (
    Begun(at_s=1.0, worker="a", number=0, role="stock", point=POINT),
    Started(at_s=1.5, worker="a", number=0, pid=12, ticks=99, boot="b"),
    Ended(at_s=4.0, worker="a", number=0, outcome=OUTCOME),
    Pruned(at_s=5.0, worker="a", excluded=Excluded(point=POINT, by="fit", why="too large")),
    Begun(at_s=6.0, worker="b", number=1, role="step", point=POINT),
    Started(at_s=6.5, worker="b", number=1, pid=13, ticks=98, boot="b"),
)


def test_what_is_written_is_read_back():
    assert decode(b"".join(map(encode, FACTS)), "j") == FACTS


@given(st.integers(0, 10_000))
def test_a_journal_that_was_cut_anywhere_gives_its_whole_lines(at):
    raw = b"".join(map(encode, FACTS))
    cut = raw[: at % (len(raw) + 1)]
    assert decode(cut, "j") == FACTS[: cut.count(b"\n")]


@pytest.mark.parametrize("line", [b"{}\n", b"x\n", b'{"type":"begun"}\n', b"\xff\n"])
def test_a_whole_line_that_is_no_fact_is_a_changed_journal(line):
    with pytest.raises(IntegrityError, match="j:2 is no fact"):
        decode(encode(FACTS[0]) + line, "j")


def test_facts_of_two_workers_add_up_in_the_order_of_their_times():
    found = state(FACTS[4:] + FACTS[:4])
    assert [(one.number, one.kind) for one in found.trials] == [(0, "measured"), (1, "running")]
    assert found.spent_s == 3.0
    assert [one.point for one in found.pruned] == [POINT]
    assert [one.number for one in found.running] == [1]
    assert [one.number for one in found.lost("b")] == [1]
    assert found.lost("a") == ()
    assert stock_trials(found.trials) == found.trials[:1]
