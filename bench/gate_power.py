"""How often ``dayzero gate distribution`` fails a server beside itself, and how often it finds a difference at its margin.

Each run simulates one whole attempt, candidate by candidate (``tests/gates/simulated_captures.py``: Zipf logits, prompts that
differ in how much they are touched, rare routing flips), and puts it through the looks that the command takes. The planted
differences are scaled beforehand, by gates of their own, so that their mean excess is the margin. Goals: at a nominal 5 % at
most 7 % false failures, and at least 80 % of the planted differences found. A cell of 200 takes about two minutes:
``PYTHONPATH=. .venv/bin/python bench/gate_power.py [CELL ...]``.
"""

import argparse
import collections
import math
import sys
import time
from dataclasses import dataclass, replace

from scipy import stats
from tests.gates.simulated_captures import Noise, gate

from dayzero.gates.judge import judge
from dayzero.gates.model import Arm, DistributionPlan, Judged, Stop
from dayzero.gates.report import word
from dayzero.gates.sequential import look

GOAL_FALSE, GOAL_FOUND = 0.07, 0.80
PLAN = DistributionPlan(prompts=64, positions=16, looks=2, arms=(Arm.PREFILL,))
HEAVY = Noise(fresh=0.01, flips=0.001, flip_size=0.4)


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of servers.

    Attributes:
        name: What they are.
        noise: What they add.
        planted: Which part of it is scaled to the margin; ``""`` where A and B are the same.
        arm: Which arm.
        prompts: How many; a difference in few places, far off, has a spread of 14 times its mean, and takes twice as many.
    """

    name: str
    noise: Noise
    planted: str = ""
    arm: Arm = Arm.PREFILL
    prompts: int = PLAN.prompts


CELLS = {
    "quiet": Cell("the same, quiet", Noise(fresh=0.01)),
    "heavy": Cell("the same, routing flips", HEAVY),
    "decode": Cell("the same, routing flips, decode arm", HEAVY, arm=Arm.DECODE),
    "everywhere": Cell("planted on every place", HEAVY, "changed"),
    "repeatable": Cell("planted on every place, floor 0", Noise(fresh=0.0, changed=0.05), "changed"),
    "rare": Cell("planted on rare places, far", replace(HEAVY, changed_flips=0.01), "changed_flips", prompts=128),
    "decode-planted": Cell("planted on every place, decode arm", HEAVY, "changed", Arm.DECODE),
}


def attempt(plan: DistributionPlan, cell: Cell, noise: Noise, seed: int) -> Judged:
    """Take the looks of one attempt until it stops."""
    captures = gate(plan, noise, seed=seed, arm=cell.arm)
    for number in range(1, len(plan.look_sizes) + 1):
        looked = look(plan, captures, number)
        if isinstance(looked, Stop):
            return looked.judged
    raise AssertionError("the last look did not stop")


def scaled(plan: DistributionPlan, cell: Cell, seed: int) -> Noise:
    """Scale what is planted until its mean excess divergence is the margin."""
    noise = cell.noise if getattr(cell.noise, cell.planted) else replace(cell.noise, **{cell.planted: 0.05})
    once = replace(plan, looks=1)
    for step in range(3):
        found = [
            judge(once, gate(once, noise, seed=seed + 100 * step + run, arm=cell.arm)).arms[0].tests[0].excess.value
            for run in range(8)
        ]
        ratio = plan.margin_nat / (sum(found) / len(found))
        power = ratio if cell.planted == "changed_flips" else math.sqrt(ratio)
        noise = replace(noise, **{cell.planted: getattr(noise, cell.planted) * power})
    return noise


def run(name: str, gates: int, seed: int) -> bool:
    """Simulate one cell; say whether it keeps its goal."""
    cell, began = CELLS[name], time.perf_counter()
    plan = replace(PLAN, prompts=cell.prompts, arms=(cell.arm,))
    noise = scaled(plan, cell, 10_000_000 + seed) if cell.planted else cell.noise
    said: collections.Counter[str] = collections.Counter()
    first = 0
    for number in range(gates):
        judged = attempt(plan, cell, noise, seed + number)
        said[word(judged.verdict)] += 1
        first += judged.look == 1
    share = said["different"] / gates
    low, high = stats.binomtest(said["different"], gates).proportion_ci()
    counts = ", ".join(f"{count} {verdict}" for verdict, count in said.most_common())
    took = f"{first} at the first look; {time.perf_counter() - began:.0f} s"
    rate = f"different {share:6.1%} [{low:.1%}, {high:.1%}]"
    print(f"{cell.name:<36} {plan.prompts:>4} prompts: {rate}   {counts}; {took}", flush=True)
    return share >= GOAL_FOUND if cell.planted else share <= GOAL_FALSE


def main() -> int:
    """Print the cells; exit 1 where a goal is missed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("cells", nargs="*", default=list(CELLS), metavar="CELL", help=", ".join(CELLS))
    arguments.add_argument("--gates", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=20261130)
    chosen = arguments.parse_args()
    print(f"{PLAN.positions} places a prompt, {PLAN.k} candidates, {PLAN.looks} looks, {chosen.gates} gates a cell")
    kept = [run(name, chosen.gates, chosen.seed) for name in chosen.cells]
    print(
        f"at most {GOAL_FALSE:.0%} false failures, at least {GOAL_FOUND:.0%} found: {'kept' if all(kept) else 'MISSED'}"
    )
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
