"""``dayzero bench --url URL --sweep knee`` as a user types it, against a server with few slots."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.simulators.openai_server import Behaviour, serving_in_thread

from dayzero.cli.main import run

# Slow enough that a busy machine still sends and reads in time.
FEW = Behaviour(ttft_s=0.25, itl_s=0.01, slots=3)
SMALL = ("--requests", "12", "--warmup", "0", "--input-tokens", "40", "--output-tokens", "4")


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
    with serving_in_thread(Behaviour(ttft_s=0.25, itl_s=0.01)) as server:
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
