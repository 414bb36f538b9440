"""The engine that every searcher of bench/optimize.py searches: its space, one command for all, and the neutral measurement.

Searchers that start ``vllm serve MODEL --FLAG VALUE`` by name get a stand-in of that name on their PATH. It starts the embedded
engine with those flags, notes each start, and hands every other ``vllm`` command to the real vLLM. So each of them searches the
same flags of the same engine, and its starts are counted by something that is not the searcher.
"""

import contextlib
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dayzero.core.package import Package
from dayzero.engines.llamacpp.launch import launch_files
from dayzero.wiring import laboratory
from dayzero.wiring.definitions import load_package, package_file

PACKAGE = "demo-kimi-k3-tiny"
PORT = 8000  # vllm-tuner knows no other
# Registered before the first run: what is searched, with what load, and with how many starts.
SPACE: Mapping[str, tuple[str, ...]] = {
    "cpuparams.n-threads": ("1", "2"),
    "n-parallel": ("1", "2", "4"),
    "n-ubatch": ("8", "64", "512"),
}
STOCK = {"cpuparams.n-threads": "1", "n-parallel": "1", "n-ubatch": "64"}
COMMON = ("--n-ctx", "8192", "--kv-unified", "true")
STREAMS, WARMUP, REQUESTS, INPUT_TOKENS, OUTPUT_TOKENS = 4, 4, 24, 128, 32
TRIALS = 6
START_BUDGET_S, STOP_BUDGET_S, MEASURE_BUDGET_S = 60.0, 10.0, 100.0

Point = Mapping[str, str]

_STAND_IN = '''#!{python}
"""Answer ``vllm serve`` with the engine under search, and note the start; anything else is the real vLLM's."""
import json, os, sys, time
words = sys.argv[1:]
if words[:1] != ["serve"]:
    os.environ["PATH"] = os.environ["PATH"].split(os.pathsep, 1)[1]
    os.execv({vllm!r}, [{vllm!r}, *words])
flags = words[2:]
with open(os.environ["DAYZERO_STARTS"], "a") as starts:
    starts.write(json.dumps({{"at": time.time(), "flags": flags}}) + "\\n")
os.environ["PYTHONPATH"] = {site!r}
os.environ["PYTHONUNBUFFERED"] = "1"
named = {{flag for flag in flags if flag.startswith("--")}}
stock = [word for name, value in {defaults!r} if name not in named for word in (name, value)]
os.execv({python!r}, [{python!r}, {launcher!r}, "--model", {model!r}, "--alias", {alias!r}, *stock, *flags])
'''


def points() -> tuple[Point, ...]:
    """Give every combination of the space, in the order of a grid."""
    return tuple(dict(zip(SPACE, values, strict=True)) for values in itertools.product(*SPACE.values()))


def name_of(point: Point) -> str:
    """Name a combination as the table does: ``1 thread, 4 slots, 512 a pass``, in the order of the space."""
    return "/".join(point[flag] for flag in SPACE)


def flags_of(point: Point) -> tuple[str, ...]:
    """Write a combination as the engine's flags."""
    return tuple(word for flag, value in point.items() for word in (f"--{flag}", str(value)))


def point_of(flags: Sequence[str]) -> Point:
    """Read a combination back from flags; one that a searcher leaves out is at its stock value."""
    given = dict(zip(flags[::2], flags[1::2], strict=False))
    return {flag: given.get(f"--{flag}", STOCK[flag]) for flag in SPACE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the neutral measurement says of one combination: tokens a second, whether bench believes it, and why not."""

    output_tok_s: float
    valid: bool
    reasons: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Bench:
    """The folder in which a comparison is run."""

    folder: Path

    @property
    def model(self) -> Path:
        """A folder that passes for a checkpoint: searchers ask for one, and take their tokenizer from it."""
        return self.folder / "model"

    @property
    def package(self) -> Path:
        """The package that dayzero searches: every setting of the space is at its stock value in it."""
        return self.folder / "package"

    @property
    def stand_in(self) -> Path:
        """The program that searchers call ``vllm``."""
        return self.folder / "bin" / "vllm"

    def environment(self, starts: Path) -> Mapping[str, str]:
        """Give what a searcher runs with.

        Args:
            starts: File that takes a line for each start.
        """
        path = os.pathsep.join((str(self.stand_in.parent), os.environ.get("PATH", os.defpath)))
        return {"PATH": path, "DAYZERO_STARTS": str(starts), "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}

    def prepare(self, vllm: Path, tokenizer: Path) -> None:
        """Bring the engine and its weights, and write the stand-in, the prompts' model folder and the package of dayzero."""
        package = load_package(package_file(PACKAGE))
        site = laboratory.build_store().site(package.recipe.engine).resolve()
        weights = laboratory.weights(package.recipe.model, laboratory.weights_cache(package.recipe.model))
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, content in launch_files():
            (self.folder / name).write_bytes(content)
        if not self.model.exists():
            self.model.symlink_to(tokenizer.resolve(), target_is_directory=True)
        self.stand_in.parent.mkdir(exist_ok=True)
        defaults = (*zip(COMMON[::2], COMMON[1::2], strict=True), *((f"--{flag}", STOCK[flag]) for flag in STOCK))
        text = _STAND_IN.format(
            python=sys.executable,
            vllm=str(vllm.resolve()),
            site=str(site),
            launcher=str((self.folder / launch_files()[0][0]).resolve()),
            model=str(weights[0].resolve()),
            alias=str(self.model.resolve()),
            defaults=defaults,
        )
        self.stand_in.write_text(text, encoding="utf-8")
        self.stand_in.chmod(0o755)
        self.package.mkdir(exist_ok=True)
        (self.package / "package.toml").write_text(_package_toml(package_file(PACKAGE)), encoding="utf-8")
        (self.folder / "space.toml").write_text(space_toml(), encoding="utf-8")
        (self.folder / "cell.toml").write_text(cell_toml(package), encoding="utf-8")
        with self.served(STOCK, self.folder / "prepare.log") as url:
            _write_prompts(self.folder / "prompts.jsonl", url)

    @contextlib.contextmanager
    def served(self, point: Point, log: Path) -> Iterator[str]:
        """Serve one combination, and give its address; the process is gone when the context ends."""
        command = [str(self.stand_in), "serve", str(self.model), "--host", "127.0.0.1", "--port", str(PORT)]
        environment = {**os.environ, **self.environment(self.folder / "neutral-starts.jsonl")}
        with log.open("wb") as out:
            process = subprocess.Popen([*command, *flags_of(point)], stdout=out, stderr=out, env=environment)  # noqa: S603
        try:
            url = f"http://127.0.0.1:{PORT}"
            _wait(process, url)
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_BUDGET_S)
            process.kill()
            process.wait()

    def measure(self, point: Point, folder: Path, seed: int) -> Measured:
        """Start one combination, measure it with ``dayzero bench``, and stop it."""
        began = time.monotonic()
        folder.mkdir(parents=True)
        with self.served(point, folder / "engine.log") as url:
            load = ("--concurrency", STREAMS, "--warmup", WARMUP, "--requests", REQUESTS, "--seed", seed)
            size = ("--input-tokens", INPUT_TOKENS, "--output-tokens", OUTPUT_TOKENS)
            words = ("bench", "--url", url, *load, *size, "--output-format", "json", "-o", folder / "run")
            command = [sys.executable, "-m", "dayzero", *map(str, words)]
            run = subprocess.run(command, capture_output=True, text=True, timeout=MEASURE_BUDGET_S, check=False)  # noqa: S603
        if not run.stdout.startswith("{"):
            sys.exit(f"dayzero bench said nothing of {name_of(point)}: {run.stderr.strip()}")
        document = json.loads(run.stdout)
        return Measured(
            output_tok_s=float(document["metrics"]["output_tok_s"]),
            valid=bool(document["valid"]),
            reasons=tuple(map(str, document["invalid_because"])),
            seconds=time.monotonic() - began,
        )


def space_toml() -> str:
    """Write the space for ``dayzero optimize --space``."""
    return "\n".join(
        f'[[setting]]\nflag = "--{flag}"\nvalues = {json.dumps(values)}\naffects = "the space of this comparison"\n'
        f'source = "bench/optimize_engine.py"\n'
        for flag, values in SPACE.items()
    )


def cell_toml(package: Package) -> str:
    """Write the load for ``dayzero optimize --workload``."""
    sizes = {
        "concurrency": STREAMS,
        "warmup_requests": WARMUP,
        "requests": REQUESTS,
        "input_tokens": INPUT_TOKENS,
        "output_tokens": OUTPUT_TOKENS,
    }
    lines = "\n".join(f"{name} = {value}" for name, value in sizes.items())
    return f'seed = {package.workload.seed}\n\n[[cells]]\nname = "search"\n{lines}\n'


def _package_toml(file: Path) -> str:
    """Give the definition with a command line that says every setting of the space."""
    words = json.dumps([*COMMON, *flags_of(STOCK)])
    text, changed = re.subn(r"(?m)^flags = .*$", f"flags = {words}", file.read_text(encoding="utf-8"))
    if changed != 1:
        sys.exit(f"{file} has {changed} lines of flags, and one is replaced")
    return text


def _wait(process: subprocess.Popen[bytes], url: str) -> None:
    until = time.monotonic() + START_BUDGET_S
    while time.monotonic() < until:
        if process.poll() is not None:
            sys.exit(f"the engine ended with exit code {process.returncode} before it was healthy")
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/health", timeout=5) as answer:  # noqa: S310
            if answer.status == 200:  # noqa: PLR2004
                return
        time.sleep(0.05)
    sys.exit(f"the engine was not healthy within {START_BUDGET_S:.0f} s")


def _write_prompts(path: Path, url: str) -> None:
    """Write prompts of about as many tokens of the engine's own as the load has, none with the start of another."""
    text = " ".join(f"word{number * 7919 % 1000}" for number in range(REQUESTS * INPUT_TOKENS))
    letters = INPUT_TOKENS * 1000 // _tokens(url, text[:1000])
    starts = range(0, len(text) - letters, letters)
    prompts = [json.dumps({"prompt": f"{number} {text[at : at + letters]}"}) for number, at in enumerate(starts)]
    path.write_text("\n".join(prompts) + "\n", encoding="utf-8")


def _tokens(url: str, text: str) -> int:
    body = json.dumps({"content": text}).encode()
    request = urllib.request.Request(f"{url}/tokenize", body, {"Content-Type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return len(json.load(answer)["tokens"])


def port_is_free() -> bool:
    """Say whether nothing answers where every searcher serves."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", PORT)) != 0
