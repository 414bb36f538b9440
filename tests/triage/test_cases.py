"""The shared corpus: logs of real failed starts, each with the right answer beside it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.triage.reading import read

from dayzero.triage.model import CauseNotInLog, Diagnosis, NamedWall, RootFound, Started

CASES = Path(__file__).parents[3] / "shared" / "cases"
ANSWERS = sorted((CASES / "triage").glob("*.json"))
NEEDED_CHAINS = 45
pytestmark = pytest.mark.skipif(not ANSWERS, reason="the corpus is not beside this checkout (../shared/cases/triage)")

# Of this project's own runs on a GPU and a CPU: the wall, and words that the root, the numbers or the resolution must hold.
RUNS = {
    "02-h200-vllm-0.27.1-k3-5of93-oom-kv-alloc": ("kv-capacity", ("51.14", "38.29")),
    "03-h200-vllm-0.27.1-k3-flashkda-undefined-symbol": (
        "native-abi",
        ("_flashkda_C.abi3.so", "_ZNR5torch7Library4_defE", "--kda-prefill-backend triton"),
    ),
    "04-h200-vllm-0.27.1-k3-no-image-processor": ("model-files-broken", ("image processor", "--trust-remote-code")),
    "05-h200-vllm-0.27.1-k3-oom-in-autotune": ("kv-capacity", ("256.00", "--gpu-memory-utilization")),
    "k3-cpu-0-image-processor": ("model-files-broken", ("image processor",)),
    "k3-cpu-1-mamba-block-size": ("engine-args", ("--no-enable-prefix-caching",)),
    "k3-cpu-2-no-module-cutlass": ("dependency-or-pin", ("cutlass",)),
    "k3-cpu-3-moe-situ-unsupported": ("kernel-constraint", ("silu",)),
    "llamacpp-b10434-unknown-arch-kimi-k3": ("model-unrecognized", ("kimi-k3",)),
}


def case(answer: Path) -> tuple[dict[str, Any], list[str], Diagnosis]:
    log = answer.with_suffix(".log").read_bytes()
    return json.loads(answer.read_text()), log.decode("utf-8", "replace").split("\n"), read(log)


def wall_of(diagnosis: Diagnosis) -> str:
    return (
        diagnosis.wall.wall
        if isinstance(diagnosis, RootFound | CauseNotInLog) and isinstance(diagnosis.wall, NamedWall)
        else ""
    )


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda path: path.stem)
def test_the_root_line_and_the_wall_are_right(answer: Path):
    expected, lines, diagnosis = case(answer)
    if expected["root_cause_line"] is None:
        assert isinstance(diagnosis, Started)
    elif expected.get("verdict") == "cause-not-in-log":
        assert isinstance(diagnosis, CauseNotInLog)
        assert diagnosis.collect
    else:
        assert isinstance(diagnosis, RootFound)
        accepted = {expected["root_cause_line"], *expected["root_cause_also"]}
        alternates = expected.get("root_cause_alternates", [])
        text = lines[diagnosis.root.line - 1]
        assert diagnosis.root.line in accepted or any(one in text for one in alternates), text
        assert wall_of(diagnosis) == expected["wall"]


def test_the_chain_is_right_in_nearly_all():
    right = 0
    for answer in ANSWERS:
        expected, _, diagnosis = case(answer)
        if isinstance(diagnosis, RootFound | CauseNotInLog):
            found = {link.line for link in diagnosis.chain} | set(getattr(diagnosis, "same_as", ()))
            right += all(link["line"] in found for link in expected["chain"] if link["role"] != "root")
    assert right >= NEEDED_CHAINS


@pytest.mark.parametrize("name", RUNS)
def test_this_projects_runs_name_their_wall_their_numbers_and_what_goes_round_it(name: str):
    diagnosis = read((CASES / "gpu-logs" / f"{name}.log").read_bytes())
    assert isinstance(diagnosis, RootFound)
    assert isinstance(diagnosis.wall, NamedWall)
    wall, words = RUNS[name]
    assert diagnosis.wall.wall == wall
    said = f"{[one.value for one in diagnosis.numbers]} {diagnosis.root.text} {diagnosis.wall.resolution.text}"
    assert [word for word in words if word not in said] == []


@pytest.mark.parametrize("pattern", ["01-*", "06-*"])
def test_a_start_that_served_is_started(pattern: str):
    (log,) = (CASES / "gpu-logs").glob(f"{pattern}.log")
    assert isinstance(read(log.read_bytes()), Started)
