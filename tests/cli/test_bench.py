"""``dayzero bench --url`` as a user types it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.simulators.openai_server import Behaviour, OpenAiServer, serving_in_thread

from dayzero.bench.rows import read
from dayzero.cli.main import run

# Slow enough that a busy machine still keeps 95 % of the requests in flight.
STEADY = Behaviour(ttft_s=0.25, itl_s=0.01)
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
    assert printed["schema"] == "dayzero/bench/v1"
    assert printed["seed"] == 3
    assert printed["metrics"]["ttft_ms"]["p50"] >= 250
    assert printed["metrics"]["ttft_ms"]["n"] == 12
    assert 0 < printed["metrics"]["output_tok_s"] < 2 * 6 / 0.3
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
    with serving_in_thread(Behaviour(ttft_s=0.25, itl_s=0.02, tokens_per_chunk=3)) as server:
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
        ([], 2, "give either a package or --url"),
        (["some-package", "--url", "http://127.0.0.1:1"], 2, "give either a package or --url"),
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


def test_ctrl_c_keeps_the_rows_and_exits_3(tmp_path: Path):
    program = "from dayzero.cli.main import main; main()"
    with serving_in_thread(STEADY) as server:
        words = ["bench", "--url", server.url, "-o", str(tmp_path), "--requests", "10000", "--output-tokens", "2"]
        process = subprocess.Popen(
            [sys.executable, "-c", program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        rows_file = tmp_path / "requests.jsonl"
        deadline = time.monotonic() + 60
        while not (rows_file.exists() and rows_file.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert "the run ended early: interrupted" in out
    content = read(rows_file.read_bytes())
    assert content.rows
    assert content.set_aside == b""
