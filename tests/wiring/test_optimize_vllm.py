"""Studies of a package on vLLM; a program with planned effects stands in for the engine: starts, load and ends are real."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.simulators import quiet_machine
from tests.simulators.vllm_program import DRIFT, put_program

from dayzero.cli.main import run

PACKAGE = Path(__file__).parents[2] / "packages" / "qwen3-8b-shape-1xh200"
LOAD = """
[[cells]]
name = "c4"
concurrency = 4
warmup_requests = 4
requests = 40
input_tokens = 40
output_tokens = 4
"""

pytestmark = pytest.mark.usefixtures("quiet_machine")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with a package that starts the program, and a load."""
    monkeypatch.setenv("PATH", f"{put_program(tmp_path / 'bin')}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("DAYZERO_CACHE", str(tmp_path / "cache"))
    text = (PACKAGE / "package.toml").read_text()
    text = re.sub(r"\[\[engine\.wheels\]\].*?\n\n", "", text, flags=re.DOTALL)
    text = text.replace("start_budget_s = 600", "start_budget_s = 3").replace(
        "stop_budget_s = 120", "stop_budget_s = 5"
    )
    text = text.replace('    "--shutdown-timeout", "60",\n', "")
    text = text.replace("[serving.env]", '[serving.env]\nVLLM_ENGINE_READY_TIMEOUT_S = "2"')
    (tmp_path / "q").mkdir()
    (tmp_path / "q" / "package.toml").write_text(text)
    (tmp_path / "q" / "config.json").write_bytes((PACKAGE / "config.json").read_bytes())
    (tmp_path / "load.toml").write_text(LOAD)
    return tmp_path


def study(place: Path, space: str, *words: str) -> tuple[int, dict[str, Any]]:
    (place / "space.toml").write_text(space)
    fixed = ["--workload", str(place / "load.toml"), "--space", str(place / "space.toml"), "--offline"]
    code = run(["optimize", str(place / "q"), *fixed, "-o", str(place / "study"), *words])
    return code, json.loads((place / "study" / "result.json").read_text())


def setting(flag: str, *values: str) -> str:
    return f'[[setting]]\nflag = "{flag}"\nvalues = {json.dumps(values)}\n'


def outcomes(result: dict[str, Any]) -> dict[str, str]:
    return {",".join(f"{n}={v}" for n, v in one["changed"].items()): one["outcome"] for one in result["trials"]}


def test_every_way_to_fail_is_an_outcome_and_is_learned_from(place: Path, capsys: pytest.CaptureFixture[str]):
    space = setting("--attention-backend", "FLASHINFER") + setting("--block-size", "64")
    space += setting("--api-server-count", "2") + setting("--max-num-seqs", "4")
    code, result = study(place, space, "--no-confirm", "--stop-margin", "100")
    said = capsys.readouterr().out
    assert outcomes(result) == {
        "": "measured",
        "attention-backend=FLASHINFER": "died-at-start",
        "block-size=64": "died-under-load",
        "api-server-count=2": "never-healthy",
        "max-num-seqs=4": "measured",
    }
    walls = {next(iter(one["never_again"])): one for one in result["walls"]}
    assert walls.keys() == {"attention-backend", "block-size", "api-server-count"}
    assert "exit code 3" in walls["block-size"]["reason"]
    assert "3 s, its start budget" in walls["api-server-count"]["reason"]
    assert sum(one["kept_out"] for one in walls.values()) >= 8
    assert (code, result["verdict"]) == (3, "UNCONFIRMED")
    assert result["best"]["changed"] == {"max-num-seqs": "4"}
    assert result["best"]["over_stock"] > 1
    assert result["devices"] == 1
    assert "no flag was audited" in said


def test_what_does_not_fit_is_told_with_its_bytes_and_never_started(place: Path):
    space = setting("--gpu-memory-utilization", "0.05", "0.9") + setting("--kv-cache-dtype", "fp8")
    _, result = study(place, space, "--no-confirm")
    assert [(one["setting"], one["by"]) for one in result["space"]["excluded"]] == [("kv-cache-dtype", "model")]
    (out,) = result["pruned"]
    assert (out["changed"], out["by"]) == ({"gpu-memory-utilization": "0.05"}, "fit")
    assert "GiB" in out["why"]
    assert result["saved"]["pruned_points"] == 1
    assert result["saved"]["device_seconds"] > 0


def test_a_hopeless_trial_ends_early_and_its_rows_are_kept(place: Path):
    text = (place / "q" / "package.toml").read_text()
    (place / "q" / "package.toml").write_text(
        text.replace('"--load-format", "dummy"', '"--load-format", "dummy", "--max-num-seqs", "4"')
    )
    _, result = study(place, setting("--max-num-seqs", "1"), "--no-confirm")
    (slow,) = [one for one in result["trials"] if one["outcome"] == "stopped"]
    assert slow["changed"] == {"max-num-seqs": "1"}
    assert "against the best one, and -5.0% ends it" in slow["reason"]
    rows = (place / "study" / slow["folder"] / "requests.jsonl").read_text().splitlines()
    assert 8 <= len(rows) < 44
    assert slow["receipt"] is False
    assert result["saved"]["stopped_trials"] == 1
    assert result["verdict"] == "NO-BETTER-FOUND"


def test_an_engine_that_gets_slower_with_each_start_is_caught_by_baselines(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv(DRIFT, str(place / "starts"))
    _, result = study(
        place, setting("--max-num-seqs", "4"), "--no-confirm", "--baseline-every", "1", "--stop-margin", "100"
    )
    assert [one["drifted"] for one in result["baselines"]] == [False, True]
    assert result["baselines"][1]["against_first"]["high"] < -0.3
    assert "moved: trials since the last good baseline are put on its scale" in capsys.readouterr().out
    assert [one["scale"][0] < 1 for one in result["trials"]] == [False, True, True]


def test_the_winner_is_confirmed_with_both_arms_up_at_once(place: Path):
    words = ("--confirm-pairs", "4", "--confirm-with", "--gpu-memory-utilization 0.42", "--seed", "3")
    code, result = study(place, setting("--max-num-seqs", "4"), *words)
    assert (code, result["verdict"]) == (0, "BETTER"), result["because"]
    assert result["confirmation"]["difference"]["low"] > 0.5
    for arm in "AB":
        text = (place / "study" / "confirm" / f"0001-arm-{arm}" / "package.toml").read_text()
        assert '"--gpu-memory-utilization", "0.42"' in text
        assert '"0.85"' not in text
    winner = (place / "study" / result["winner"] / "package.toml").read_text()
    assert '"--max-num-seqs", "4"' in winner
    assert '"0.85"' in winner
    assert (place / "study" / result["winner"] / "config.json").is_file()
    assert result["gate"] == {
        "asked": False,
        "verdict": None,
        "because": ["The distribution gate was not asked: give --gate."],
    }
    # A study that is over says the same again, and starts nothing.
    before = sorted(str(file) for file in (place / "study").rglob("engine*.log"))
    assert run(["optimize", "--resume", "-o", str(place / "study"), "--confirm-pairs", "4"]) == 0
    assert sorted(str(file) for file in (place / "study").rglob("engine*.log")) == before


def test_a_limit_that_nothing_keeps_leaves_no_winner(place: Path, capsys: pytest.CaptureFixture[str]):
    code, result = study(place, setting("--max-num-seqs", "4"), "--slo", "ttft_ms.p50=0.5")
    assert (code, result["verdict"]) == (0, "NO-BETTER-FOUND")
    assert "no combination keeps the limits" in result["because"][0]
    assert result["best"] is None
    assert "!  a limit is broken" in capsys.readouterr().out


def test_a_front_of_two_objectives_is_shown(place: Path, capsys: pytest.CaptureFixture[str]):
    _, result = study(
        place,
        setting("--max-num-seqs", "4"),
        "--objective",
        "tok_s_gpu,e2e_ms.p50",
        "--no-confirm",
        "--output-format",
        "json",
    )
    assert json.loads(capsys.readouterr().out) == result
    assert [one["measure"] for one in result["objective"]] == ["tok_s_gpu", "e2e_ms.p50"]
    assert result["front"] == [1]
    assert all(len(one["values"]) == 2 for one in result["trials"])


def test_an_engine_that_outlived_its_killed_worker_is_ended_when_the_study_goes_on(place: Path):
    (place / "space.toml").write_text(setting("--max-num-seqs", "4"))
    words = ["optimize", str(place / "q"), "--workload", str(place / "load.toml"), "--space", str(place / "space.toml")]
    words += ["--offline", "--no-confirm", "-o", str(place / "study")]
    worker = subprocess.Popen([sys.executable, "-c", quiet_machine.program(), *words], stderr=subprocess.DEVNULL)
    journal = place / "study" / "journal" / "main.jsonl"
    deadline = time.monotonic() + 60
    while not journal.exists() or '"started"' not in journal.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    started = json.loads(journal.read_text().splitlines()[1])
    assert Path(f"/proc/{started['pid']}").exists()
    assert run(["optimize", "--resume", "-o", str(place / "study"), "--no-confirm", "--trials", "2"]) == 3
    assert not Path(f"/proc/{started['pid']}").exists()
    result = json.loads((place / "study" / "result.json").read_text())
    assert [one["outcome"] for one in result["trials"]] == ["interrupted", "measured", "measured"]
    assert result["trials"][0]["reason"] == "its worker ended without a word"


def test_a_study_that_may_change_the_model_is_not_confirmed_without_the_gate(
    place: Path, capsys: pytest.CaptureFixture[str]
):
    space = setting("--kv-cache-dtype", "fp8")
    code, result = study(place, space, "--lossy", "--gate", "--no-confirm")
    assert result["space"]["excluded"] == []
    assert code in {0, 3}
    assert run(["optimize", "--resume", "-o", str(place / "study")]) == 2
    assert "tries what may change the model" in capsys.readouterr().err
