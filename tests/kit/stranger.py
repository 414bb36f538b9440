"""Someone who has a kit's files and a key, reads the README in the archive, and types what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path


def commands(readme: str) -> list[str]:
    """Read the commands of a kit's README, in order."""
    return [line.strip() for line in re.findall(r"^    (\S.*)$", readme.replace("\\\n", ""), re.MULTILINE)]


def typed(folder: Path, script: list[str]) -> subprocess.CompletedProcess[str]:
    """Type commands in a folder, until one fails."""
    return subprocess.run(
        ["bash", "-e", "-c", "\n".join(script)],
        cwd=folder,
        env=surroundings(),
        capture_output=True,
        text=True,
        check=False,
    )


def surroundings() -> dict[str, str]:
    """Give the environment of someone who installed dayzero and the verifier."""
    return {**os.environ, "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))}
