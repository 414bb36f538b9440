"""``dayzero bench --url URL --sweep knee`` as a user types it, against a server with few slots."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.simulators.openai_server import Behaviour, serving_in_thread

from dayzero.bench.plans.knee import Step
from dayzero.bench.plans.knee import step_of as measured_step
from dayzero.bench.report import Report
from dayzero.cli import bench_knee
from dayzero.cli.main import run
from dayzero.core.verdict import Undecided

pytestmark = pytest.mark.usefixtures("quiet_machine")

FEW = Behaviour(ttft_s=0.02, itl_s=0.002, slots=3)
SMALL = ("--requests", "12", "--warmup", "0", "--input-tokens", "40", "--output-tokens", "4")


@pytest.fixture(autouse=True)
def _rates_of_three_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each step have the rate that three slots would give, whatever else this machine does while it is measured."""

    def step_of(level: float, report: Report) -> Step | Undecided:
        found = measured_step(level, report)
        return replace(found, output_tok_s=100 * min(level, 3)) if isinstance(found, Step) else found

    monkeypatch.setattr(bench_knee, "step_of", step_of)


def search(server: Any, out: Path, *words: str) -> int:
    return run(["bench", "--url", server.url, "-o", str(out), "--sweep", "knee", *SMALL, *words])


def test_the_knee_is_at_the_slots_and_each_step_keeps_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "out"
    with serving_in_thread(FEW) as server:
        code = search(server, out, "--max-in-flight", "16", "--output-format", "json")
        models = server.connections
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert (code, found["knee"], found["other_side"]) == (0, 3.0, 2.0), found
    assert found["schema"] == "dayzero/bench-knee/v1"
    assert json.loads((out / "knee.json").read_text()) == found
    assert {step["level"] for step in found["steps"]} >= {1.0, 2.0, 3.0, 4.0}
    for number, step in enumerate(found["steps"]):
        folder = out / step["folder"]
        assert step["folder"].startswith(f"step-{number:02}-c{step['level']:g}")
        assert {"reads.bin", "requests.jsonl", "telemetry.jsonl", "run.json"} <= {f.name for f in folder.iterdir()}
    assert models
    assert f"step {len(found['steps'])}: " in printed.err
    prompts = [tuple(seen.body["prompt"][:8]) for seen in server.seen if seen.body["max_tokens"] == 4]
    assert len(set(prompts)) == len(prompts)


def test_a_search_that_runs_out_of_room_is_undecided_and_exits_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with serving_in_thread(FEW) as server:
        assert search(server, tmp_path / "out", "--max-in-flight", "2") == 3
    printed = capsys.readouterr().out
    assert "knee: undecided: the output rate still grows at 2, and more than 2 is not allowed" in printed
    assert "  in flight  output tok/s" in printed


def test_a_search_is_neither_resumed_nor_mixed_with_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with serving_in_thread(FEW) as server:
        assert search(server, tmp_path / "out", "--resume") == 2
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "knee.json").write_text("{}")
        assert search(server, tmp_path / "out") == 2
    assert "is not empty" in capsys.readouterr().err
    assert server.seen == []
