"""How statistics of others are recomputed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.bench.foreign.judge import recomputed
from dayzero.bench.foreign.model import Sample

VALUES = st.lists(st.floats(0.001, 1e6), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("mean", 2.5), ("p50", 2.0), ("p75", 3.0), ("p76", 4.0), ("p99", 4.0)],
)
def test_the_nearest_rank_is_the_smallest_value_that_the_share_does_not_exceed(name, expected):
    assert recomputed(Sample(values=(4.0, 1.0, 3.0, 2.0)), name, nearest=True) == expected


@given(VALUES, st.sampled_from([50, 90, 95, 99]))
def test_the_linear_percentile_is_numpys(values, p):
    assert recomputed(Sample(values=tuple(values)), f"p{p}", nearest=False) == pytest.approx(np.percentile(values, p))


@given(
    st.lists(st.tuples(st.floats(0.001, 1e6), st.integers(1, 5)), min_size=1, max_size=20),
    st.sampled_from([50, 90, 99]),
)
def test_a_weight_counts_like_so_many_equal_values(pairs, p):
    weighted = Sample(values=tuple(value for value, _ in pairs), weights=tuple(weight for _, weight in pairs))
    repeated = Sample(values=tuple(value for value, weight in pairs for _ in range(weight)))
    for name in ("mean", f"p{p}"):
        assert recomputed(weighted, name, nearest=True) == pytest.approx(recomputed(repeated, name, nearest=True))
