"""Say which git commit a file is of."""

import os
import subprocess
from pathlib import Path

from dayzero.core.pins import Commit

_SECONDS = 20


def committed_at(file: Path) -> tuple[str, Commit] | None:
    """Give a file's path in its checkout and the checkout's commit.

    ``None`` where it lies in no checkout, differs from that commit, or there is no git.
    """
    folder = file.resolve().parent
    prefix = _git(folder, "rev-parse", "--show-prefix")
    head = _git(folder, "rev-parse", "HEAD")
    if prefix is None or head is None:
        return None
    path = prefix.rstrip("\n") + file.resolve().name
    committed = _git(folder, "rev-parse", f"HEAD:{path}")
    lying = _git(folder, "hash-object", "--no-filters", "--", file.resolve().name)
    return (path, Commit(head.strip())) if committed is not None and committed == lying else None


def _git(folder: Path, *words: str) -> str | None:
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *words]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(  # noqa: S603  (the words are our own, no shell reads them)
            command, capture_output=True, check=False, timeout=_SECONDS, env=environment
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
