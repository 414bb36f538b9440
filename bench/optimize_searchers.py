"""The searchers that are compared: how each is asked to search the same space, and which combination it recommends."""

import csv
import json
import random
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.optimize_engine import (
    OUTPUT_TOKENS,
    PORT,
    REQUESTS,
    SPACE,
    STOCK,
    STREAMS,
    TRIALS,
    Bench,
    Point,
    point_of,
    points,
)

TUNER_SECONDS = 5  # vllm-tuner measures for a time, not for a number of requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Where the peers are: the folder of bench/optimize_peers.sh, and the environment of the real vLLM."""

    peers: Path
    vllm: Path

    @property
    def tokenizer(self) -> Path:
        """Folder of the tokenizer that clients are given."""
        return self.peers / "tok"


def noted(folder: Path) -> Sequence[Point]:
    """Read what the stand-in noted: the combination of each start."""
    file = folder / "starts.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [point_of(json.loads(line)["flags"]) for line in lines]


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher:
    """One searcher that is run.

    Attributes:
        name: With its version.
        searches: How it searches, for the table.
        program: What is run; it says that it is missing where this is no file.
        words: Its arguments, given the bench and an empty folder of its own, with its files written there.
        best: Reads the recommended combination from its folder.
        begun: Reads the combinations that it started, in order.
    """

    name: str
    searches: str
    program: Path
    words: Callable[[Bench, Path], Sequence[str]]
    best: Callable[[Path], Point]
    begun: Callable[[Path], Sequence[Point]] = noted


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """A baseline that needs no tool: the combinations that it takes, in order; the best measured one is what it recommends."""

    name: str
    searches: str
    chosen: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """An anchor that cannot be held against this engine, and why."""

    name: str
    why: str


ABSENT = (
    Absent(
        "bentoml llm-optimizer",
        "it is not on the package index; what has its name there (0.4.3) lowers bills of hosted APIs, and starts no server",
    ),
    Absent(
        "aiconfigurator 0.12.0",
        "it predicts from tables of NVIDIA GPUs and of TensorRT-LLM, vLLM and SGLang; it has none of this engine or of a CPU, "
        "and starts nothing",
    ),
    Absent(
        "GuideLLM 0.8.1 sweep",
        "it varies the load on one running server; it starts no engine and changes no flag (its figures are in bench/clients.py)",
    ),
    Absent(
        "llama-optimus 0.1.9, llama-dyno 1.5.0",
        "they run llama-bench, which no wheel of the engine carries, on spaces of their own; no server and no streams are measured",
    ),
)


def sampled() -> tuple[Sampled, ...]:
    """Give the plain baselines, with as many starts as everybody has."""
    stock = tuple(point for point in points() if point == STOCK)
    others = [point for point in points() if point != STOCK]
    runs = [
        Sampled(
            name=f"random, seed {seed}",
            searches="stock, then drawn without repeats",
            chosen=(*stock, *random.Random(seed).sample(others, TRIALS - 1)),  # noqa: S311
        )
        for seed in (1, 2, 3)
    ]
    return (Sampled(name="grid order", searches="the first of the grid", chosen=points()[:TRIALS]), *runs)


def searchers(tools: Tools) -> tuple[Searcher, ...]:
    """Name dayzero and the peers that can drive this engine."""
    vllm = tools.vllm / "bin" / "vllm"
    tuner = tools.peers / "vllm-tuner" / "bin" / "python"
    return (
        Searcher(
            name="dayzero optimize",
            searches="audited space, one change at a time, then TPE; stops hopeless trials",
            program=Path(sys.executable),
            words=_dayzero,
            best=_dayzero_best,
            begun=_dayzero_begun,
        ),
        Searcher(
            name="vllm bench sweep 0.32.0",
            searches="the list that it is given, in order; here the first of the grid",
            program=vllm,
            words=lambda bench, folder: _sweep(bench, folder, vllm),
            best=_sweep_best,
        ),
        Searcher(
            name="vllm-tuner 0.1.6",
            searches="defaults, then Optuna's TPE",
            program=tuner,
            words=_tuner,
            best=lambda folder: _optuna_best(tuner, folder / "study.db", ""),
        ),
        Searcher(
            name="vllm-optimizer 0.1.0a21",
            searches="defaults, then Optuna's TPE without repeats",
            program=tools.peers / "vllm-optimizer" / "bin" / "vllm-opt",
            words=_optimizer,
            best=_optimizer_best,
        ),
    )


def _dayzero(bench: Bench, folder: Path) -> Sequence[str]:
    space, cell = str(bench.folder / "space.toml"), str(bench.folder / "cell.toml")
    asked = ("--workload", cell, "--space", space, "--trials", str(TRIALS), "--budget", "1h", "--seed", "1")
    alone = ("--no-confirm", "--baseline-every", "0", "--offline", "--output-format", "json")
    return ["-m", "dayzero", "optimize", str(bench.package), *asked, *alone, "-o", str(folder / "study")]


def _dayzero_best(folder: Path) -> Point:
    document = json.loads((folder / "study" / "result.json").read_text(encoding="utf-8"))
    best = document["best"]
    return _dayzero_point(best["point"]) if best else STOCK


def _dayzero_begun(folder: Path) -> Sequence[Point]:
    document = json.loads((folder / "study" / "result.json").read_text(encoding="utf-8"))
    return [_dayzero_point(trial["point"]) for trial in document["trials"]]


def _dayzero_point(levels: Mapping[str, str]) -> Point:
    """Read a point of a study; settings are called as their flags are, and unset ones are at their stock."""
    given = {name.removeprefix("--"): value for name, value in levels.items()}
    return {flag: given[flag] if given.get(flag, "unset") != "unset" else STOCK[flag] for flag in SPACE}


def _client(bench: Bench) -> Mapping[str, object]:
    """Give the load as ``vllm bench serve`` is asked for it."""
    return {
        "dataset-name": "custom",
        "dataset-path": str((bench.folder / "prompts.jsonl").resolve()),
        "custom-output-len": OUTPUT_TOKENS,
        "skip-chat-template": True,
        "ignore-eos": True,
        "num-prompts": REQUESTS,
        "max-concurrency": STREAMS,
        "num-warmups": STREAMS,
    }


def _sweep(bench: Bench, folder: Path, vllm: Path) -> Sequence[str]:
    parameters = folder / "serve-params.json"
    parameters.write_text(json.dumps(points()[:TRIALS]), encoding="utf-8")
    model = str(bench.model.resolve())
    serve = [str(bench.stand_in.resolve()), "serve", model, "--host", "127.0.0.1", "--port", str(PORT)]
    client = [
        str(vllm),
        "bench",
        "serve",
        "--backend",
        "openai",
        "--model",
        model,
        "--host",
        "127.0.0.1",
        "--port",
        str(PORT),
    ]
    for name, value in _client(bench).items():
        client += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    commands = ("--serve-cmd", shlex.join(serve), "--bench-cmd", shlex.join(client), "--after-bench-cmd", "true")
    kept = ("-o", str(folder), "-e", "sweep", "--num-runs", "1", "--serve-params", str(parameters))
    return ["bench", "sweep", "serve", *commands, *kept]


def _sweep_best(folder: Path) -> Point:
    with (folder / "sweep" / "summary.csv").open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    best = max(rows, key=lambda row: float(row["output_throughput"]))
    return {flag: best[flag] for flag in SPACE}


def _tuner(bench: Bench, folder: Path) -> Sequence[str]:
    letters = len(json.loads((bench.folder / "prompts.jsonl").read_text(encoding="utf-8").split("\n", 1)[0])["prompt"])
    document = {
        "study": {"name": "search"},
        "model": str(bench.model.resolve()),
        "optimization": {"n_trials": TRIALS - 1, "n_startup_trials": 2, "sampler": "tpe"},
        "parameters": [{"name": flag, "options": list(values)} for flag, values in SPACE.items()],
        "benchmark": {
            "provider": "http",
            "prompt_tokens": letters // 4,  # it takes a token for four letters
            "output_tokens": OUTPUT_TOKENS,
            "max_seconds": TUNER_SECONDS,
            "concurrent_requests": STREAMS,
        },
    }
    settings = folder / "study.json"  # JSON is YAML
    settings.write_text(json.dumps(document), encoding="utf-8")
    run = "import sys; from vllm_tuner.cli.main import CLI; CLI().run(config=sys.argv[1], output_dir=sys.argv[2])"
    return ["-c", run, str(settings), str(folder)]


def _optimizer(bench: Bench, folder: Path) -> Sequence[str]:
    document = {
        "experiment": {"name": "search", "output_dir": str(folder), "seed": 1},
        "server": {"model": str(bench.model.resolve()), "port": PORT},
        "tune": {flag: {"values": list(values)} for flag, values in SPACE.items()},
        "benchmark": {
            "engine": "vllm",
            "repeats": 1,
            "accept_any_request_failures": True,
            "runs": [{"name": "search", "args": _client(bench)}],
        },
        "optimization": {"maximize": "output_tokens_per_second", "sampler": "tpe", "trials": TRIALS - 1},
    }
    settings = folder / "experiment.json"
    settings.write_text(json.dumps(document), encoding="utf-8")
    return ["--config", str(settings)]


def _optimizer_best(folder: Path) -> Point:
    (run,) = (folder / "search").glob("*/result.json")
    document = json.loads(run.read_text(encoding="utf-8"))
    if not document["best"]:
        codes = sorted({trial["failure"]["code"] for trial in document["trials"] if trial["failure"]})
        raise LookupError(f"it accepts none of its trials ({', '.join(codes)})")
    named = document["best"]["server_args"]
    return point_of([word for name, value in named.items() for word in (f"--{name}", str(value))])


def _optuna_best(python: Path, database: Path, study: str) -> Point:
    """Ask the peer's own Optuna for the best trial of its study."""
    ask = (
        "import json, optuna, sys; optuna.logging.set_verbosity(40); storage = 'sqlite:///' + sys.argv[1]\n"
        "name = sys.argv[2] or optuna.get_all_study_names(storage)[0]\n"
        "print(json.dumps(optuna.load_study(study_name=name, storage=storage).best_trial.params))"
    )
    answer = subprocess.run([str(python), "-c", ask, str(database), study], capture_output=True, text=True, check=True)  # noqa: S603
    found = json.loads(answer.stdout)
    return {flag: str(found[flag]) for flag in SPACE}
