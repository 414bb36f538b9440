from hypothesis import given
from hypothesis import strategies as st
from tests.fit.budgets import plan, size

from dayzero.core.hardware import System
from dayzero.core.parallelism import Parallelism
from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Proven
from dayzero.fit.memory_log import GIB
from dayzero.fit.sweep import spreads, sweep


def system(gpus: int, gib: int = 80) -> System:
    return System(name=f"{gpus}x{gib}", accelerator="gpu", accelerators=gpus, memory=Bytes(gib * GIB))


@given(st.integers(1, 64))
def test_every_spread_takes_every_gpu_once(gpus):
    found = tuple(spreads(system(gpus)))
    assert found
    assert all(spread.ranks == gpus for spread in found)
    assert len(set(found)) == len(found)


def test_one_gpu_can_be_used_in_one_way_only():
    assert tuple(spreads(system(1))) == (Parallelism(),)


def test_what_fits_comes_before_what_does_not_and_the_cheapest_first():
    rows = sweep(plan(weights_gib=140), (system(8), system(4), system(1), system(2, 140)), size)
    fits = [isinstance(row.report.verdict, Proven) for row in rows]
    assert fits == sorted(fits, reverse=True)
    costs = [row.cost for row in rows if isinstance(row.report.verdict, Proven)]
    assert costs == sorted(costs)
    assert rows[0].plan.system.name == "2x140"
    assert rows[-1].plan.system.name in {"1x80", "2x140", "4x80", "8x80"}


def test_a_spread_that_the_model_refuses_is_left_out():
    assert all(row.plan.parallelism.tp <= 8 for row in sweep(plan(), (system(16),), size))
