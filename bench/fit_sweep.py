"""Size one model in many ways and print how long that takes on one core.

    python -m bench.fit_sweep CONFIG.json [--configurations 1000]

The goal for Kimi-K3 is 1,000 configurations in two seconds; reading the config and loading the program are not counted.
"""

import argparse
import itertools
import os
import time
from dataclasses import replace

from dayzero.core.errors import InputError
from dayzero.fit.cheapest import Sizing
from dayzero.fit.model import FitPlan
from dayzero.fit.sweep import spreads
from dayzero.wiring.fit import Question, answer, sizing
from dayzero.wiring.fit_systems import known_systems

_CONTEXTS = (8192, 40960, 131072)


def main() -> None:
    """Time the sizing of every known system, spread and context, until there are enough."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("--configurations", type=int, default=1000)
    asked = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    first = answer(Question(target=asked.config, system="8xb300"))
    if first.plan is None:
        raise SystemExit(first.report.verdict.reason)
    plans = _plans(first.plan, asked.configurations)
    size = sizing("vllm")
    began, cpu = time.perf_counter(), time.process_time()
    verdicts = [_verdict(plan, size) for plan in plans]
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    counts = {name: verdicts.count(name) for name in sorted(set(verdicts))}
    print(f"{len(plans)} configurations of {first.name}: {wall:.2f} s, {cpu:.2f} CPU-s on one core; {counts}")


def _plans(plan: FitPlan, count: int) -> tuple[FitPlan, ...]:
    """Take every n-th of all, so that small and large systems are among them."""
    every = [
        replace(plan, system=system, parallelism=spread, context=context)
        for system, context in itertools.product(known_systems(), _CONTEXTS)
        for spread in spreads(system)
    ]
    step = max(len(every) // count, 1)
    return tuple(every[::step][:count])


def _verdict(plan: FitPlan, size: Sizing) -> str:
    try:
        return size(plan).state.value
    except InputError:
        return "refused"


if __name__ == "__main__":
    main()
