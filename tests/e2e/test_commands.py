"""Each command on the embedded engine, as a user runs it."""

import hashlib
import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.e2e.conftest import Run, command, engines_below, environment, free_port

pytestmark = pytest.mark.engine

OLD, NEW = "xllamacpp==2026.8.10229", "xllamacpp==2026.10.11549"


@pytest.fixture(autouse=True)
def _builds(embedded_engine) -> None:
    assert embedded_engine


def test_audit_refutes_the_old_build_with_the_place_and_the_first_build_that_has_it(tmp_path, dayzero: Run):
    done = dayzero("audit", "demo-kimi-k3-tiny", "--engine", OLD, "--output-format", "json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert (report["schema"], report["verdict"]) == ("dayzero/audit/v1", "refuted")
    (refuted,) = [check for check in report["checks"] if check["verdict"] == "refuted"]
    assert refuted["id"] == "architecture:kimi-k3"
    assert refuted["places"][0]["file"] == "xllamacpp/xllamacpp.abi3.so"
    assert refuted["places"][0]["position"].startswith("byte 0x")
    assert [remedy["first_build"] for remedy in report["remedies"]] == ["2026.8.10566"]


def test_audit_proves_the_pinned_build(tmp_path, dayzero: Run):
    done = dayzero("audit", "demo-kimi-k3-tiny", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert f"audit  {NEW} for tiny-kimi-k3-seed7" in done.stdout
    assert "Does the build take the setting n_ctx?" in done.stdout


def test_audit_refutes_a_setting_that_the_build_does_not_take(tmp_path, dayzero: Run):
    source = Path(__file__).parents[2] / "packages" / "demo-kimi-k3-tiny" / "package.toml"
    changed = source.read_text(encoding="utf-8").replace('"--n-ctx"', '"--n-ctxx"')
    (tmp_path / "package.toml").write_text(changed, encoding="utf-8")
    done = dayzero("audit", "package.toml", cwd=tmp_path)
    assert done.returncode == 1, done.stdout
    assert "setting n_ctxx is not among the" in done.stdout
    assert "the closest is n_ctx" in done.stdout


def test_fit_gives_each_term_with_its_source(tmp_path, dayzero: Run):
    done = dayzero("fit", "demo-kimi-k3-tiny", "--output-format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["verdict"] == "proven"
    assert report["needed_bytes"] == sum(term["bytes"] for term in report["terms"])
    assert all(term["source"] for term in report["terms"])


def test_weights_are_put_there_with_their_digest(tmp_path, dayzero: Run):
    done = dayzero("weights", "demo-kimi-k3-tiny", "-o", "model", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    content = (tmp_path / done.stdout.strip()).read_bytes()
    definition = (Path(__file__).parents[2] / "packages" / "demo-kimi-k3-tiny" / "package.toml").read_text("utf-8")
    assert hashlib.sha256(content).hexdigest() in definition


def test_serve_says_when_it_is_healthy_and_stops_on_request(tmp_path, dayzero: Run):
    done = dayzero("serve", "demo-kimi-k3-tiny", "-o", "run", "--port", str(free_port()), "--check", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "healthy" in done.stdout
    assert b"model" in (tmp_path / "run" / "logs" / "engine.log").read_bytes()
    assert engines_below(tmp_path) == []


def test_serve_serves_until_it_is_interrupted(tmp_path):
    words = ["serve", "demo-kimi-k3-tiny", "-o", "run", "--port", str(free_port())]
    with subprocess.Popen(
        command(words), cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as serve:
        assert serve.stdout
        seen = ""
        while "until Ctrl-C" not in seen:
            line = serve.stdout.readline()
            assert line, seen
            seen += line
        assert engines_below(tmp_path)
        serve.send_signal(signal.SIGINT)
        assert serve.wait(timeout=30) == 0
    deadline = time.monotonic() + 60
    while engines_below(tmp_path):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_start_that_fails_shows_the_line_that_names_the_cause_the_wall_and_what_resolves_it(tmp_path, dayzero: Run):
    source = Path(__file__).parents[2] / "packages" / "demo-kimi-k3-tiny" / "package.toml"
    changed = source.read_text(encoding="utf-8").replace('"--n-ctx", "8192"', '"--n-ctx", "many"')
    (tmp_path / "package.toml").write_text(changed, encoding="utf-8")
    done = dayzero("serve", "package.toml", "-o", "run", "--port", str(free_port()), cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "run/logs/engine.log:" in done.stdout
    assert "n-ctx" in done.stdout
    assert "  wall        engine-args: " in done.stdout
    assert "  resolution  " in done.stdout


@pytest.mark.alone
def test_bench_measures_a_package_and_writes_a_receipt_bound_to_its_rows(tmp_path, dayzero: Run):
    source = Path(__file__).parents[2] / "packages" / "demo-kimi-k3-tiny" / "package.toml"
    changed = source.read_text(encoding="utf-8").replace("port = 18480", f"port = {free_port()}")
    (tmp_path / "package.toml").write_text(changed, encoding="utf-8")
    done = dayzero("bench", "package.toml", "-o", "rows", "--output-format", "json", cwd=tmp_path, quiet=True)
    assert done.returncode == 0, done.stdout + done.stderr
    receipt = json.loads((tmp_path / "rows" / "receipt.json").read_text(encoding="utf-8"))
    rows = (tmp_path / "rows" / "requests.jsonl").read_bytes()
    digests = {entry["file"]: entry["sha256"] for entry in receipt["raw"]}
    assert digests["requests.jsonl"] == hashlib.sha256(rows).hexdigest()
    assert {"reads.bin", "telemetry.jsonl", "logs/engine.log"} <= set(digests)
    assert receipt["dispatched"]
    assert receipt["start_phases"]
    assert receipt["valid"] is True
    assert json.loads(done.stdout)["cells"][0]["measured"] == 72


def test_render_writes_every_target_and_says_which_validator_looked_at_it(tmp_path, dayzero: Run):
    done = dayzero("render", "demo-kimi-k3-tiny", "-o", "deploy", "--output-format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    names = {file.name for file in (tmp_path / "deploy").iterdir()}
    assert {"serve.sh", "compose.yaml", "kubernetes.yaml", "demo-kimi-k3-tiny.service", "Dockerfile"} <= names
