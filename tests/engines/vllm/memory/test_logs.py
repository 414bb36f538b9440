"""Every log of a run beside this checkout that says what vLLM allocated, beside what is predicted for it."""

import ast
import re
from functools import partial
from pathlib import Path

import pytest
from tests.engines.vllm.memory.models import dense, kimi_k3

from dayzero.core.hardware import parse_system
from dayzero.core.parallelism import Parallelism
from dayzero.engines.vllm.memory.budget import budget
from dayzero.fit.checkpoint import Checkpoint
from dayzero.fit.model import Budget, Component, FitPlan

LOGS = Path(__file__).parents[5] / "shared" / "cases" / "gpu-logs"
# What each log's model was cut down to; the logs do not say it themselves.
MODELS = {
    "qwen3-8b-shape": dense,
    "k3-5of93": partial(kimi_k3, 5),
    "k3-flashkda": partial(kimi_k3, 5),
    "k3-4of93": partial(kimi_k3, 4),
    "k3-oom-in-autotune": partial(kimi_k3, 4),
}
PRINTED = {
    Component.WEIGHTS: re.compile(r"Model loading took ([\d.]+) GiB"),
    Component.KV_CACHE: re.compile(r"Available KV cache memory: ([\d.]+) GiB"),
}
RUNS = [
    log for log in sorted(LOGS.glob("*.log")) if PRINTED[Component.KV_CACHE].search(log.read_text(errors="replace"))
]
pytestmark = pytest.mark.skipif(not RUNS, reason="no log is beside this checkout (../shared/cases/gpu-logs)")


def model_of(log: Path) -> Checkpoint:
    make = next((make for name, make in MODELS.items() if name in log.name), None)
    if make is None:
        pytest.skip(f"which model {log.name} is of was not written down here")
    return make()


def flags_of(text: str) -> tuple[str, ...]:
    """Write the arguments that the log shows as a command line again."""
    stated = re.search(r"non-default args: (\{.*\})", text)
    assert stated
    words = []
    for name, value in ast.literal_eval(stated[1]).items():
        if value is True:
            words.append(f"--{name}")
        elif name not in {"model", "model_tag"} and value is not None:
            shown = str(value).replace("'", '"').replace(" ", "")
            words.append(f"--{name}={shown}")
    return tuple(words)


@pytest.mark.parametrize("log", RUNS, ids=lambda log: log.stem)
def test_what_the_log_of_a_run_says_was_allocated_is_predicted(log: Path):
    text = log.read_text(errors="replace")
    version = re.search(r"version (\d+\.\d+\.\d+)", text) or re.search(r"vllm-(\d+\.\d+\.\d+)", log.name)
    assert version
    answer = budget(
        FitPlan(
            checkpoint=model_of(log),
            system=parse_system("1xh200"),
            parallelism=Parallelism(),
            version=version[1],
            flags=flags_of(text),
        )
    )
    assert isinstance(answer, Budget)
    for component, pattern in PRINTED.items():
        printed = pattern.search(text)
        assert printed
        predicted = answer.ranks[0].figure(component).size.count / 1024**3
        assert predicted == pytest.approx(float(printed[1]), rel=0.01), component
    tokens = re.search(r"GPU KV cache size: ([\d,]+) tokens", text)
    assert tokens
    assert answer.kv_tokens == pytest.approx(int(tokens[1].replace(",", "")), rel=0.01)
