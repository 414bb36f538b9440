"""``dayzero bench --url`` as a user types it."""

import json
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.bench.raw_reads import T0, Reads, stream
from tests.bench.sample_rows import CELL, CHEAP, QUIET
from tests.bench.sample_rows import rows as good_rows
from tests.simulators import quiet_machine
from tests.simulators.openai_server import Behaviour, OpenAiServer, serving_in_thread

from dayzero.bench.model import Completed, Outcome
from dayzero.bench.report import report
from dayzero.bench.rows import read
from dayzero.cli.bench_text import client_lines
from dayzero.cli.main import run
from dayzero.core.workload import Workload
from dayzero.wiring.endpoint import merged

pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("quiet_machine")]

STEADY = Behaviour(ttft_s=0.03, itl_s=0.003)
SMALL = ("--requests", "12", "--warmup", "2", "--input-tokens", "40", "--output-tokens", "6", "--concurrency", "2")


def bench(server: OpenAiServer, out: Path, *words: str) -> int:
    return run(["bench", "--url", server.url, "-o", str(out), *SMALL, *words])


def document(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_a_good_server_is_measured_and_believed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with serving_in_thread(STEADY) as server:
        code = bench(server, tmp_path, "--output-format", "json", "--seed", "3")
    printed = document(capsys)
    assert printed["invalid_because"] == []
    assert code == 0
    assert printed["schema"] == "dayzero/bench/v2"
    assert printed["seed"] == 3
    assert printed["metrics"]["ttft_ms"]["p50"] >= 29
    assert printed["metrics"]["ttft_ms"]["n"] == 12
    assert 0 < printed["metrics"]["output_tok_s"] < 2 * 6 / 0.045 * 1.5  # the window may begin and end inside a step
    rows = read((tmp_path / "requests.jsonl").read_bytes()).rows
    assert sum(row.phase == "measured" for row in rows) == 12
    assert sum(row.phase == "warmup" for row in rows) == 2
    assert {row.usage.prompt_tokens for row in rows if row.usage} == {40}


def test_the_table_says_what_was_measured_and_where_the_rows_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with serving_in_thread(STEADY) as server:
        assert bench(server, tmp_path) == 0
    printed = capsys.readouterr()
    assert "sim (engine not recognised), /v1/completions, seed" in printed.out
    assert "c2: 12 requests, 2 in flight, 40 tokens in, 6 out" in printed.out
    assert "chunk_gap_ms" not in printed.out
    assert f"rows: {tmp_path / 'requests.jsonl'}" in printed.out
    assert "valid: every request was measured" in printed.out
    assert printed.err == ""


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (Behaviour(usage="none"), "c2: the server reports no usage: token rates are undecided"),
        (Behaviour(cached_tokens=30), "tokens came out of the server's prefix cache"),
        (Behaviour(tokens=5), "6 output tokens were asked, the server made 5 in 12 of 12 requests"),
        (Behaviour(tokenize="none", tokens_per_word=3), "40 prompt tokens were planned, the server counted 39"),
        (Behaviour(status=429, fail_every=7), "requests failed and are in no latency figure; most often: http 429"),
        (Behaviour(dies_after=9), "the run ended early: the endpoint answered none of the last 3 requests"),
    ],
)
def test_figures_that_must_not_be_believed_say_so_and_exit_3(
    behaviour: Behaviour, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    with serving_in_thread(behaviour) as server:
        assert bench(server, tmp_path) == 3
    printed = capsys.readouterr().out
    assert "NOT VALID; do not believe these figures:" in printed
    assert reason in printed
    assert read((tmp_path / "requests.jsonl").read_bytes()).rows


def test_chunks_of_several_tokens_give_a_chunk_gap_and_no_itl(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with serving_in_thread(replace(STEADY, tokens_per_chunk=3)) as server:
        assert bench(server, tmp_path, "--output-format", "json") == 0
    metrics = document(capsys)["metrics"]
    assert metrics["itl_ms"]["p50"] is None
    assert "not a gap between tokens" in metrics["itl_ms"]["undecided"]["p50"]
    assert metrics["chunk_gap_ms"]["p50"] > 0


def test_rows_measured_before_are_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "requests.jsonl").write_text("measured before\n")
    with serving_in_thread(STEADY) as server:
        assert bench(server, tmp_path) == 2
        assert server.seen == []
    assert (tmp_path / "requests.jsonl").read_text() == "measured before\n"
    assert "hint: Choose another folder with -o." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["--url", "http://127.0.0.1:1"], 3, "cannot be reached"),
        (["--url", "nowhere"], 2, "not an address"),
        ([], 2, "give a package or --url"),
        (["some-package", "--url", "http://127.0.0.1:1"], 2, "no package called 'some-package'"),
        (["demo-smollm2", "--start", "s"], 2, "--start needs a package and --url"),
        (["--url", "http://127.0.0.1:1", "--start", "s"], 2, "--start needs a package and --url"),
        (["demo-smollm2", "--url", "http://127.0.0.1:1", "--processes", "2"], 2, "measured whole, by one process"),
        (["demo-smollm2", "--url", "http://127.0.0.1:1", "--start", "s"], 2, "start.json cannot be read"),
        (["--url", "http://127.0.0.1:1", "--concurrency", "0"], 2, "concurrency must be at least 1"),
        (["--url", "http://127.0.0.1:1", "--timeout", "0"], 2, "--timeout must be above 0"),
        (["--url", "http://127.0.0.1:1", "--api-key-env", "DAYZERO_NO_SUCH_KEY"], 2, "DAYZERO_NO_SUCH_KEY is not set"),
    ],
)
def test_a_call_that_cannot_work_says_why_and_leaves_nothing(
    words: list[str], code: int, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert run(["bench", *words, "-o", str(tmp_path / "out")]) == code
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert printed.err.count("hint: ") == 1
    assert printed.out == ""
    assert not (tmp_path / "out").exists()


def test_the_key_comes_out_of_the_named_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SIM_KEY", "s3cret")
    with serving_in_thread(STEADY) as server:
        assert bench(server, tmp_path, "--api-key-env", "SIM_KEY") == 0
        assert {seen.headers["authorization"] for seen in server.seen} == {"Bearer s3cret"}


PROGRAM = quiet_machine.program()


def start(server: OpenAiServer, out: Path, *words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", PROGRAM, "bench", "--url", server.url, "-o", str(out), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_requests(server: OpenAiServer, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(server.seen) < count and time.monotonic() < deadline:
        time.sleep(0.01)


def test_ctrl_c_keeps_the_rows_and_exits_3(tmp_path: Path):
    with serving_in_thread(replace(STEADY, holds_after=8)) as server:
        process = start(server, tmp_path, "--requests", "10000", "--output-tokens", "2")
        wait_for_requests(server, 9)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert "the run ended early: interrupted" in out
    assert f"--resume -o {tmp_path} goes on with it" in out
    content = read((tmp_path / "requests.jsonl").read_bytes())
    assert content.rows
    assert content.set_aside == b""


def test_a_run_that_was_killed_goes_on_and_loses_only_what_was_in_flight(tmp_path: Path):
    load = ("--requests", "24", "--warmup", "0", "--output-tokens", "4", "--concurrency", "3", "--seed", "5")
    with serving_in_thread(replace(STEADY, holds_after=12)) as server:
        process = start(server, tmp_path, *load)
        wait_for_requests(server, 13)
        process.kill()
        process.communicate(timeout=60)
        server.go_on = True
        kept = (tmp_path / "reads.bin").read_bytes()
        assert not (tmp_path / "requests.jsonl").exists()
        before = len(server.seen)
        resumed = start(server, tmp_path, *load, "--resume")
        out, err = resumed.communicate(timeout=60)
        after = len(server.seen) - before
    assert resumed.returncode in {0, 3}, out + err
    whole = (tmp_path / "reads.bin").read_bytes()
    cut = tmp_path / "reads.bin.cut"
    assert whole.startswith(kept[: len(kept) - (cut.stat().st_size if cut.exists() else 0)])
    rows = read((tmp_path / "requests.jsonl").read_bytes()).rows
    assert sorted(row.index for row in rows) == list(range(24))
    assert all(row.ok for row in rows)
    # One probe of each look; what had ended is not sent again, and at most one request a stream was lost.
    assert before + after - 2 - 24 <= 3


def test_a_resumed_run_needs_the_load_that_it_began_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with serving_in_thread(STEADY) as server:
        assert bench(server, tmp_path, "--seed", "5") in {0, 3}
        asked = len(server.seen)
        assert bench(server, tmp_path, "--resume", "--seed", "6") == 2
        assert "its seed was 5, now it is 6" in capsys.readouterr().err
        assert bench(server, tmp_path, "--resume") in {0, 3}
        assert len(server.seen) == asked + 2  # a probe of each look, nothing of the load
    assert len(read((tmp_path / "requests.jsonl").read_bytes()).rows) == 14


def test_several_processes_measure_the_same_requests(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with serving_in_thread(STEADY) as server:
        assert bench(server, tmp_path, "--processes", "2", "--seed", "5", "--output-format", "json") in {0, 3}
    assert document(capsys)["client"]["connections"] == 2
    rows = read((tmp_path / "requests.jsonl").read_bytes()).rows
    assert sorted(row.number for row in rows) == list(range(14))
    assert [row.sent_ns for row in rows] == sorted(row.sent_ns for row in rows)
    assert (tmp_path / "reads-0.bin").stat().st_size > 1000
    assert (tmp_path / "reads-1.bin").stat().st_size > 1000


@pytest.mark.parametrize("words", [[], ["--output-format", "json"]], ids=["text", "json"])
def test_a_result_that_finds_no_room_is_an_error_with_a_hint(words: list[str], tmp_path: Path):
    buffered = ["env", "-u", "PYTHONUNBUFFERED"]  # what is left in the buffer must not be tried again at the end
    command = [*buffered, sys.executable, "-c", PROGRAM, "bench", *SMALL, "-o", str(tmp_path), *words]
    with serving_in_thread(STEADY) as server, Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*command, "--url", server.url], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60
        )
    assert done.returncode == 3
    assert done.stderr.startswith("error: the result cannot be written: No space left on device\nhint: ")
    assert done.stderr.count("\n") == 2
    assert (tmp_path / "requests.jsonl").exists()


def test_a_closed_stderr_keeps_no_result_back(tmp_path: Path):
    line = f'"{sys.executable}" -c "$3" bench --url "$1" -o "$2" {" ".join(SMALL)} 2>&-'
    with serving_in_thread(STEADY) as server:
        done = subprocess.run(
            ["sh", "-c", line, "sh", server.url, str(tmp_path), PROGRAM],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert "c2: 12 requests, 2 in flight" in done.stdout
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("stamps", "said"),
    [
        ("kernel, SO_TIMESTAMPNS", "read 0.10 ms after the kernel at the median, 0.10 ms at p99"),
        ("user space", "read at most 0.10 ms after it came at the median, 0.10 ms at p99"),
    ],
)
def test_without_kernel_stamps_the_lag_is_said_to_be_the_most_that_it_can_be(stamps: str, said: str):
    workload, outcome = Workload(seed=1, cells=(CELL,)), Outcome(rows=good_rows(20), ending=Completed(), client=CHEAP)
    (line,) = client_lines(report(outcome, workload, replace(QUIET, stamps=stamps)))
    assert f"stamps: {stamps}; {said}; " in line


@pytest.mark.parametrize("stamped", [(False, True), (True, False), (True, True)], ids=str)
def test_one_process_without_kernel_stamps_is_enough_for_user_space(stamped: tuple[bool, ...]):
    each = []
    for kernel in stamped:
        reads = Reads(stamped=kernel)
        reads.clock(T0)
        stream(reads, 0, [b""])
        each.append(reads.parsed())
    assert merged(each).stamped is all(stamped)


def test_a_name_of_a_model_cannot_command_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with serving_in_thread(replace(STEADY, models=("a\x1b[2Jb\nc",))) as server:
        assert bench(server, tmp_path) in {0, 3}
    assert capsys.readouterr().out.startswith("a\ufffd[2Jb c (engine not recognised)")


def test_more_streams_than_files_may_be_open_are_refused_before_there_is_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY:
        pytest.skip("this machine sets no limit")
    words = ["--concurrency", str(2 * hard), "--processes", "2", "-o", str(tmp_path / "out")]
    assert run(["bench", "--url", "http://127.0.0.1:1", *words]) == 2
    assert f"this process may open {hard}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_more_processes_than_streams_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with serving_in_thread(STEADY) as server:
        assert bench(server, tmp_path, "--processes", "3") == 2
    assert "3 processes cannot share 2 streams" in capsys.readouterr().err
