import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.core.quantities import Bytes


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (18_625_760, "17.76 MiB"),
        (188_334_309_376, "175.40 GiB"),
        (1 << 41, "2.00 TiB"),
    ],
)
def test_a_size_prints_in_binary_units(count, text):
    assert str(Bytes(count)) == text


def test_a_size_cannot_be_negative():
    with pytest.raises(ValueError, match="negative"):
        Bytes(-1)


@given(st.integers(0, 1 << 60), st.integers(0, 1 << 60))
def test_sizes_add_and_compare_by_their_count(a, b):
    assert (Bytes(a) + Bytes(b)).count == a + b
    assert (Bytes(a) < Bytes(b)) == (a < b)
