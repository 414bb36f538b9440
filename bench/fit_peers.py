"""Predict memory with dayzero and three other tools on the same models, and hold each against the engine's own log.

    python -m bench.fit_peers CASE... --peers FOLDER --out FOLDER

A CASE is ``NAME=CONFIG.json,LOG``. Peers live in environments of their own (bench/fit_peers.sh). None is let onto a network:
hf-mem is answered from a folder with a config.json and a safetensors header of the tensors that dayzero works out from the config;
accelerate is told that the folder is a repository of the hub; aiconfigurator reads the folder. What each one prints is kept
as a file under --out, one a tool and case; a tool that cannot answer says so in its row.
"""

import argparse
import ast
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from dayzero.core.verdict import Refuted
from dayzero.fit.architectures import checkpoint_of
from dayzero.fit.checkpoint import Checkpoint
from dayzero.fit.compare import kv_tokens
from dayzero.fit.memory_log import GIB, MemoryLog, Quantity
from dayzero.fit.model import Component
from dayzero.wiring.fit import Question, answer
from dayzero.wiring.memory_logs import memory_log

_HF_MEM = """
import json, pathlib, sys, httpx2
folder = pathlib.Path(sys.argv[1]); real = httpx2.AsyncClient
def reply(request):
    path = request.url.path
    if "/tree/" in path:
        files = [{"type": "file", "path": p.name, "size": p.stat().st_size} for p in sorted(folder.iterdir())]
        return httpx2.Response(200, json=files)
    content = (folder / path.rsplit("/", 1)[1]).read_bytes()
    span = request.headers.get("range")
    if span:
        first, _, last = span.removeprefix("bytes=").partition("-")
        content = content[int(first) : int(last) + 1]
    return httpx2.Response(206 if span else 200, content=content)
httpx2.AsyncClient = lambda **kwargs: real(transport=httpx2.MockTransport(reply))
from hf_mem.cli import main
sys.argv = ["hf-mem", "--model-id", "local/model", "--experimental", "--max-model-len", sys.argv[2], "--json-output"]
main()
"""
_ACCELERATE = """
import sys, types
from accelerate.commands import estimate
estimate.model_info = lambda repo, token=None: types.SimpleNamespace(config={}, library_name="transformers")
args = estimate.estimate_command_parser().parse_args([sys.argv[1], "--library_name", "transformers", "--dtypes", "float16"])
print(estimate.gather_data(args))
"""
_AICONFIGURATOR = """
import json, sys
from aiconfigurator_core.sdk.memory import estimate_kv_cache
print(json.dumps(estimate_kv_cache(
    sys.argv[1], sys.argv[2], "vllm", "current", max_num_tokens=8192, max_batch_size=int(sys.argv[4]),
    memory_fraction_kind="of_total", memory_fraction_value=float(sys.argv[3]),
    allow_naive_fallback=True, gpu_memory_capacity_bytes_override=int(sys.argv[5])), default=str))
"""
_DRIVERS = {"hf-mem": _HF_MEM, "accelerate": _ACCELERATE, "aiconfigurator": _AICONFIGURATOR}


@dataclass(frozen=True, slots=True)
class Case:
    """One model, and the log of a start of it on one H200."""

    name: str
    config: Path
    log_file: Path
    log: MemoryLog

    def flag(self, name: str, default: str) -> str:
        """Give the value of a flag that the log names."""
        found = (word.partition("=")[2] for word in self.log.stated.flags if word.startswith(f"{name}="))
        return next(found, default)


@dataclass(frozen=True, slots=True)
class Row:
    """What one tool says: weights in GiB, tokens of the cache, and why it says nothing."""

    tool: str
    weights: float | None = None
    tokens: float | None = None
    why: str = ""


def main() -> None:
    """Run every tool on every case, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    lines = ["| model | tool | weights, GiB | error | KV tokens | error | note |", "|---|---|---|---|---|---|---|"]
    for text in asked.cases:
        name, _, files = text.partition("=")
        config, _, log = files.partition(",")
        case = Case(name, Path(config), Path(log), memory_log(Path(log)))
        folder = model_folder(case, asked.out / f"{name}-model")
        rows = [own(case), *(peer(tool, case, folder, asked) for tool in _DRIVERS)]
        lines += table(case, rows)
    text = "\n".join(lines)
    (asked.out / "table.md").write_text(f"{text}\n", encoding="utf-8")
    print(text)


def model_folder(case: Case, folder: Path) -> Path:
    """Write a folder with the config and a safetensors file that ends with its header."""
    folder.mkdir(parents=True, exist_ok=True)
    config = json.loads(case.config.read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    checkpoint = checkpoint_of(config)
    if not isinstance(checkpoint, Checkpoint):
        sys.exit(f"{case.config}: {checkpoint.reason}")
    header: dict[str, object] = {}
    at = 0
    for tensor in checkpoint.tensors:
        each = tensor.stored.count // tensor.count
        for number in range(tensor.count):
            name = tensor.name.replace("*", str(number), 1)
            header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [at, at + each]}
            at += each
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    return folder


def own(case: Case) -> Row:
    """Ask dayzero, without letting it see what the log measured."""
    report = answer(Question(target=str(case.config), log=case.log_file)).predicted
    if report is None or not report.ranks:
        return Row("dayzero fit", why=report.verdict.reason if report else "no model")
    weights = max(rank.figure(Component.WEIGHTS).size.count for rank in report.ranks) / GIB
    refuted = isinstance(report.verdict, Refuted)
    return Row("dayzero fit", weights, report.kv_tokens, "predicts that it does not start" if refuted else "")


def peer(tool: str, case: Case, folder: Path, asked: argparse.Namespace) -> Row:
    """Run one peer in its environment, and keep what it prints."""
    arguments = {
        "hf-mem": (str(folder), case.flag("--max-model-len", "40960")),
        "accelerate": (str(folder),),
        "aiconfigurator": (
            str(folder),
            "h200_sxm",
            case.flag("--gpu-memory-utilization", "0.9"),
            case.flag("--max-num-seqs", "256"),
            str(int(total.value) if (total := case.log.smallest(Quantity.TOTAL)) else 0),
        ),
    }[tool]
    command = [str(asked.peers / tool / "bin" / "python"), "-c", _DRIVERS[tool], *arguments]
    environment = {"HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    run = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False, env=environment)  # noqa: S603
    raw = asked.out / f"{case.name}-{tool}.txt"
    raw.write_text(f"{run.stdout}\n--- stderr, exit code {run.returncode} ---\n{run.stderr}", encoding="utf-8")
    errors = [
        line.strip() for line in run.stderr.splitlines() if re.match(r"\w*(?:Error|Exception)\b|\S+: error:", line)
    ]
    last = errors[-1] if errors else "it printed nothing"
    if run.returncode:
        return Row(tool, why=f"cannot answer: {last[:110]}")
    try:
        return _READERS[tool](run.stdout)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        return Row(tool, why=f"its answer is not understood: {error}")


def _hf_mem(text: str) -> Row:
    found = json.loads(text.strip().splitlines()[-1])
    cache = found.get("kv_cache")
    note = f"KV of one request {cache / GIB:.2f} GiB" if isinstance(cache, int | float) else ""
    return Row("hf-mem", found["memory"] / GIB, None, f"no budget, so no tokens; {note}".rstrip("; "))


def _accelerate(text: str) -> Row:
    row = ast.literal_eval(text.strip().splitlines()[-1])[0]
    return Row("accelerate estimate-memory", float(row[2]) / GIB, None, "weights only, without the head")


def _aiconfigurator(text: str) -> Row:
    found = json.loads(text.strip().splitlines()[-1])
    weights = (found["memory_breakdown"] or {}).get("weights_bytes")
    return Row(
        "aiconfigurator",
        None if weights is None else weights / GIB,
        found["total_kv_size_tokens"],
        "" if found["source"] == "native" else f"by its {found['source'].replace('_', ' ')}",
    )


_READERS = {"hf-mem": _hf_mem, "accelerate": _accelerate, "aiconfigurator": _aiconfigurator}


def table(case: Case, rows: list[Row]) -> list[str]:
    """Write the rows of one case, the engine's own first."""
    weights, tokens = case.log.largest(Quantity.WEIGHTS), kv_tokens(case.log)
    actual = (float(weights.value) / GIB if weights else None, float(tokens.value) if tokens else None)
    lines = [f"| {case.name} | the engine's log | {_cell(actual[0])} | | {_cell(actual[1], digits=0)} | | |"]
    for row in rows:
        figures = (
            _cell(row.weights),
            _error(row.weights, actual[0]),
            _cell(row.tokens, digits=0),
            _error(row.tokens, actual[1]),
        )
        lines.append(f"| | {row.tool} | {' | '.join(figures)} | {row.why} |")
    return lines


def _cell(value: float | None, *, digits: int = 2) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _error(value: float | None, actual: float | None) -> str:
    return "-" if value is None or not actual else f"{(value - actual) / actual:+.1%}"


if __name__ == "__main__":
    main()
