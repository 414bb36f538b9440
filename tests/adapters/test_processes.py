import os
import socket
import sys
import time
from pathlib import Path

import pytest

from dayzero.adapters.processes import ChildProcess, end_marked, free_port, process_mark, require_free_port
from dayzero.core.errors import RemoteError


def start(tmp_path: Path, code: str) -> ChildProcess:
    return ChildProcess([sys.executable, "-c", code], dict(os.environ), tmp_path, tmp_path / "child.log")


def wait_for(process: ChildProcess, words: bytes) -> None:
    deadline = time.monotonic() + 60
    while words not in process.log():
        assert time.monotonic() < deadline, process.log()
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


def test_a_child_that_ends_on_its_own_gives_its_exit_code_and_its_log(tmp_path):
    process = start(tmp_path, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    deadline = time.monotonic() + 60
    while process.exit_code() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert process.exit_code() == 7
    assert sorted(process.log().split()) == [b"err", b"out"]


def test_stopping_leaves_neither_a_deaf_child_nor_a_grandchild(tmp_path):
    deaf = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "print('child', child.pid, flush=True); time.sleep(60)"
    )
    process = start(tmp_path, deaf)
    wait_for(process, b"child")
    grandchild = int(process.log().split()[1])
    assert process.stop(0.3) == -9
    deadline = time.monotonic() + 5
    while alive(grandchild):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert not alive(process.pid)


def test_a_child_that_listens_to_the_request_ends_by_itself(tmp_path):
    code = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0));"
        "print('up', flush=True); time.sleep(60)"
    )
    process = start(tmp_path, code)
    wait_for(process, b"up")
    assert process.stop(10) == 0


def test_a_program_that_is_not_there_is_said(tmp_path):
    with pytest.raises(RemoteError, match="no-such-program cannot be started"):
        ChildProcess(["no-such-program"], {"PATH": "/nowhere"}, tmp_path, tmp_path / "log")


def test_an_older_log_is_never_overwritten(tmp_path):
    (tmp_path / "child.log").write_text("evidence")
    with pytest.raises(RemoteError, match=r"child\.log cannot be written: File exists"):
        start(tmp_path, "pass")
    assert (tmp_path / "child.log").read_text() == "evidence"


def test_a_port_that_is_taken_is_refused_before_anything_starts():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(RemoteError, match=f"port {port} on 127.0.0.1 is already taken"):
            require_free_port("127.0.0.1", port)
    require_free_port("127.0.0.1", free_port("127.0.0.1"))


def test_an_engine_is_ended_by_its_mark_and_another_process_with_its_number_is_left_alone(tmp_path: Path):
    process = start(tmp_path, "import time; print('up', flush=True); time.sleep(60)")
    wait_for(process, b"up")
    ticks, boot = mark = process_mark(process.pid)
    assert ticks > 0
    assert process_mark(os.getpid()) != mark
    for other in ((ticks + 1, boot), (ticks, "another boot"), (0, "")):
        assert end_marked(process.pid, other, 1.0) is False
        assert process.exit_code() is None
    assert end_marked(process.pid, mark, 0.2) is True
    assert process.stop(0.1) < 0
    assert end_marked(process.pid, mark, 0.2) is False
    assert process_mark(process.pid) == (0, "")
