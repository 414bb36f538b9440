import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.gates.attempts import Past, in_words, left, together


def past(verdict: str = "same", *, captured: bool = True, answer: str = "a") -> Past:
    return Past(verdict=verdict, captured=captured, answer=answer)


@given(st.floats(1e-6, 0.4), st.integers(1, 40))
def test_all_attempts_together_err_with_at_most_twice_alpha(alpha: float, attempts: int):
    spent = [left(alpha, [past()] * before) for before in range(attempts)]
    assert spent[0] == alpha
    assert sum(spent) <= 2 * alpha


def test_an_attempt_that_captured_nothing_spends_nothing():
    assert left(0.05, [past("undecided", captured=False)]) == 0.05
    assert left(0.05, [past("", captured=True, answer="")]) == 0.025


@pytest.mark.parametrize(
    ("filed", "kept", "count"),
    [
        ((), (past(answer="a"),), 1),
        ((past(answer="a"),), (past(answer="a"),), 1),
        ((past(answer="a"),), (past(answer="b"),), 2),
        ((past("", answer=""),), (past("", answer=""),), 1),
        ((past("", answer=""),), (past("", answer=""), past("", answer="")), 2),
        ((past(answer="a"), past("", answer="")), (past(answer="a"),), 2),
    ],
)
def test_an_attempt_that_the_ledger_and_the_folder_have_counts_once(filed, kept, count):
    assert len(together(filed, kept)) == count


def test_the_words_name_every_verdict_before():
    assert in_words((), 0.05) == "the first attempt, at alpha 0.05"
    said = in_words((past("different"), past("", answer="")), 0.0125)
    assert said == "attempt 3, at alpha 0.0125; before it: different, did not end"
