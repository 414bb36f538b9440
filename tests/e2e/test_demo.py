"""The whole job on the embedded engine, and what happens to it when things go wrong."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from tests.e2e.conftest import Run, command, engines_below, environment, free_port

from dayzero.adapters.keys import make_key, save_key
from dayzero_verify import canonical_zip
from dayzero_verify.inputs import examine_files

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
SHOWN = re.compile(r"<!--raw [0-9a-f]{64} lines 1-\d+-->\n```text\n(.*?)```\n<!--/raw-->", re.DOTALL)


def run_folder(folder: Path) -> Path:
    return folder / "dayzero-demo" / "demo-kimi-k3-tiny"


def copy_of(tiny_demo: tuple[Path, object], tmp_path: Path) -> Path:
    target = tmp_path / "run"
    shutil.copytree(run_folder(tiny_demo[0]), target, symlinks=True)
    return target


@pytest.mark.alone
def test_the_demo_tells_the_story_and_ends_with_everything_proven(tiny_demo):
    folder, done = tiny_demo
    assert done.returncode == 0, done.stdout + done.stderr
    titles = re.findall(r"^\[\d/9\] (\w+)", done.stdout, re.MULTILINE)
    assert titles == ["audit", "start", "audit", "fit", "serve", "measure", "file", "pack", "list"]
    assert "refuted" in done.stdout
    assert "the first build without this wall is 2026.8.10566 (DZA-2026-001)" in done.stdout
    assert "unknown model architecture: 'kimi-k3'" in done.stdout
    assert engines_below(folder) == []


def story(text: str) -> list[str]:
    """Leave out what differs from run to run and from machine to machine: digits, key ids and the spacing around them."""
    without_ids = re.sub(r"\b[0-9a-f]{16}\b", "ID", text)
    masked = re.sub(r"\d+(?:\.\d+)?", "N", without_ids)
    units = re.sub(r"\b(?:KiB|MiB|GiB)\b", "SIZE", masked)
    return [" ".join(line.split()) for line in units.strip().splitlines()]


@pytest.mark.alone
def test_it_prints_what_the_readme_shows(tiny_demo):
    (shown,) = SHOWN.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    _, done = tiny_demo
    assert story(done.stdout) == story(shown)


@pytest.mark.alone
def test_every_number_that_it_printed_stands_in_the_ledger_and_on_the_card(tiny_demo, dayzero: Run):
    folder, done = tiny_demo
    run = run_folder(folder)
    page = (run / "site" / "packages" / "demo-kimi-k3-tiny" / "index.html").read_text(encoding="utf-8")
    printed = re.findall(r"^  (\d+\.\d+ (?:ms|tok/s|s)) +[a-z]", done.stdout, re.MULTILINE)
    assert len(printed) == 9
    assert [text for text in printed if f">{text}</data>" not in page] == []
    checked = dayzero("evidence", "check", str(run), "--output-format", "json", cwd=folder)
    assert checked.returncode == 0, checked.stdout
    assert json.loads(checked.stdout)["findings"] == []


@pytest.mark.alone
def test_the_kit_holds_no_weight_byte_and_verifies_for_a_stranger(tiny_demo):
    kit = run_folder(tiny_demo[0]) / "kit" / "demo-kimi-k3-tiny-1.0.0.kit.zip"
    examination = examine_files(kit, None, [kit.parent / "demo.pub.pem"])
    assert examination.report.exit_code == 0
    assert examination.content is not None
    names = {file.path for file in examination.content.files}
    assert {"serve.py", "serve.sh", "compose.yaml", "kubernetes.yaml", "package.toml", "requirements.lock"} <= names
    assert not [name for name in names if name.endswith(".gguf")]
    assert kit.stat().st_size < 3_000_000


@pytest.mark.alone
@pytest.mark.parametrize("change", ["a byte", "a file", "a key"])
def test_a_changed_kit_and_a_foreign_key_are_refused_with_exit_codes_of_their_own(tiny_demo, tmp_path, change):
    run = copy_of(tiny_demo, tmp_path)
    kit, key = run / "kit" / "demo-kimi-k3-tiny-1.0.0.kit.zip", run / "kit" / "demo.pub.pem"
    match change:
        case "a byte":
            content = bytearray(kit.read_bytes())
            content[content.index(b"--n-ctx") + 3] ^= 1
            kit.write_bytes(content)
        case "a file":
            files = (*canonical_zip.read(kit.read_bytes()), canonical_zip.ArchivedFile("extra.txt", b"more"))
            kit.write_bytes(canonical_zip.build(files))
        case _:
            key = tmp_path / "foreign.pub.pem"
            save_key(make_key("release"), private=tmp_path / "foreign.pem", public=key)
    code = examine_files(kit, None, [key]).report.exit_code
    assert code == {"a byte": 12, "a file": 13, "a key": 10}[change]


@pytest.mark.alone
def test_a_changed_digit_in_a_raw_file_names_the_card_that_rests_on_it(tiny_demo, tmp_path, dayzero: Run):
    run = copy_of(tiny_demo, tmp_path)
    raw = next(file for file in (run / "evidence" / "raw").iterdir() if b"bench-row" in file.read_bytes()[:200])
    text = raw.read_bytes()
    raw.chmod(0o644)
    raw.write_bytes(
        text.replace(b'"sent_ns":1', b'"sent_ns":2', 1) if b'"sent_ns":1' in text else text.replace(b"1", b"2", 1)
    )
    checked = dayzero("evidence", "check", str(run), cwd=tmp_path)
    assert checked.returncode == 1, checked.stdout
    assert re.search(r"site/packages/demo-kimi-k3-tiny/index\.html:\d+", checked.stdout)


@pytest.mark.alone
def test_a_retracted_claim_leaves_the_rebuilt_card_and_its_reason_takes_its_place(tiny_demo, tmp_path, dayzero: Run):
    run = copy_of(tiny_demo, tmp_path)
    slug, why = "demo-kimi-k3-tiny/c1-output-tok-s", "the machine was not quiet"
    done = dayzero("evidence", "retract", slug, str(run), "--why", why, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "index.html" in done.stdout
    stale = dayzero("evidence", "check", str(run), cwd=tmp_path)
    assert stale.returncode == 1
    built = dayzero("catalog", "build", "--evidence", str(run / "evidence"), "-o", str(tmp_path / "site"), cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    page = (tmp_path / "site" / "packages" / "demo-kimi-k3-tiny" / "index.html").read_text(encoding="utf-8")
    assert f'data-claim="{slug}"' not in page
    assert why in page


def test_a_port_that_is_taken_is_said_before_anything_is_started(tmp_path, embedded_engine, dayzero: Run):
    assert embedded_engine
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        done = dayzero("demo", "--no-serve", "--port", str(port), cwd=tmp_path)
    assert done.returncode == 3
    assert f"error: port {port} on 127.0.0.1 is already taken" in done.stderr
    assert "hint: " in done.stderr
    assert engines_below(tmp_path) == []


def start_demo(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(["demo", "--no-serve", "--port", str(free_port())]),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_answers(folder: Path, number: int) -> Path:
    """Wait until the raw reads of so many answers are on the disk; a read of 64 tokens is about 20 kB."""
    reads = run_folder(folder) / "reads.bin"
    deadline = time.monotonic() + 120
    while not reads.exists() or reads.stat().st_size < number * 30_000:
        assert time.monotonic() < deadline, "no answers came"
        time.sleep(0.02)
    return run_folder(folder) / "requests.jsonl"


def test_an_engine_killed_in_mid_measurement_leaves_its_rows_no_receipt_and_exit_3(tmp_path, embedded_engine):
    assert embedded_engine
    demo = start_demo(tmp_path)
    rows = wait_for_answers(tmp_path, 5)
    for pid in engines_below(run_folder(tmp_path) / "launch"):
        os.kill(pid, signal.SIGKILL)
    _, said = demo.communicate(timeout=120)
    assert demo.returncode == 3, said
    assert "stopped at measure" in said
    assert "no receipt was written" in said
    assert rows.read_bytes().count(b"\n") >= 3
    assert all(json.loads(line)["schema"] == "dayzero/bench-row/v2" for line in rows.read_bytes().splitlines())
    assert not (run_folder(tmp_path) / "kit").exists()
    assert engines_below(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_demo_leaves_no_engine_behind(tmp_path, embedded_engine, number):
    assert embedded_engine
    demo = start_demo(tmp_path)
    wait_for_answers(tmp_path, 1)
    demo.send_signal(number)
    demo.communicate(timeout=60)
    assert demo.returncode != 0
    assert (run_folder(tmp_path) / "reads.bin").stat().st_size >= 30_000
    deadline = time.monotonic() + 60
    while engines_below(tmp_path):
        assert time.monotonic() < deadline, "an engine was left behind"
        time.sleep(0.05)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 300 kB: enough to start and to measure for a while, too small for the whole."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"this user may not mount a small disk: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_full_is_said_and_what_was_measured_stays(small_disk, embedded_engine, dayzero: Run):
    assert embedded_engine
    done = dayzero("demo", "--no-serve", "--port", str(free_port()), cwd=small_disk)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "error: the disk is full" in done.stderr
    assert "hint: " in done.stderr
    assert (run_folder(small_disk) / "reads.bin").stat().st_size > 0
    assert not (run_folder(small_disk) / "kit").exists()
    assert engines_below(small_disk) == []
