"""Programs of other people's that check a file, run where they are installed."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from dayzero.core.verdict import Place, Proven, Refuted, Undecided, Verdict

_BUDGET_S = 120


def ask_validator(
    command: Sequence[str], file: Path, *, folder_variable: str = "", beside_the_point: str = ""
) -> Verdict:
    """Run a validator on one file: proven when it accepts it, undecided when it is not installed or does not end.

    It is looked for beside this Python first, then on the ``PATH``.

    Args:
        command: Its words, the program first; the file's path is added.
        file: The file.
        folder_variable: Environment variable that names the file's folder, where the program takes that and no path.
        beside_the_point: Regular expression of output lines that say nothing about the file, ``""`` for none. A failure that
            shows no other line is none.
    """
    search = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    program = shutil.which(command[0], path=search)
    if program is None:
        return Undecided(f"{command[0]} is not installed")
    # Some programs take a bare name for something else than a file in this folder.
    argv = (program, *command[1:], *(() if folder_variable else (str(file.absolute()),)))
    env = {**os.environ, folder_variable: str(file.absolute().parent)} if folder_variable else None
    try:
        done = subprocess.run(  # noqa: S603  (the words are a target's own, no shell reads them)
            argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_BUDGET_S, env=env
        )
    except subprocess.TimeoutExpired:
        return Undecided(f"{command[0]} did not end within {_BUDGET_S} s")
    except OSError as error:
        return Undecided(f"{command[0]} could not be started: {error.strerror}")
    output = (done.stdout + done.stderr).decode("utf-8", "replace")
    lines = [line for line in output.splitlines() if line.strip()]
    said = [line for line in lines if not (beside_the_point and re.fullmatch(beside_the_point, line))]
    if done.returncode == 0 or (lines and not said and done.returncode > 0):
        return Proven(f"{command[0]} accepts it")
    place = Place(artifact="", file=str(file), quote=said[0] if said else "")
    return Refuted(f"{command[0]} refuses it: {said[0] if said else f'exit code {done.returncode}'}", (place,))
