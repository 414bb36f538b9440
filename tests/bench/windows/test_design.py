from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.windows.simulated_arms import CELL

from dayzero.bench.windows.design import certificate, comparison, rehearsal
from dayzero.bench.windows.model import Design, Measure, parse_measure
from dayzero.core.errors import InputError

SEEDS = st.integers(0, 2**32)


def orders(design: Design) -> list[str]:
    labels = [window.label for window in comparison(design)]
    return ["".join(labels[index : index + 2]) for index in range(0, len(labels), 2)]


@given(SEEDS, st.integers(2, 12))
def test_pairs_alternate_and_each_order_comes_equally_often(seed: int, half: int):
    found = orders(Design(seed=seed, cell=CELL, pairs=2 * half))
    assert len(found) == 2 * half
    assert all(one != other for one, other in pairwise(found))
    assert sorted(found) == ["AB"] * half + ["BA"] * half


def test_the_seed_draws_which_arm_begins_and_draws_the_same_again():
    begins = [orders(Design(seed=seed, cell=CELL))[0] for seed in range(200)]
    assert 70 < begins.count("AB") < 130
    assert begins == [orders(Design(seed=seed, cell=CELL))[0] for seed in range(200)]


@given(SEEDS)
def test_both_halves_of_a_pair_send_the_same_requests_under_different_nonces(seed: int):
    design = Design(seed=seed, cell=CELL)
    windows = (*rehearsal(design), *certificate(design), *comparison(design))
    seeds = {(window.stage, window.pair): window.prompt_seed for window in windows}
    assert all(seeds[window.stage, window.pair] == window.prompt_seed for window in windows)
    assert len(set(seeds.values())) == len(seeds)
    assert len({window.nonce for window in windows}) == len(windows)
    assert len({window.name for window in windows}) == len(windows)


def test_the_certificate_serves_both_labels_from_arm_a():
    windows = certificate(Design(seed=1, cell=CELL))
    assert {window.arm for window in windows} == {"A"}
    assert [window.label for window in windows].count("B") == 6


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"pairs": 7}, "7 pairs cannot be compared"),
        ({"pairs": 2}, "2 pairs cannot be compared"),
        ({"certificate_pairs": 3}, "3 certificate pairs cannot be compared"),
        ({"margin": 0.0}, "a margin of 0.00%"),
        ({"margin": 1.0}, "a margin of 100.00%"),
        ({"alpha": 1.0}, "1 is no error rate"),
    ],
)
def test_a_design_that_cannot_work_is_refused(changes: dict[str, float], complaint: str):
    with pytest.raises(InputError, match=complaint):
        Design(seed=1, cell=CELL, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "measure", "higher"),
    [
        ("output_tok_s", Measure("output_tok_s"), True),
        ("ttft_ms", Measure("ttft_ms", "p50"), False),
        ("e2e_ms.p99", Measure("e2e_ms", "p99"), False),
        ("tpot_ms.mean", Measure("tpot_ms", "mean"), False),
    ],
)
def test_a_measure_is_read_as_it_is_typed(text: str, measure: Measure, higher: bool):  # noqa: FBT001
    assert parse_measure(text) == measure
    assert measure.higher_is_better is higher
    assert parse_measure(str(measure)) == measure


@pytest.mark.parametrize("text", ["speed", "output_tok_s.p50", "ttft_ms.p75", ""])
def test_a_measure_that_is_none_is_refused_with_the_list(text: str):
    with pytest.raises(InputError) as refused:
        parse_measure(text)
    assert "ttft_ms" in refused.value.hint
