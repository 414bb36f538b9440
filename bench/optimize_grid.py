"""Does a search find the best of a small grid with a third of its starts? Every combination is measured, then the search runs.

The grid is real: the embedded engine's server with one or two threads, three sizes of a pass and three numbers of requests at once,
which are 18 combinations; the package begins at the worst. Goals: with 6 starts, the combination that the search calls best is, by
the figures of the exhaustive measurement, at most 3 % slower than the best one there.

    python bench/optimize_grid.py -o FOLDER [--requests 24] [--busy] [--truth]

What is measured already in FOLDER is not measured again, so that a machine that is lent for minutes is enough; --truth measures the
grid alone. With --busy the rules about the client and its machine are left out, for a machine that others use too.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from dayzero.adapters.study_journal import StudyJournal
from dayzero.core.errors import DayzeroError
from dayzero.optimize.facts import Begun, Ended
from dayzero.optimize.model import Point, in_words
from dayzero.optimize.plan import view
from dayzero.optimize.space import flags_of, points
from dayzero.optimize.standing import known
from dayzero.optimize.stop import Rule, Watch, boundaries
from dayzero.wiring.optimize import Hearer, Order, optimize, plan_of
from dayzero.wiring.optimize_bench import TrialBench, TrialLoad
from dayzero.wiring.optimize_confirm import Confirmation
from dayzero.wiring.optimize_study import Opened, Question, begin, reopen
from dayzero.wiring.window_arms import Waiting

ROOT = Path(__file__).parents[1]
STARTS, REGRET = 6, 0.03
SPACE = """
[[setting]]
flag = "--n-parallel"
values = ["1", "2", "4"]

[[setting]]
flag = "--n-batch"
values = ["4", "32", "512"]

[[setting]]
flag = "--cpuparams.n-threads"
values = ["1", "2"]
"""
LOAD = """
[[cells]]
name = "c4"
concurrency = 4
warmup_requests = 4
requests = {requests}
input_tokens = 64
output_tokens = 16
"""
QUIET = Waiting(lambda _seconds, _line: None, lambda _progress: None)


def put(folder: Path, requests: int) -> Question:
    """Write package, space and load into the folder, and ask for them."""
    package = folder / "packages" / "worst"
    package.mkdir(parents=True, exist_ok=True)
    text = (ROOT / "packages" / "demo-kimi-k3-tiny" / "package.toml").read_text(encoding="utf-8")
    text = text.replace('"--n-parallel", "4"', '"--n-parallel", "1", "--n-batch", "4"')
    (package / "package.toml").write_text(text, encoding="utf-8")
    (folder / "space.toml").write_text(SPACE, encoding="utf-8")
    (folder / "load.toml").write_text(LOAD.format(requests=requests), encoding="utf-8")
    return Question(
        package=str(package),
        workload=str(folder / "load.toml"),
        space=str(folder / "space.toml"),
        trials=STARTS,
        baseline_every=0,
    )


def truth(opened: Opened) -> dict[Point, float]:
    """Measure every combination that has no figure yet, and give all figures."""
    journal = StudyJournal(opened.folder.journal, "main")
    load = TrialLoad(cell=opened.cell, seed=opened.package.workload.seed, figures=opened.goal.figures)
    bench = TrialBench(opened.folder, load, opened.judge, journal, "main", QUIET)
    cell, space = opened.cell, opened.study.space
    for point in points(space):
        now = view(plan_of(opened, "main"), journal)
        if point in known(now.standing.placed):
            continue
        number = len(now.state.trials)
        watch = Watch(rule=Rule(margin=1.0), best=(), warmup=cell.warmup_requests, bounds=boundaries(cell.requests))
        journal.write(Begun(at_s=time.time(), worker="main", number=number, role="sampled", point=point))
        outcome = bench.measure(number, flags_of(space, point), watch)
        journal.write(Ended(at_s=time.time(), worker="main", number=number, outcome=outcome))
        print(f"{in_words(point)}: {outcome.kind} {outcome.figures.get('output_tok_s', 0):.1f} tok/s", flush=True)
    placed = known(view(plan_of(opened, "main"), journal).standing.placed)
    return {point: one.values[0] for point, one in placed.items() if one.values is not None}


def main() -> int:
    """Measure, search, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--requests", type=int, default=24)
    parser.add_argument("--truth", action="store_true")
    parser.add_argument("--busy", action="store_true")
    asked = parser.parse_args()
    if asked.busy:
        sys.path.append(str(ROOT))
        from tests.simulators import quiet_machine  # noqa: PLC0415  (only then)

        quiet_machine.assume()
    question = put(asked.output, asked.requests)
    grid, found = asked.output / "grid", asked.output / "search"
    opened = reopen(grid, lambda one: one, print) if grid.exists() else begin(question, grid, lambda _: None)
    figures = truth(opened)
    if asked.truth:
        return 0
    hearer = Hearer(say=lambda _: None, stands=lambda text, _now, _opened: print(text, flush=True), waiting=QUIET)
    order = Order(
        question=None if found.exists() else question,
        change=lambda one: one,
        confirmation=Confirmation(wanted=False),
        folder=found,
    )
    result = json.loads(json.dumps(optimize(order, hearer)))
    best = tuple(result["best"]["point"].items())
    most = max(figures.values())
    regret = 1 - figures.get(best, 0.0) / most
    starts = sum(one["outcome"] != "interrupted" for one in result["trials"])
    print(f"grid: {len(figures)} combinations, {min(figures.values()):.1f} to {most:.1f} tok/s")
    print(f"search: {starts} starts, best {in_words(best)}, regret {regret:.2%} (goal {REGRET:.0%} with {STARTS})")
    return 0 if regret <= REGRET and starts <= STARTS else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DayzeroError as error:
        sys.exit(f"error: {error.message}\nhint: {error.hint}")
