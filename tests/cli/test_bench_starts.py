"""``dayzero bench PACKAGE --repeat-start N`` as a user types it."""

import json
from pathlib import Path

import pytest

from dayzero.adapters.processes import free_port
from dayzero.cli.main import run
from dayzero.wiring.laboratory import HOST

SOURCE = Path(__file__).parents[2] / "packages" / "demo-kimi-k3-tiny" / "package.toml"


def definition(folder: Path, **changes: str) -> str:
    text = SOURCE.read_text(encoding="utf-8").replace("port = 18480", f"port = {free_port(HOST)}")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "package.toml").write_text(text, encoding="utf-8")
    return str(folder / "package.toml")


@pytest.mark.engine
@pytest.mark.usefixtures("embedded_engine")
def test_healthy_starts_exit_0_with_a_rate_its_interval_and_the_claim(tmp_path, capsys):
    out = tmp_path / "out"
    assert run(["bench", definition(tmp_path), "--repeat-start", "5", "-o", str(out)]) == 0
    printed = capsys.readouterr()
    assert printed.out == (
        "demo-kimi-k3-tiny: xllamacpp==2026.10.11549, 5 starts at one condition\n"
        "start failures: 0 of 5 (0.0 % to 52.2 %), the exact 95 % interval of the rate\n"
        f"claim: demo-kimi-k3-tiny/start-failures in {out}/evidence/ledger.jsonl\n"
    )
    assert "start 5 of 5: healthy after" in printed.err


@pytest.mark.engine
@pytest.mark.usefixtures("embedded_engine")
def test_failed_starts_exit_1_and_say_what_the_log_says(tmp_path, capsys):
    broken = definition(tmp_path, **{'"--n-ctx", "8192"': '"--n-ctx", "many"'})
    words = ["bench", broken, "--repeat-start", "2", "-o", str(tmp_path / "out"), "--output-format", "json"]
    assert run(words) == 1
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert document["schema"] == "dayzero/starts/v1"
    assert [start["outcome"] for start in document["starts"]] == ["died", "died"]
    assert document["rate"] == {"events": 2, "trials": 2, "low": pytest.approx(0.158114, abs=1e-6), "high": 1.0}
    assert document["claim"] == "demo-kimi-k3-tiny/start-failures"
    assert "start 2 of 2: died after" in printed.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--repeat-start", "3"], "give a package or --url"),
        (["demo-kimi-k3-tiny", "--repeat-start", "0"], "a package cannot be started 0 times"),
        (["--url", "http://127.0.0.1:1", "--repeat-start", "3"], "--repeat-start starts a package"),
        (["demo-kimi-k3-tiny", "--model", "x", "--repeat-start", "3"], "a package brings its own server"),
        (["demo-kimi-k3-tiny", "--requests", "3", "--repeat-start", "3"], "measured under its own workload"),
        (["no-such-package", "--repeat-start", "3"], "no package called 'no-such-package'"),
    ],
)
def test_a_call_that_cannot_work_says_why_and_leaves_nothing(words, complaint, tmp_path, capsys):
    assert run(["bench", *words, "-o", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert printed.err.count("hint: ") == 1
    assert not (tmp_path / "out").exists()
