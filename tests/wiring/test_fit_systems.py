"""Which systems are proposed, and which kind a log shows."""

from dayzero.core.accelerators import accelerator
from dayzero.wiring.fit_systems import kind_with, known_systems

GIB = 1024**3


def test_only_kinds_that_are_offered_are_proposed():
    proposed = {system.accelerator for system in known_systems()}
    assert "h200" in proposed
    assert all(accelerator(name).offered for name in proposed)


def test_of_kinds_with_the_same_memory_the_one_that_is_offered_is_named():
    assert kind_with(int(44.42 * GIB)) == "l40s"
    assert kind_with(int(23.58 * GIB)) in {"rtx-3090", "rtx-4090"}
    assert kind_with(int(11.75 * GIB)) in {"rtx-3060", "rtx-4070"}
