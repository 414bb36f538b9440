"""``dayzero window`` as a user types it, over loopback servers whose latency is planned."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.simulators import quiet_machine
from tests.simulators.openai_server import Behaviour, serving_in_thread

from dayzero.bench.rows import read
from dayzero.cli.main import run

PROGRAM = quiet_machine.program()
# So far apart that a busy machine does not hide it. The certificate's level is set where chance does not refuse it, the
# comparison's where chance finds nothing between equal servers. What is found of smaller differences: tests/bench/windows.
SLOW, SLOWER = Behaviour(ttft_s=0.02, itl_s=0.002), Behaviour(ttft_s=0.1, itl_s=0.002)
SMALL = (
    "--pairs",
    "4",
    "--certificate-pairs",
    "4",
    "--requests",
    "20",
    "--concurrency",
    "2",
    "--certificate-alpha",
    "1e-6",
)
SHORT = ("--input-tokens", "40", "--output-tokens", "4", "--seed", "3")


def window(*words: str) -> subprocess.CompletedProcess[str]:
    """Run it in a process of its own: the servers' thread would be in the client's way."""
    command = [sys.executable, "-c", PROGRAM, "window", *words, *SMALL, *SHORT]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str], list[Any]]:
    """Compare a server with one that is four times as slow."""
    out = tmp_path_factory.mktemp("window")
    with serving_in_thread(SLOW) as a, serving_in_thread(SLOWER) as b:
        done = window(a.url, b.url, "-o", str(out))
        return out, done, [seen.body["prompt"] for server in (a, b) for seen in server.seen]


def test_a_server_that_is_much_slower_is_found_worse_in_four_pairs(slower):
    out, done, _ = slower
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((out / "window.json").read_text())
    assert result["verdict"] == "WORSE"
    assert result["certificate"]["difference"]["low"] < 0 < result["certificate"]["difference"]["high"]
    assert [pair["order"] for pair in result["comparison"]["pairs"]] in (["AB", "BA"] * 2, ["BA", "AB"] * 2)
    assert result["comparison"]["difference"]["high"] < 0


def test_the_text_tells_certificate_resolution_pairs_and_verdict_in_that_order(slower):
    _, done, _ = slower
    begins = [
        "A  ",
        "certificate  A against itself, 4 pairs",
        "before  ",
        "output_tok_s, 4 pairs",
        "     1  ",
        "difference   B/A -",
    ]
    begins += ["after  ", "slot  ", "other measures", "WORSE: B has ", "kept: "]
    lines = done.stdout.splitlines()
    places = [next(number for number, line in enumerate(lines) if line.startswith(begin)) for begin in begins]
    assert places == sorted(places)
    assert "less output_tok_s than A" in done.stdout
    assert done.stderr.splitlines()[0] == "window 1 of 18: rehearsal-01-1-B"


def test_the_plan_stands_before_the_first_request_and_every_window_keeps_its_raw_reads(slower):
    out, _, _ = slower
    plan = json.loads((out / "plan.json").read_text())
    assert plan["schema"] == "dayzero/window-plan/v1"
    assert (plan["primary"], plan["margin"]) == ("output_tok_s", 0.02)
    windows = [out / "windows" / one["name"] for one in plan["windows"]]
    assert len(windows) == 18
    assert (out / "plan.json").stat().st_mtime_ns < min((one / "reads.bin").stat().st_ctime_ns for one in windows)
    for one in windows[2:]:
        rows = read((one / "requests.jsonl").read_bytes()).rows
        assert sum(row.phase == "measured" for row in rows) == 20


def test_the_receipt_names_the_arms_and_the_digest_of_every_file(slower):
    out, _, _ = slower
    receipt = json.loads((out / "receipt.json").read_text())
    assert receipt["schema"] == "dayzero/window-receipt/v1"
    assert receipt["arms"]["B"]["model"] == "sim"
    paths = {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()} - {"receipt.json"}
    assert {file["path"] for file in receipt["files"]} == paths
    for file in receipt["files"]:
        assert hashlib.sha256((out / file["path"]).read_bytes()).hexdigest() == file["sha256"]


def test_no_two_windows_send_the_same_prompt(slower):
    *_, prompts = slower
    measured = [tuple(prompt) for prompt in prompts if len(prompt) == 40]
    assert len(measured) > 16 * 20
    assert len(set(measured)) == len(measured)


def test_equal_servers_are_not_told_apart(tmp_path: Path):
    with serving_in_thread(SLOW) as a, serving_in_thread(SLOW) as b:
        done = window(a.url, b.url, "-o", str(tmp_path), "--alpha", "1e-6", "--output-format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert result == json.loads((tmp_path / "window.json").read_text())
    assert result["verdict"] in {"INCONCLUSIVE", "EQUIVALENT"}
    assert result["comparison"]["difference"]["low"] < 0 < result["comparison"]["difference"]["high"]


def test_an_arm_that_does_not_answer_is_a_result_without_a_ratio(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with serving_in_thread(SLOW) as a:
        code = run(["window", a.url, "http://127.0.0.1:1", "-o", str(tmp_path), *SMALL])
        assert a.seen == []
    printed = capsys.readouterr()
    assert code == 3
    assert "DOES-NOT-SERVE: measured: arm B does not serve: http://127.0.0.1:1 cannot be reached" in printed.out
    assert "no ratio is given against it" in printed.out
    result = json.loads((tmp_path / "window.json").read_text())
    assert result["does_not_serve"]["arm"] == "B"
    assert "comparison" not in result
    assert json.loads((tmp_path / "receipt.json").read_text())["verdict"] == "DOES-NOT-SERVE"


def test_an_arm_that_refuses_every_request_does_not_serve(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with serving_in_thread(SLOW) as a, serving_in_thread(Behaviour(status=500)) as b:
        assert run(["window", a.url, b.url, "-o", str(tmp_path), *SMALL]) == 3
    assert "arm B does not serve" in capsys.readouterr().out


def test_a_window_that_is_not_valid_makes_the_instrument_bad_and_gets_no_receipt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    with serving_in_thread(Behaviour(cached_tokens=30)) as a, serving_in_thread(SLOW) as b:
        assert run(["window", a.url, b.url, "-o", str(tmp_path), *SMALL, *SHORT]) == 3
    assert "INSTRUMENT-BAD: certificate-01-1-" in capsys.readouterr().out
    assert not (tmp_path / "receipt.json").exists()
    assert (tmp_path / "windows").is_dir()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["http://127.0.0.1:1", "no-such-package"], "no package called 'no-such-package'"),
        (["http://127.0.0.1:1", "http://"], "not an address"),
        (["http://127.0.0.1:1", "demo-smollm2", "--model-b", "x"], "'demo-smollm2' is a package"),
        (["http://127.0.0.1:1", "demo-smollm2", "--one-at-a-time"], "arm A runs already"),
        (["http://127.0.0.1:1", "http://127.0.0.1:2", "--pairs", "5"], "5 pairs cannot be compared"),
        (["http://127.0.0.1:1", "http://127.0.0.1:2", "--primary", "speed"], "no measure is called 'speed'"),
        (["http://127.0.0.1:1", "http://127.0.0.1:2", "--primary", "ttft_ms.p99"], "cannot certify ttft_ms.p99"),
        (["http://127.0.0.1:1", "http://127.0.0.1:2", "--requests", "9"], "ends before it is steady"),
        (["http://127.0.0.1:1", "http://127.0.0.1:2", "--timeout", "0"], "--timeout must be above 0"),
        (["http://127.0.0.1:1", "http://127.0.0.1:2", "--api-key-env", "DAYZERO_NO_SUCH_KEY"], "is not set"),
    ],
)
def test_a_call_that_cannot_work_says_why_and_leaves_nothing(
    words: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert run(["window", *words, "-o", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert printed.out == ""
    assert not (tmp_path / "out").exists()


def test_an_earlier_comparison_is_never_mixed_with_a_new_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "plan.json").write_text("earlier\n")
    assert run(["window", "http://127.0.0.1:1", "http://127.0.0.1:2", "-o", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert (tmp_path / "plan.json").read_text() == "earlier\n"
