"""The program as its users run it: in a subprocess, in a fresh folder."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.simulators import quiet_machine

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def dayzero() -> Run:
    """Run ``dayzero WORDS`` and give what it said; on a quiet machine, or what it takes for one."""

    def run(*words: str, cwd: Path, timeout: float = 240, quiet: bool = False) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-c", quiet_machine.program(), *words] if quiet else command(words)
        return subprocess.run(
            program, cwd=cwd, env=environment(), capture_output=True, text=True, check=False, timeout=timeout
        )

    return run


@pytest.fixture(scope="session")
def tiny_demo(tmp_path_factory, embedded_engine, dayzero: Run) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """One complete bring-up of the tiny Kimi-K3, shared by the tests that only read it: its folder, and what it said."""
    assert embedded_engine
    folder = tmp_path_factory.mktemp("tiny")
    return folder, dayzero("demo", "--no-serve", "--port", str(free_port()), cwd=folder, quiet=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def command(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "dayzero", *words]


def environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}


def engines_below(folder: Path) -> list[int]:
    """Find processes that were started inside a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cwd").readlink().is_relative_to(folder):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found
