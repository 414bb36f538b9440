"""The first of a row that has something."""

from hypothesis import given
from hypothesis import strategies as st

from dayzero.audit.bisect import first_that


@given(st.integers(1, 60), st.data())
def test_it_finds_what_looking_at_each_finds_whatever_cannot_be_read(count, data):
    row = [str(number) for number in range(count)]
    threshold = data.draw(st.integers(0, count))
    silent = data.draw(st.sets(st.sampled_from(row)))
    asked = []

    def has(one) -> bool | None:
        asked.append(one)
        return None if one in silent else int(one) >= threshold

    found = first_that(row, has)
    heard = [one for one in row if one not in silent]
    assert found.first == next((one for one in heard if int(one) >= threshold), "")
    assert found.last_without == next((one for one in reversed(heard) if int(one) < threshold), "")
    assert set(found.unknown) <= silent
    assert len(asked) == len(set(asked))


def test_it_asks_few():
    asked = []
    first_that([str(number) for number in range(100)], lambda one: asked.append(one) or int(one) >= 70)
    assert len(asked) <= 8
