"""Wordings of memory that older releases and other engines printed, read whatever carried the log."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dayzero.fit.memory_log import GIB, Quantity
from dayzero.wiring.memory_logs import memory_log

LOGS = {
    "vllm 0.3": (
        (
            "INFO 02-29 19:21:40 llm_engine.py:79] Initializing an LLM engine with config: model='m', tensor_parallel_size=1\n"
            "INFO 02-29 19:21:45 model_runner.py:90] Loading model weights took 244.61 MB\n"
        ),
        {"weights": 244.61 / 1024},
    ),
    "vllm 0.6.4": (
        (
            "INFO 12-02 10:00:09 model_runner.py:1077] Loading model weights took 14.9888 GB\n"
            "INFO 12-02 10:00:12 worker.py:232] Memory profiling results: total_gpu_memory=23.58GiB "
            "initial_memory_usage=15.34GiB peak_torch_memory=17.98GiB memory_usage_post_profile=15.35GiB "
            "non_torch_memory=0.35GiB kv_cache_size=2.89GiB gpu_memory_utilization=0.90\n"
        ),
        {"weights": 14.9888, "total": 23.58, "non_torch": 0.35, "kv_cache": 2.89},
    ),
    "vllm 0.6.5": (
        (
            "INFO 12-13 19:54:18 worker.py:243] total_gpu_memory     79.22GiB\n"
            "INFO 12-13 19:54:18 worker.py:243] model weights take   14.96GiB\n"
            "INFO 12-13 19:54:18 worker.py:243] non_torch_memory     1.79GiB\n"
            "INFO 12-13 19:54:18 worker.py:243] PyTorch activation peak memory       1.26GiB\n"
            "INFO 12-13 19:54:18 worker.py:243] available_kv_cache_memory    53.29GiB\n"
        ),
        {"total": 79.22, "weights": 14.96, "non_torch": 1.79, "activations": 1.26, "kv_cache": 53.29},
    ),
    "vllm 0.26": (
        (
            "(Worker_TP1 pid=2) INFO 08-14 09:28:01 [gpu_worker.py:857] Actual usage is 16.92 GiB for weight, 5.66 GiB for peak "
            "activation, 0.13 GiB for non-torch memory, and 1.34 GiB for CUDAGraph memory. Replace gpu_memory_utilization config "
            "with `--kv-cache-memory=46421742490` (43.23 GiB). Current kv cache memory in use is 43.4 GiB.\n"
        ),
        {"weights": 16.92, "activations": 5.66, "graphs": 1.34, "kv_cache": 43.4},
    ),
    "vllm-ascend": (
        (
            "(EngineCore pid=2) INFO 04-15 06:30:01 [worker.py:575] Actual usage: 1.14 GiB for weights, 0.22 GiB for peak "
            "activation, 0.13 GiB for non-torch memory, 0.04 GiB for NPU graph memory.\n"
        ),
        {"weights": 1.14, "activations": 0.22, "graphs": 0.04},
    ),
    "sglang 0.4": (
        (
            "[2025-02-10 08:00:00 TP0] Load weight begin. avail mem=78.83 GB\n"
            "[2025-02-10 08:01:00 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.72 GB\n"
        ),
        {"weights": 15.11, "free": 78.83},
    ),
    "tensorrt-llm": (
        "[07/24/2025-08:13:02] [TRT-LLM] [I] Rank 0 uses 8.46 GB for model weights.\n",
        {"weights": 8.46},
    ),
}


def _kubectl(lines: list[str]) -> str:
    return "".join(f"[pod/server-0/engine] {line}\n" for line in lines)


def _compose(lines: list[str]) -> str:
    return "".join(f"\x1b[36mserver-1  | \x1b[0m{line}\n" for line in lines)


def _json(lines: list[str]) -> str:
    stamped = ({"log": f"{line}\n", "stream": "stderr", "time": "2026-01-27T00:32:20.1Z"} for line in lines)
    return "".join(f"{json.dumps(line)}\n" for line in stamped)


@pytest.mark.parametrize("carry", ["\n".join, _kubectl, _compose, _json])
@pytest.mark.parametrize("name", LOGS)
def test_an_older_wording_is_read(name: str, carry: Callable[[list[str]], str], tmp_path: Path):
    text, figures = LOGS[name]
    path = tmp_path / "engine.log"
    path.write_text(carry(text.splitlines()), encoding="utf-8")
    log = memory_log(path)
    for quantity, value in figures.items():
        reading = log.largest(Quantity(quantity))
        assert reading is not None, quantity
        assert float(reading.value) / GIB == pytest.approx(value, abs=0.001)


def test_the_first_engine_says_that_it_is(tmp_path: Path):
    path = tmp_path / "engine.log"
    said = "INFO 04-02 10:20:30 llm_engine.py:241] Initializing a V0 LLM engine (v0.8.2) with config: model='m', seed=0"
    path.write_text(f"{said}\nINFO 04-02 10:20:45 model_runner.py:1116] Loading model weights took 30.7098 GB\n")
    stated = memory_log(path).stated
    assert (stated.version, stated.env) == ("0.8.2", (("VLLM_USE_V1", "0"),))
