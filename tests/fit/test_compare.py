from decimal import Decimal

import pytest
from tests.fit.budgets import plan, size

from dayzero.core.verdict import Proven, Refuted, Undecided
from dayzero.fit.compare import compare, judged, measured_figures, measured_verdict
from dayzero.fit.memory_log import GIB, MemoryLog, Quantity, Reading, Shortage
from dayzero.fit.model import Component, State

REPORT = size(plan(weights_gib=60))  # 4 GiB of activations, 16 GiB of cache: 131,072 tokens


def reading(quantity: Quantity, value: float, line: int = 1, process: str = "") -> Reading:
    unit = 1 if quantity.counted else GIB
    return Reading(
        quantity=quantity,
        value=Decimal(str(value)) * unit,
        rounding=Decimal("0.005") * unit,
        line=line,
        process=process,
    )


def log(*readings: Reading, started: int | None = None, shortage: Shortage | None = None) -> MemoryLog:
    return MemoryLog(engine="vllm", readings=readings, started=started, shortage=shortage)


@pytest.mark.parametrize(
    ("quantity", "value", "holds"),
    [
        (Quantity.WEIGHTS, 61.8, True),
        (Quantity.WEIGHTS, 61.9, False),
        (Quantity.KV_CACHE, 17.7, True),
        (Quantity.KV_CACHE, 17.8, False),
        (Quantity.KV_TOKENS, 120_000, True),
        (Quantity.KV_TOKENS, 100_000, False),
        (Quantity.CONCURRENCY, 2.2, True),
        (Quantity.CONCURRENCY, 2.3, False),
    ],
)
def test_a_prediction_holds_within_its_tolerance_and_not_beyond(quantity, value, holds):
    verdict = compare(REPORT, log(reading(quantity, value))).verdict
    assert isinstance(verdict, Proven if holds else Refuted)


def test_activations_and_graphs_are_judged_together_in_bytes():
    near = log(reading(Quantity.ACTIVATIONS, 3.0), reading(Quantity.GRAPHS, 0.5))
    far = log(reading(Quantity.ACTIVATIONS, 3.0), reading(Quantity.GRAPHS, 0.4))
    assert isinstance(compare(REPORT, near).verdict, Proven)
    assert isinstance(compare(REPORT, far).verdict, Refuted)


def test_of_several_ranks_the_heaviest_weights_and_the_smallest_cache_count():
    several = log(
        reading(Quantity.WEIGHTS, 50, 2, "TP0"),
        reading(Quantity.WEIGHTS, 60.1, 3, "TP1"),
        reading(Quantity.KV_CACHE, 30, 4, "TP0"),
        reading(Quantity.KV_CACHE, 16, 5, "TP1"),
    )
    rows = {row.name: row for row in compare(REPORT, several).rows}
    assert (rows["weights"].line, rows["KV cache"].line) == (3, 5)
    assert isinstance(compare(REPORT, several).verdict, Proven)


def test_blocks_are_tokens_by_the_size_of_a_block():
    rows = {row.name: row for row in compare(REPORT, log(reading(Quantity.KV_BLOCKS, 8192))).rows}
    assert rows["KV tokens"].actual == 8192 * 16


def test_what_the_log_gives_with_the_weights_is_told_apart():
    both = log(reading(Quantity.WEIGHTS, 53.63), reading(Quantity.CONSUMED, 56.66))
    figures = {figure.component: figure for figure in measured_figures(both, "engine.log")}
    assert figures[Component.OTHER].size.count / GIB == pytest.approx(3.03)
    assert figures[Component.WEIGHTS].source == "engine.log:1"
    assert figures[Component.WEIGHTS].low < figures[Component.WEIGHTS].size < figures[Component.WEIGHTS].high


def test_a_cache_of_less_than_nothing_is_no_figure():
    assert measured_figures(log(reading(Quantity.KV_CACHE, -8.62)), "engine.log") == ()


def test_with_nothing_in_common_nothing_is_decided():
    assert isinstance(compare(REPORT, log(reading(Quantity.FREE, 79))).verdict, Undecided)
    assert isinstance(compare(None, log(reading(Quantity.WEIGHTS, 60))).verdict, Undecided)


def test_a_run_decides_against_what_was_computed():
    ran_out = judged(REPORT, log(shortage=Shortage(7, "CUDA out of memory")), "engine.log")
    assert (ran_out.state, ran_out.kv_tokens) == (State.MEASURED_DOES_NOT_FIT, None)
    assert isinstance(ran_out.verdict, Refuted)
    assert str(ran_out.verdict.places[0]) == "engine.log:7"
    too_large = size(plan(weights_gib=90))
    came_up = judged(too_large, log(reading(Quantity.KV_TOKENS, 743_120), started=9), "engine.log")
    assert (came_up.state, came_up.kv_tokens) == (State.MEASURED_FITS, 743_120)
    assert isinstance(came_up.verdict, Proven)
    assert judged(REPORT, log(), "engine.log") is REPORT


def test_memory_that_ran_out_after_the_start_is_no_fit():
    verdict = measured_verdict(log(started=3, shortage=Shortage(9, "CUDA out of memory")), "engine.log")
    assert isinstance(verdict, Refuted)
    assert verdict.reason.startswith("after it had come up")
