"""A stand-in for the process that measures, on a machine with a GPU: it answers over the same pipes what a test tells it to."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dayzero.adapters.nvml import Card
from dayzero.bench.telemetry.model import Gpu

_SCRIPT = """#!{python}
import json, os, signal, sys, time
told = json.load(open({told!r}))
for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "describe":
        if told.get("mute"):
            print(told["mute"], file=sys.stderr)
            sys.exit(7)
        print(json.dumps({{"do": "describe", "machine": told["machine"]}}), flush=True)
        continue
    columns = {{**request.get("columns", {{}}), "rank": os.environ.get("RANK", "0")}}
    with open({asked!r}, "a") as stream:
        stream.write(json.dumps(request) + "\\n")
    keys = [key for key in told["answers"] if key != "*"]
    name = next((key for key in keys if all(str(columns.get(w.split("=")[0])) == w.split("=")[1] for w in key.split(","))), "")
    answer = told["answers"].get(name, told["answers"].get("*"))
    if answer == "kill":
        print("about to be killed", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if answer == "exit":
        sys.exit(3)
    if answer == "hang":
        time.sleep(600)
    now = time.monotonic_ns()
    time.sleep(0.05)
    print(json.dumps({{"do": "case", "began_ns": now, "ended_ns": time.monotonic_ns(), **answer}}), flush=True)
    if answer.get("lost"):
        sys.exit(0)
"""

H200 = {"name": "NVIDIA H200", "sm": 90, "memory_bytes": 150_000_000_000, "uuid": "0a1b"}
MACHINE = {
    "python": "3.12.3",
    "machine": "x86_64",
    "processor": "a processor",
    "versions": {"torch": "2.11.0+cu130", "triton": "3.6.0", "vllm": "0.27.1"},
    "cuda": "13.0",
    "gpus": [H200],
}


def measured(mean_us: float = 5.0, **more: Any) -> dict[str, Any]:
    """Give the answer of a case that went well."""
    answer = {
        "state": "measured",
        "check": {"state": "agrees", "against": "conv1d of torch, float32", "error": 0.002, "limit": 0.03},
        "latency_us": {"mean": mean_us, "p50": mean_us, "min": mean_us, "p90": mean_us, "std": 0.0},
        "samples_us": [mean_us] * 3,
        "n_samples": 3,
        "n_warmup": 3,
        "inner_repeats": 10,
        "timing_method": "graph_event",
        "used_cuda_graph": True,
        "l2_state": "warm",
        "note": "",
        "trace": {"kernels": [["_causal_conv1d_fwd_kernel", 3]], "busy_us": mean_us, "tool": "torch.profiler 2.11.0"},
        "files": {"package": "vllm", "version": "0.27.1", "record_sha256": "ab" * 32, "checked": 12, "differ": []},
    }
    return answer | more


def simulator(folder: Path, answers: Mapping[str, Any], machine: Mapping[str, Any] = MACHINE, mute: str = "") -> str:
    """Write an interpreter that answers so.

    Args:
        folder: Where to.
        answers: Answer by conditions on columns or the rank (``m=1,rank=1``); ``*`` for the rest. A word is something that it
            does instead.
        machine: What it says that it is.
        mute: What it says on stderr before it ends without an answer.
    """
    folder.mkdir(parents=True, exist_ok=True)
    told, script = folder / "told.json", folder / "python"
    told.write_text(json.dumps({"machine": machine, "answers": answers, "mute": mute}), encoding="utf-8")
    text = _SCRIPT.format(python=sys.executable, told=str(told), asked=str(folder / "asked.jsonl"))
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
    return str(script)


def gpus_at(*facts: Mapping[str, Any]) -> type:
    """Give a stand-in for the driver that always sees these GPUs, each with what is named of it."""
    seen = {"sm_mhz": 1755, "memory_mhz": 3201, "power_w": 310.0, "temperature_c": 41, "throttle": 0}
    looks = tuple(
        Gpu(index=index, memory_used_bytes=1, busy=1.0, **{**seen, **fact}) for index, fact in enumerate(facts)
    )
    card = {"driver": "580.95", "vbios": "96.00", "ecc": "on", "mig": "off", "power_limit_w": 700.0, "sm_max_mhz": 1980}

    class Seen:
        """The driver."""

        def __exit__(self, *_: object) -> None:
            pass

        def cards(self) -> tuple[Card, ...]:
            """Name them as the driver does."""
            return tuple(Card(name="NVIDIA H200", uuid=f"GPU-{index}a1b", **card) for index in range(len(facts)))

        def look(self) -> tuple[Gpu, ...]:
            """See them."""
            return looks

    return Seen
