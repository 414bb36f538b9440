"""The systems on which a model could run: one GPU to four nodes of eight, of every kind that is known."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from dayzero.core.accelerators import accelerator, accelerator_names
from dayzero.core.errors import InputError
from dayzero.core.hardware import System, parse_system
from dayzero.core.parallelism import Parallelism
from dayzero.core.quantities import Bytes
from dayzero.fit.memory_log import GIB
from dayzero.fit.model import FitPlan

NEAR = GIB // 2  # by how much the memory that a log names may differ from that of a kind of GPU

_SAME = GIB // 5  # kinds that differ by less are told apart by which is the commoner

_COUNTS = ((1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8))
_LEAST_SHARE = 1.25  # parts that are not loaded are less than a fifth of a model


def known_systems() -> Iterator[System]:
    """Give one GPU to four nodes of eight, of every known kind, the least memory first."""
    kinds = [kind for name in accelerator_names() if (kind := accelerator(name)).offered]
    systems = [
        parse_system(f"{nodes}x{count}x{kind.name}" if nodes > 1 else f"{count}x{kind.name}")
        for kind, (nodes, count) in product(kinds, _COUNTS)
    ]
    yield from sorted(systems, key=lambda system: (system.gpus * system.memory.count, system.gpus))


def large_enough(stored: Bytes) -> Iterator[System]:
    """Leave out what cannot hold a model's stored bytes on all its GPUs together."""
    for system in known_systems():
        if system.gpus * system.memory.count * _LEAST_SHARE >= stored.count:
            yield system


def elsewhere(plan: FitPlan) -> Iterator[FitPlan]:
    """Give the same model on other systems of that vendor, the least memory first."""
    vendor = accelerator(plan.system.accelerator).vendor
    for system in large_enough(plan.checkpoint.size):
        if accelerator(system.accelerator).vendor == vendor:
            yield from (replace(plan, system=system, parallelism=spread) for spread in usual_spreads(system))


def usual_spreads(system: System) -> Iterator[Parallelism]:
    """Give the spreads that people take: tensor parallel on a node, pipelines between nodes, experts spread or not."""
    inside = system.accelerators
    for ep in (False, True)[: system.gpus]:
        yield Parallelism(tp=inside, pp=system.nodes, ep=ep)
        if system.nodes > 1:
            yield Parallelism(tp=system.gpus, ep=ep)
    if inside > 1:
        yield Parallelism(pp=system.gpus)


def kind_with(total: int) -> str:
    """Name the kind of GPU whose memory a log shows.

    Raises:
        InputError: None has so much.
    """
    kinds = [accelerator(name) for name in accelerator_names()]
    off = {kind.name: abs(kind.total.size.count - total) for kind in kinds}
    near = min(kinds, key=lambda kind: (off[kind.name] > _SAME, not kind.offered, off[kind.name]))
    near = near if off[near.name] <= _SAME else min(kinds, key=lambda kind: off[kind.name])
    if abs(near.total.size.count - total) > NEAR:
        raise InputError(
            f"the log shows GPUs of {Bytes(total)}, and no known kind has that", hint="Say which with --system."
        )
    return near.name
