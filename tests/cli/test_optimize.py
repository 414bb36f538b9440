"""``dayzero optimize`` as a user types it, where nothing is started: what cannot work says why and leaves nothing."""

from pathlib import Path

import pytest

from dayzero.cli.main import run

DEMO = "demo-kimi-k3-tiny"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "no package is given"),
        (["no-such-package"], "no package called 'no-such-package'"),
        ([DEMO], "has no single cell"),
        ([DEMO, "--workload", "c9"], "has no single cell 'c9'"),
        ([DEMO, "--workload", "no.toml"], "no.toml holds no load"),
        ([DEMO, "--workload", "c4", "--objective", "speed"], "no measure is called 'speed'"),
        ([DEMO, "--workload", "c4", "--objective", "ttft_ms.p99"], "72 requests a trial cannot certify ttft_ms.p99"),
        ([DEMO, "--workload", "c4", "--slo", "ttft_ms.p95=5"], "72 requests a trial cannot certify ttft_ms.p95"),
        ([DEMO, "--workload", "c4", "--slo", "fast"], "not a limit: 'fast'"),
        ([DEMO, "--workload", "c4", "--budget", "soon"], "not a time: 'soon'"),
        ([DEMO, "--workload", "c4", "--trials", "0"], "count of trials"),
        ([DEMO, "--workload", "c4", "--stop-margin", "0"], "cannot be ended at 0 %"),
        ([DEMO, "--workload", "c4", "--space", "no.toml"], "no.toml cannot be read"),
        ([DEMO, "--workload", "c4", "--lossy"], "--lossy may change the model"),
        ([DEMO, "--workload", "c4", "--confirm-with", "words"], "not flags: 'words'"),
        (["--resume", "--workload", "c4"], "goes on as it was begun"),
        ([DEMO, "--resume"], "goes on as it was begun"),
        (["--explain", "nowhere"], "study.json cannot be read"),
        ([DEMO, "--explain", "nowhere"], "start nothing"),
    ],
)
def test_a_call_that_cannot_work_says_why_and_leaves_nothing(
    words: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "out"
    assert run(["optimize", *words, "-o", str(out)]) == 2
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert printed.out == ""
    assert not out.exists()


def test_a_folder_without_a_study_cannot_be_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["optimize", "--resume", "-o", str(tmp_path)]) == 2
    assert "study.json cannot be read" in capsys.readouterr().err
    (tmp_path / "study.json").write_text('{"schema": "dayzero/bench/v1"}')
    assert run(["optimize", "--resume", "-o", str(tmp_path)]) == 2
    assert "is no dayzero/optimize-study/v1" in capsys.readouterr().err
    (tmp_path / "study.json").write_text('{"schema": "dayzero/optimize-study/v1"}')
    assert run(["optimize", "--resume", "-o", str(tmp_path)]) == 2
    assert "missing required field" in capsys.readouterr().err


def test_a_study_is_never_mixed_with_an_earlier_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "study.json").write_text("earlier")
    assert run(["optimize", DEMO, "--workload", "c4", "-o", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err


def test_a_load_with_a_rate_of_its_own_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    load = '[[cells]]\nname = "r"\nconcurrency = 4\nrequests = 40\ninput_tokens = 8\noutput_tokens = 8\n'
    (tmp_path / "load.toml").write_text(load + "load = { constant_per_s = 2 }\n")
    assert run(["optimize", DEMO, "--workload", str(tmp_path / "load.toml"), "-o", str(tmp_path / "out")]) == 2
    assert "has a rate of its own" in capsys.readouterr().err


@pytest.mark.engine
@pytest.mark.usefixtures("embedded_engine")
def test_a_space_of_which_nothing_can_be_tried_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "space.toml").write_text('[[setting]]\nflag = "--no-such"\nvalues = ["1"]\n')
    words = ["optimize", DEMO, "--workload", "c4", "--space", str(tmp_path / "space.toml"), "-o", str(tmp_path / "out")]
    assert run(words) == 2
    assert "nothing is left to try: xllamacpp==2026.10.11549 has no setting no_such" in capsys.readouterr().err
