"""Programs of other people's, for the tests that ask them; a test skips, with the reason, where one is not installed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest


def program(name: str) -> str:
    """Find a program beside this Python or on the PATH, or skip the test."""
    found = shutil.which(name, path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def ask(*argv: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, its output as text."""
    return subprocess.run(
        argv, capture_output=True, check=False, text=True, timeout=120, stdin=subprocess.DEVNULL, env=env
    )
