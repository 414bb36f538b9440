"""Studies with the embedded engine: real starts, a planted crash, an illegal flag, a kill, a Ctrl-C, and a winner that packs."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.simulators import quiet_machine

from dayzero.adapters.package_files import load_package
from dayzero.bench.rows import read
from dayzero.cli.main import run
from dayzero.optimize.model import Point
from dayzero.wiring.optimize_package import write_winner
from dayzero.wiring.optimize_study import Question, begin, reopen

PROGRAM = quiet_machine.program()
LOAD = """
[[cells]]
name = "c2"
concurrency = 2
warmup_requests = 2
requests = 20
input_tokens = 48
output_tokens = 8
"""
# The launcher refuses the value "maybe" when it starts; no table of the build knows values, so no look does.
SPACE = """
[[setting]]
flag = "--flash-attn-type"
values = ["maybe"]

[[setting]]
flag = "--n-batch"
values = ["64"]

[[setting]]
flag = "--no-such-setting"
values = ["1"]

[[setting]]
flag = "--cache-type-k"
values = ["q8_0"]

[[setting]]
flag = "--n-ubatch"
values = ["128"]
"""

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("embedded_engine")]


def asked(folder: Path, *words: str) -> list[str]:
    (folder / "load.toml").write_text(LOAD)
    (folder / "space.toml").write_text(SPACE)
    fixed = ["--workload", str(folder / "load.toml"), "--space", str(folder / "space.toml"), "--stop-margin", "100"]
    return ["optimize", "demo-kimi-k3-tiny", *fixed, "-o", str(folder / "study"), *words]


def typed(*words: str) -> subprocess.Popen[str]:
    """Run the command in a process of its own, on a machine where the client is never late."""
    command = [sys.executable, "-c", PROGRAM, *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory, embedded_engine: object) -> tuple[Path, dict[str, Any], str, str]:
    """Search everything that may be tried of a small space; nothing is confirmed."""
    assert embedded_engine
    folder = tmp_path_factory.mktemp("optimize")
    code, out, err = ended(typed(*asked(folder, "--no-confirm", "--baseline-every", "2")))
    assert code in {0, 3}, out + err
    return folder / "study", json.loads((folder / "study" / "result.json").read_text()), out, err


@pytest.mark.alone
def test_a_flag_that_the_build_lacks_and_one_that_changes_the_model_are_never_started(study):
    _, result, out, _ = study
    taken_out = {one["setting"]: one for one in result["space"]["excluded"]}
    assert {name: one["by"] for name, one in taken_out.items()} == {"no-such-setting": "build", "cache-type-k": "model"}
    assert "has no setting no_such_setting" in taken_out["no-such-setting"]["why"]
    assert "xllamacpp" in taken_out["no-such-setting"]["why"]
    assert "the cache is quantised" in taken_out["cache-type-k"]["why"]
    assert "left out   no-such-setting 1 (build)" in out


@pytest.mark.alone
def test_a_combination_that_the_engine_would_ignore_is_never_started(study):
    _, result, _, _ = study
    ignored = [one for one in result["pruned"] if one["by"] == "relation"]
    assert [one["changed"] for one in ignored] == [{"n-batch": "64", "n-ubatch": "128"}]


@pytest.mark.alone
def test_a_planted_crash_is_triaged_and_never_started_again(study):
    root, result, out, _ = study
    fallen = [one for one in result["trials"] if one["outcome"] == "died-at-start"]
    assert [one["changed"] for one in fallen] == [{"flash-attn-type": "maybe"}]
    assert "exit code 2" in fallen[0]["reason"]
    (wall,) = result["walls"]
    assert (wall["never_again"], wall["by"], wall["wall"]) == ({"flash-attn-type": "maybe"}, "named", "engine-args")
    log, _, line = wall["log"].rpartition(":")
    assert "flash-attn-type" in Path(log).read_text().splitlines()[int(line) - 1]
    assert wall["kept_out"] == 3
    assert "wall       never again flash-attn-type maybe (engine-args, named by its log" in out
    assert not any("maybe" in file.read_text() for file in root.glob("trials/*/receipt.json"))


@pytest.mark.alone
def test_every_trial_keeps_what_its_figures_are_made_of(study):
    root, result, _, _ = study
    measured = [one for one in result["trials"] if one["outcome"] == "measured"]
    assert {one["role"] for one in measured} >= {"stock", "step", "baseline"}
    for one in measured:
        folder = root / one["folder"]
        rows = read((folder / "requests.jsonl").read_bytes()).rows
        assert sum(row.phase == "measured" for row in rows) == 20
        receipt = json.loads((folder / "receipt.json").read_text())
        assert receipt["schema"] == "dayzero/bench-receipt/v1"
        assert json.loads((folder / "start.json").read_text())["outcome"] == "healthy"
        assert load_package(folder / "package.toml").recipe.flags[:2] == ("--n-ctx", "8192")
        assert (folder / "logs" / "engine.log").is_file()
        assert one["figures"]["output_tok_s"] > 0
        assert len(one["blocks"]) == 10


@pytest.mark.alone
def test_all_trials_send_the_same_requests(study):
    root, result, _, _ = study
    firsts = {
        (root / one["folder"] / "reads.bin").read_bytes()[:400].count(b"c2")
        for one in result["trials"]
        if one["outcome"] == "measured"
    }
    assert len(firsts) == 1


@pytest.mark.alone
def test_progress_says_each_trial_on_stderr_and_results_stand_on_stdout(study):
    _, result, out, err = study
    lines = err.splitlines()
    assert lines[0] == "trial 0, stock: the package as it is"
    assert "trial 0 measured" in lines
    assert f"{result['verdict']}: " in out
    assert "device-seconds" in out


@pytest.mark.alone
def test_an_explanation_rests_on_trials_that_differ_in_one_flag(study, capsys: pytest.CaptureFixture[str]):
    root, result, _, _ = study
    assert run(["optimize", "--explain", str(root), "--output-format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "dayzero/optimize-explain/v1"
    assert {one["setting"] for one in found["contrasts"]} == {"n-batch", "n-ubatch"}
    numbers = {one["number"]: one["point"] for one in result["trials"]}
    for one in found["contrasts"]:
        for a, b in one["pairs"]:
            assert [name for name in numbers[a] if numbers[a][name] != numbers[b][name]] == [one["setting"]]
    assert run(["optimize", "--explain", str(root)]) == 0
    assert "pairs of trials that differ in one flag alone:" in capsys.readouterr().out


@pytest.mark.alone
def test_a_winner_is_a_package_that_kit_build_takes(study, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    root, _, _, _ = study
    opened = reopen(root, lambda question: question, lambda _: None)
    point: Point = tuple((name, "64" if name == "n-batch" else old) for name, old in opened.study.space.stock)
    winner = write_winner(opened, point)
    written = load_package(winner / "package.toml")
    assert written.name == winner.name == "demo-kimi-k3-tiny-c2"
    assert written.recipe.flags == (*opened.package.recipe.flags, "--n-batch", "64")
    assert written.claims == ()
    assert "n-batch 64" in written.changes[0].text
    assert run(["audit", str(winner)]) == 0
    assert run(["kit", "build", str(winner), "-o", str(tmp_path)]) == 0
    assert (tmp_path / "demo-kimi-k3-tiny-c2-1.0.0.kit.zip").is_file()
    capsys.readouterr()


def test_a_study_goes_on_after_a_kill_and_repeats_nothing_but_the_trial_in_flight(tmp_path: Path):
    first = typed(*asked(tmp_path, "--no-confirm", "--baseline-every", "0"))
    journal = tmp_path / "study" / "journal" / "main.jsonl"
    wait_for(lambda: journal.exists() and journal.read_text().count('"started"') >= 2, first)
    os.kill(first.pid, signal.SIGKILL)
    ended(first)
    before = [json.loads(line) for line in journal.read_text().splitlines()]
    done = [fact["number"] for fact in before if fact["type"] == "ended"]
    code, out, err = ended(typed("optimize", "--resume", "-o", str(tmp_path / "study"), "--no-confirm"))
    assert code in {0, 3}, out + err
    result = json.loads((tmp_path / "study" / "result.json").read_text())
    outcomes = {one["number"]: one["outcome"] for one in result["trials"]}
    assert [number for number, outcome in outcomes.items() if outcome == "interrupted"] == [1]
    assert done == [0]
    points = [tuple(one["point"].items()) for one in result["trials"] if one["outcome"] != "interrupted"]
    assert len(points) == len(set(points))


def test_ctrl_c_stops_the_engine_marks_the_trial_and_exits_as_interrupted(tmp_path: Path):
    process = typed(*asked(tmp_path, "--no-confirm"))
    journal = tmp_path / "study" / "journal" / "main.jsonl"
    wait_for(lambda: journal.exists() and '"started"' in journal.read_text(), process)
    started = next(fact for fact in facts(journal) if fact["type"] == "started")
    process.send_signal(signal.SIGINT)
    code, _, err = ended(process)
    assert code == 130, err
    assert not Path(f"/proc/{started['pid']}").exists()
    assert facts(journal)[-1]["outcome"]["kind"] == "interrupted"


def test_a_package_that_does_not_serve_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = asked(tmp_path, "--no-confirm")
    package = tmp_path / "packages" / "broken"
    package.mkdir(parents=True)
    text = Path("packages/demo-kimi-k3-tiny/package.toml").read_text()
    (package / "package.toml").write_text(text.replace('"--kv-unified", "true"', '"--kv-unified", "perhaps"'))
    words[1] = str(package)
    assert run(words) == 1
    said = capsys.readouterr().out
    assert "DOES-NOT-SERVE: the package as it is died after" in said
    assert "--kv-unified" in said


@pytest.mark.alone
def test_a_winner_is_confirmed_with_flags_that_both_arms_get(tmp_path: Path):
    """A batch of four tokens reads a prompt in very small pieces: a larger one is far better, on any machine."""
    short = LOAD.replace("concurrency = 2", "concurrency = 1").replace("requests = 20", "requests = 12")
    (tmp_path / "load.toml").write_text(short.replace("output_tokens = 8", "output_tokens = 2"))
    (tmp_path / "space.toml").write_text('[[setting]]\nflag = "--n-batch"\nvalues = ["64"]\n')
    package = tmp_path / "packages" / "slow"
    package.mkdir(parents=True)
    text = Path("packages/demo-kimi-k3-tiny/package.toml").read_text()
    (package / "package.toml").write_text(
        text.replace('"--kv-unified", "true"', '"--kv-unified", "true", "--n-batch", "4"')
    )
    words = ["optimize", str(package), "--workload", str(tmp_path / "load.toml"), "-o", str(tmp_path / "study")]
    words += ["--space", str(tmp_path / "space.toml"), "--confirm-pairs", "4", "--confirm-with", "--cpuparams.poll 60"]
    code, out, err = ended(typed(*words, "--output-format", "json"))
    result = json.loads(out)
    confirmation = result["confirmation"]
    assert confirmation["with"] == ["--cpuparams.poll", "60"]
    for arm, batch in (("A", "4"), ("B", "64")):
        flags = load_package(tmp_path / "study" / "confirm" / f"0001-arm-{arm}" / "package.toml").recipe.flags
        assert flags[-4:] == ("--n-batch", batch, "--cpuparams.poll", "60")
    assert result["gate"]["asked"] is False
    if confirmation["verdict"] == "INSTRUMENT-BAD":  # the machine did not hold still for A against itself
        assert (code, result["verdict"], result["winner"]) == (3, "UNDECIDED", None)
        return
    assert (code, result["verdict"]) == (0, "BETTER"), err
    assert confirmation["difference"]["low"] > confirmation["margin"]
    winner = load_package(tmp_path / "study" / result["winner"] / "package.toml")
    assert winner.recipe.flags[-2:] == ("--n-batch", "64")
    receipt = json.loads((tmp_path / "study" / "package" / "receipt.json").read_text())
    names = {one["path"] for one in receipt["files"]}
    assert {"study.json", "result.json", "trials/0001/requests.jsonl", "confirm/0001/window.json"} <= names
    assert "package/receipt.json" not in names
    assert receipt["confirmation"]["with"] == ["--cpuparams.poll", "60"]


def test_a_study_that_is_begun_is_read_back_as_it_was(tmp_path: Path):
    asked(tmp_path)
    question = Question(
        package="demo-kimi-k3-tiny",
        workload=str(tmp_path / "load.toml"),
        space=str(tmp_path / "space.toml"),
        slo="ttft_ms.p50=900",
    )
    begun = begin(question, tmp_path / "study", lambda _: None)
    again = reopen(tmp_path / "study", lambda asked: asked, lambda _: None)
    assert (again.study, again.cell, again.goal) == (begun.study, begun.cell, begun.goal)


def facts(journal: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in journal.read_text().splitlines()]


def wait_for(condition: Any, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
