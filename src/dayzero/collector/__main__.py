"""``python FOLDER``: answer requests on stdin. Makes this folder importable under its name, and nothing else of dayzero."""

import sys
import types
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def name_this_folder() -> None:
    """Let ``dayzero.collector`` be this folder, whatever else the Python that runs this has."""
    outer = types.ModuleType("dayzero")
    outer.__path__ = []
    inner = types.ModuleType("dayzero.collector")
    inner.__path__ = [str(_HERE)]
    sys.modules.update({"dayzero": outer, "dayzero.collector": inner})
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]


if __name__ == "__main__":
    name_this_folder()
    from dayzero.collector.loop import main

    main()
