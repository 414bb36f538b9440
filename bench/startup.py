"""How long the overview takes, beside the interpreter alone and pip's own help, in one run.

Goal: ``dayzero --help`` under 150 ms. Run it on a quiet machine: ``.venv/bin/python bench/startup.py``.
"""

import statistics
import subprocess
import sys
import time

RUNS = 15
GOAL_MS = 150
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "dayzero --help": [sys.executable, "-m", "dayzero", "--help"],
    "pip --help": [sys.executable, "-m", "pip", "--help"],
}


def milliseconds(command: list[str]) -> float:
    """Time one run of a command."""
    began = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)  # noqa: S603  (fixed words)
    return (time.perf_counter() - began) * 1000


def main() -> None:
    """Print minimum and median of each command, taken in turn so that all see the same machine."""
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, command in COMMANDS.items():
            taken[name].append(milliseconds(command))
    for name, values in taken.items():
        print(f"{name:<16} min {min(values):6.1f} ms   median {statistics.median(values):6.1f} ms")
    verdict = "kept" if statistics.median(taken["dayzero --help"]) < GOAL_MS else "MISSED"
    print(f"goal of {GOAL_MS} ms for the median of dayzero --help: {verdict}")


if __name__ == "__main__":
    main()
