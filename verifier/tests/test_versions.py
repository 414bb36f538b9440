import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero_verify.versions import is_older

# Oldest first.
ORDERED = (
    "0.9", "0.10", "1.0.0.dev1", "1.0.0a1", "1.0.0-alpha.2", "1.0.0-beta1", "1.0.0rc1", "1.0.0-rc2", "1.0.0-rc10", "1.0.0",
    "1.0.0.post1", "1.0.0.post10", "1.0.1", "v1.2", "1.11", "2026.10", "2026.11.30",
)  # fmt: skip


@pytest.mark.parametrize(("older", "newer"), [(a, b) for i, a in enumerate(ORDERED) for b in ORDERED[i + 1 :]])
def test_the_older_one_is_older(older: str, newer: str):
    assert is_older(older, newer)
    assert not is_older(newer, older)


@pytest.mark.parametrize(
    ("one", "other"), [("1.0", "1"), ("1.0.0", "v1"), ("1.0rc1", "1.0-rc.1"), ("1.0a1", "1.0-alpha1")]
)
def test_two_spellings_of_one_version_are_neither_older(one: str, other: str):
    assert not is_older(one, other)
    assert not is_older(other, one)


def test_versions_of_any_length_are_compared():
    assert is_older("1.0", f"1.{'9' * 100_000}")
    assert not is_older(f"1.{'9' * 100_000}", f"1.{'9' * 99_999}")


@given(*[st.text("0123456789abcrv.-+", min_size=1, max_size=8)] * 3)
def test_the_order_is_one(a: str, b: str, c: str):
    assert not (is_older(a, b) and is_older(b, a))
    assert not (is_older(a, b) and is_older(b, c)) or is_older(a, c)
