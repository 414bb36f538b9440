import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.core.errors import InputError
from dayzero.gates.numbers import Published, judge_numbers
from dayzero.gates.report import reasons, word

SHARE = st.floats(0, 1)


@pytest.mark.parametrize(
    ("published", "expected", "says"),
    [
        # A published control: two identical servers.
        (Published(control=0.7812), "unsound", "78.12 %"),
        # A published gate, with that control and with ones that permit more.
        (
            Published(control=0.7812, agreement=0.6594, mean_kl=0.5364, skipped=0.2416),
            "unsound",
            "21.88 % of changes against 34.06 %",
        ),
        (Published(control=None, agreement=0.6594, mean_kl=0.5364, skipped=0.2416), "unsound", "no control"),
        (Published(control=0.999, agreement=0.6594, mean_kl=0.5364, skipped=0.2416), "different", "beyond the margin"),
        # What was left out may have agreed everywhere: 6 % of changes in half of the places are 3 % in all of them.
        (Published(control=0.985, agreement=0.94), "different", "at least 3 times"),
        (Published(control=0.985, agreement=0.94, skipped=0.5), "unsound", "noise"),
        (Published(control=1.0, agreement=0.999), "undecided", "numbers alone"),
        (Published(control=1.0), "undecided", "compared with nothing"),
        # 37 of 40 beside 40 of 40 is not much; 370 of 400 is.
        (Published(control=1.0, agreement=0.925, places=40), "unsound", "behind 40 places"),
        (Published(control=1.0, agreement=0.925, places=400), "different", "92.5 %"),
        (Published(control=0.0, agreement=0.0), "unsound", "0 %"),
    ],
)
def test_numbers_alone_permit_no_more_than_their_control(published: Published, expected: str, says: str):
    judged = judge_numbers(published)
    assert word(judged.verdict) == expected
    assert says in " ".join(reasons(judged.verdict))


@given(st.none() | SHARE, st.none() | SHARE, SHARE, st.integers(0, 10_000))
def test_numbers_alone_never_show_the_same(control: float | None, agreement: float | None, skipped: float, places: int):
    published = Published(control=control, agreement=agreement, skipped=skipped, places=places)
    assert word(judge_numbers(published).verdict) in {"unsound", "different", "undecided"}


@given(SHARE, SHARE, SHARE)
def test_a_worse_control_never_makes_a_difference(control: float, worse: float, agreement: float):
    low, high = sorted((control, worse))
    if word(judge_numbers(Published(control=low, agreement=agreement)).verdict) == "different":
        assert word(judge_numbers(Published(control=high, agreement=agreement)).verdict) == "different"


def test_what_was_left_out_is_said():
    notes = " ".join(judge_numbers(Published(control=0.99, agreement=0.6, mean_kl=0.5, skipped=0.55)).notes)
    for said in (
        "no count of places",
        "55 % of the places were left out",
        "45 % of the places were kept",
        "no control beside it",
    ):
        assert said in notes


@pytest.mark.parametrize(
    "wrong",
    [
        {"control": 78.12},
        {"control": -0.1},
        {"control": float("nan")},
        {"control": 0.9, "mean_kl": -1.0},
        {"control": 0.9, "places": -1},
    ],
)
def test_a_number_that_cannot_be_is_refused(wrong: dict[str, float]):
    with pytest.raises(InputError):
        Published(**wrong)  # type: ignore[arg-type]
