"""The live view draws in a process of its own, and never holds up who tells it."""

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from dataclasses import replace
from typing import Any

import pytest

from dayzero.bench.model import Progress
from dayzero.cli.live_view import Seen, lines, words

START = Progress(cell="c64", phase="warmup", done=4, planned=2064, failed=0, in_flight=64, received_bytes=0)


def seen(**changes: Any):
    return Seen(progress=replace(START, **changes), first=START, now_s=10.0, first_s=0.0)


def test_a_cell_says_where_it_stands_how_fast_it_goes_and_when_it_ends():
    told = seen(phase="measured", done=1004, received_bytes=20 * 1024 * 1024)
    assert words(told, 12.0) == (
        "c64 measured",
        "━━━━━━━━━━━─────────────",
        "1,004/2,064",
        "64 in flight",
        "100.0 req/s",
        "2.00 MiB/s",
        "0:12 elapsed",
        "0:11 left",
    )


def test_nothing_is_said_of_what_is_not_known():
    quiet = Seen(progress=replace(START, in_flight=0), first=START, now_s=0.0, first_s=0.0)
    assert words(quiet, 3.0) == ("c64 warmup", "─" * 24, "4/2,064", "0:03 elapsed")


def test_failures_are_told_and_an_hour_is_an_hour():
    told = words(seen(done=1004, failed=3), 3723.0)
    assert "3 FAILED" in told
    assert "1:02:03 elapsed" in told


@pytest.mark.parametrize("planned", [0, 1, 4, 2064])
def test_the_bar_never_overflows(planned):
    for field in words(seen(planned=planned, done=5000), 1.0):
        assert len(field) <= 24


def test_lines_come_from_what_is_told_and_end_with_the_pipe():
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as source:
        os.write(writing, b'[3.0, "loading"]\n')
        told = lines(source, lambda: 1.0)
        assert next(told) == "waiting for health, 3 s: loading"
        os.write(writing, b'["c4", "measured", 3, 9, 0, 2, 100]\n["c4", ')
        assert next(told).startswith("c4 measured")
        os.close(writing)
        assert list(told) == []


PROGRAM = """
import os, sys
import dayzero.cli.live_view as view
from dayzero.bench.model import Progress
view._VIEWER = {viewer!r}
view._CLOSE_S = 0.1
with view.live_view() as (wait, show):
    show(Progress(cell="c4", phase="measured", done=1, planned=9, failed=0))
    {before}
    for second in range(20_000):
        wait(second, "loading the weights")
print("rich" in sys.modules)
"""


@pytest.mark.parametrize(
    ("viewer", "before"),
    [
        ("import time; time.sleep(30)", "pass"),
        ("import sys; sys.exit(1)", "os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)"),
    ],
    ids=["never reads", "died"],
)
def test_a_viewer_holds_nobody_up_and_the_teller_loads_nothing_that_draws(viewer, before):
    program = PROGRAM.format(viewer=viewer, before=before)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False, timeout=20
    )
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr


def drawn_on_a_terminal(program: str, *steps: str) -> str:
    """Run a program whose standard error is a terminal, let it go on whenever the next step is drawn, and give all of it."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=theirs, env=environment) as process:
        os.close(theirs)
        left = list(steps)
        drawn = b""
        with contextlib.suppress(OSError):  # Linux says EIO when the other end is closed
            while piece := os.read(ours, 4096):
                drawn += piece
                if left and left[0].encode() in drawn:
                    del left[0]
                    os.write(process.stdin.fileno(), b"\n")  # type: ignore[union-attr]
        assert process.wait(timeout=20) == 0
    os.close(ours)
    return drawn.decode()


TOLD = """
from dayzero.bench.model import Progress
from dayzero.cli.live_view import live_view
with live_view() as (wait, show):
    wait(3, "loading the weights")
    input()
    show(Progress(cell="c4", phase="measured", done=3, planned=9, failed=1, in_flight=4))
    input()
"""


def test_what_is_told_is_drawn_on_the_terminal_and_wiped_at_the_end():
    drawn = drawn_on_a_terminal(TOLD, "loading the weights", "1 FAILED")
    assert "waiting for health, 3 s: loading the weights" in drawn
    assert "c4 measured  ━━━━━━━━────────────────  3/9  4 in flight" in drawn
    assert "1 FAILED" in drawn
    assert "Traceback" not in drawn
    assert drawn.rindex("\x1b[2K") > drawn.rindex("1 FAILED")
