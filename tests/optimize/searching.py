"""Searches over engines that are arithmetic."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from tests.simulators.flag_bench import DrawingSampler, FlagBench, MemoryJournal

from dayzero.optimize.model import Setting, Space
from dayzero.optimize.objective import Goal, parse_objectives
from dayzero.optimize.plan import Plan, Tools, View, view
from dayzero.optimize.search import End, search
from dayzero.optimize.space import space_around
from dayzero.optimize.stop import Rule

THREADS = Setting(flag="--threads", levels=("1", "2", "4"))
BATCH = Setting(flag="--batch", levels=("8", "64", "512"))
ATTENTION = Setting(flag="--attention", levels=("plain", "fused"))
STOCK = ("--threads", "1", "--batch", "8", "--attention", "plain")
SPEEDS: Mapping[str, Mapping[str, float]] = {
    "threads": {"1": 1.0, "2": 1.8, "4": 1.2},
    "batch": {"8": 1.0, "64": 2.0, "512": 2.1},
    "attention": {"plain": 1.0, "fused": 0.7},
}


def product_of(flags: Mapping[str, str]) -> float:
    """Let every flag act alone."""
    speed = 2.0
    for name, level in flags.items():
        speed *= SPEEDS[name][level]
    return speed


def space(*settings: Setting, flags: tuple[str, ...] = STOCK) -> Space:
    return space_around(flags, settings or (THREADS, BATCH, ATTENTION), ())


def plan(around: Space, **other: object) -> Plan:
    fixed = Plan(
        goal=Goal(objectives=parse_objectives("output_tok_s", devices=1, price_per_hour=None)),
        space=around,
        requests=48,
        warmup=4,
        rule=Rule(),
        baseline_every=0,
        budget_s=1e6,
        trials=None,
        worker="main",
        seed=1,
    )
    return replace(fixed, **other)  # type: ignore[arg-type]


def run(
    asked: Plan, bench: FlagBench, journal: MemoryJournal | None = None, said: Callable[[str], None] = lambda _: None
) -> tuple[End, View, DrawingSampler]:
    kept = journal or MemoryJournal()
    sampler = DrawingSampler({one.name: one.levels for one in asked.space.settings})
    sampler.asked = 100 * len(kept.kept)  # numbers of an earlier process stay its own
    tools = Tools(bench=bench, sampler=sampler, journal=kept, clock=bench.clock, told=lambda text, _: said(text))
    end = search(asked, tools)
    return end, view(asked, kept), sampler
