"""A run on two GPUs, as it is filed in this repository's evidence, beside what is predicted for it."""

from pathlib import Path

import pytest
from tests.engines.vllm.memory.models import dense

from dayzero.core.hardware import parse_system
from dayzero.core.parallelism import Parallelism
from dayzero.core.verdict import Proven
from dayzero.engines.vllm.memory.budget import budget
from dayzero.fit.compare import measured_verdict
from dayzero.fit.memory_log import GIB, Quantity
from dayzero.fit.model import Budget, Component, FitPlan
from dayzero.wiring.memory_logs import memory_log

LOG = (
    Path(__file__).parents[4] / "evidence" / "raw" / "74ab4bb950b43ff8e9fb2b06b37f800f7258f09c91848edd2a9c22e0ca7cdac8"
)


@pytest.mark.skipif(not LOG.is_file(), reason="the log of the run on two H200 is not filed in this checkout")
def test_the_run_on_two_gpus_is_predicted():
    log = memory_log(LOG)
    answer = budget(
        FitPlan(
            checkpoint=dense(),
            system=parse_system("2xh200"),
            parallelism=Parallelism(tp=2),
            version=log.stated.version,
            flags=("--gpu-memory-utilization=0.2",),
            context=8192,
        )
    )
    assert isinstance(answer, Budget)
    rank = answer.ranks[0]

    def printed(quantity: Quantity) -> float:
        found = log.smallest(quantity)
        assert found is not None, quantity
        return float(found.value)

    weights, cache = rank.figure(Component.WEIGHTS).size.count, rank.figure(Component.KV_CACHE).size.count
    assert weights == pytest.approx(printed(Quantity.WEIGHTS), rel=0.03)
    assert cache == pytest.approx(printed(Quantity.KV_CACHE), rel=0.1)
    assert answer.kv_tokens == pytest.approx(printed(Quantity.KV_TOKENS), rel=0.1)
    assert rank.free.count / GIB == pytest.approx(printed(Quantity.FREE) / GIB, abs=1.0)
    for component, quantity in ((Component.ACTIVATIONS, Quantity.ACTIVATIONS), (Component.GRAPHS, Quantity.GRAPHS)):
        figure = rank.figure(component)
        assert figure.low.count <= printed(quantity) <= figure.high.count
    assert isinstance(measured_verdict(log, "log"), Proven)
