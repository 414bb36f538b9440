"""What the unit says, read by systemd itself."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from tests.targets.foreign import ask, program
from tests.targets.launches import hostile, k3, launch, plain
from tests.targets.second_reader import unquoted

from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec, Replaced
from dayzero.core.verdict import Proven, Refuted
from dayzero.targets.proof import prove_commands
from dayzero.targets.systemd import INSTALL_FOLDER, TARGET


class Installed:
    """A kit installed under a folder of this test, with programs that exist, and its unit."""

    def __init__(self, folder: Path, spec: LaunchSpec) -> None:
        self.root = folder / "opt"
        self.program = self.root / spec.name / ".venv" / "bin" / "python3"
        self.program.parent.mkdir(parents=True)
        self.program.write_text("#!/bin/sh\n")
        self.program.chmod(0o755)
        self.unit = folder / TARGET.file_name(spec)
        self.unit.write_bytes(TARGET.render(spec).replace(INSTALL_FOLDER, str(self.root)).encode())


@pytest.mark.parametrize("spec", [plain(), hostile(), launch(accelerators=8)], ids=["plain", "hostile", "gpus"])
def test_systemd_accepts_the_unit(tmp_path: Path, spec: LaunchSpec) -> None:
    kit = Installed(tmp_path, spec)
    done = ask(program("systemd-analyze"), "verify", "--man=no", str(kit.unit))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("letter", ["\ufffe", "\uffff", "\ufdd0", "\U0001ffff"])
def test_a_noncharacter_that_systemd_drops_is_refused(letter: str) -> None:
    for spec in (launch(letter), launch(env=(("A", letter),))):
        with pytest.raises(InputError, match="noncharacter"):
            TARGET.render(spec)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("python3", "/opt/dayzero/demo/.venv/bin/python3"),
        ("vllm", "/opt/dayzero/demo/.venv/bin/vllm"),
        ("bin/engine", "/opt/dayzero/demo/bin/engine"),
        ("/usr/bin/engine", "/usr/bin/engine"),
    ],
)
def test_the_program_is_named_by_its_absolute_path(given: str, written: str) -> None:
    spec = replace(plain(), argv=(given, *plain().argv[1:]))
    assert TARGET.parse(TARGET.render(spec)).leader.argv[0] == written
    replaced = [delta.value for delta in TARGET.deltas(spec) if isinstance(delta, Replaced)]
    assert replaced == ([] if given == written else [written])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Type=exec", "Type=exec\nEnvironmentFile=/etc/more"),
        ("Type=exec", "Type=exec\nPassEnvironment=A"),
        ("Type=exec", "Type=exec\nUnsetEnvironment=ENGINE_LOG"),
        ("Type=exec", "Type=exec\nExecStart="),
        ("Type=exec", "Type=exec\nType=exec"),
        ("Type=exec", "Type=exec\nExecStartPre=/bin/true"),
        ('"--strict" ', ""),
        ('"--no-warmup"', "--no-warmup"),
        ('"--no-warmup"', "'--no-warmup'"),
        ('"--no-warmup"', '"--no-warmup" ;'),
        ('"--no-warmup"', '"--no-warmup" $MORE'),
        ('"--no-warmup"', '"--no-warmup" \\'),
        ('"--no-warmup"', '"--no-warm""up"'),
        ('"--no-warmup"', '"--no-warmup" '),
        ('"--no-warmup"', '"\\x2d-no-warmup"'),
        ("ExecStart=", "ExecStart=:"),
        ("ExecStart=", " ExecStart="),
        ('"OMP_NUM_THREADS=2"', '"OMP_NUM_THREADS=2" "B=1"'),
        ('"OMP_NUM_THREADS=2"', '"OMP_NUM_THREADS"'),
        ('"OMP_NUM_THREADS=2"', ""),
        ("[Service]", "[Socket]"),
        ("[Service]\n", ""),
    ],
)
def test_a_unit_that_does_anything_else_is_not_proven(old: str, new: str) -> None:
    text = TARGET.render(plain())
    assert old in text
    assert isinstance(prove_commands(plain(), TARGET, text), Proven)
    assert isinstance(prove_commands(plain(), TARGET, text.replace(old, new)), Refuted)


def test_the_budgets_of_the_launch_are_the_units() -> None:
    lines = TARGET.render(plain()).split("\n")
    assert {"TimeoutStartSec=95", "TimeoutStopSec=30", "KillMode=mixed", "KillSignal=SIGTERM"} <= set(lines)


def _wait_code(port: int) -> str:
    line = next(text for text in TARGET.render(launch(port=port)).split("\n") if text.startswith("ExecStartPost="))
    return unquoted(line.removeprefix("ExecStartPost=").replace("%%", "%"))[2]


@contextmanager
def _engine(*statuses: int) -> Iterator[int]:
    answers = iter(statuses)

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(next(answers) if self.path == "/health" else 404)
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def _wait(port: int, main_pid: int) -> int:
    env = {"MAINPID": str(main_pid), "http_proxy": "http://127.0.0.1:9"}
    return subprocess.run(
        [sys.executable, "-c", _wait_code(port)], env=env, capture_output=True, check=False, timeout=60
    ).returncode


def test_the_start_is_over_when_the_engine_is_healthy_and_not_before() -> None:
    with _engine(503, 200) as port:
        assert _wait(port, os.getpid()) == 0


def test_the_start_fails_when_the_engine_has_ended() -> None:
    with _engine() as port:
        closed = port
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert _wait(closed, ended.pid) == 1


def test_the_unit_of_the_plain_launch_is_the_one_on_record() -> None:
    assert TARGET.render(plain()) == (Path(__file__).parent / "rendered" / "demo.service").read_text()


def test_weights_of_the_hub_are_fetched_when_the_network_is_up() -> None:
    of_the_hub = TARGET.render(replace(k3(), image=""))
    assert "Wants=network-online.target\nAfter=network-online.target\n" in of_the_hub
    assert "network-online" not in TARGET.render(plain())


def test_a_service_whose_users_home_it_cannot_write_has_another() -> None:
    assert dict(TARGET.parse(TARGET.render(plain())).leader.env)["HOME"] == "/tmp"  # noqa: S108
    own = launch(env=(("HOME", "/mine"),))
    assert TARGET.parse(TARGET.render(own)).leader.env == own.env
