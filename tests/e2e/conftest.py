"""The program as its users run it: in a subprocess, in a fresh folder."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def dayzero() -> Run:
    """Run ``dayzero WORDS`` and give what it said."""

    def run(*words: str, cwd: Path, timeout: float = 240) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(words), cwd=cwd, env=environment(), capture_output=True, text=True, check=False, timeout=timeout
        )

    return run


def command(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "dayzero", *words]


def environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
