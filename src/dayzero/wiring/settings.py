"""Settings: where things are kept, and which Python runs them."""

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Say where engines, wheels and weights are kept: ``$DAYZERO_CACHE``, else ``dayzero`` in the user's cache folder."""
    chosen = os.environ.get("DAYZERO_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dayzero"


def python_executable() -> str:
    """Give the interpreter that runs pip and the embedded engine."""
    return sys.executable
