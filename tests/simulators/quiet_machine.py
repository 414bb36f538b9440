"""A machine on which the client is never late, as far as validity knows.

Whether a run that a test measures for real is valid depends on what else the machine does meanwhile. Where that is not what
the test is about, the rules about the client and its machine are left out; tests/bench holds each of them against rows.
"""

from pathlib import Path
from typing import Final

from dayzero.bench import validity

_ROOT: Final = Path(__file__).parents[2]

OF_THE_MACHINE: Final = frozenset(
    {"run-queue", "clock", "in-flight", "dispatch-lag", "client-lag", "censored", "steady-ttft", "steady-rate"}
)


def assume() -> None:
    """Leave the rules out in this process, for good."""
    validity.RUN_RULES = tuple(rule for rule in validity.RUN_RULES if rule.id not in OF_THE_MACHINE)
    validity.CELL_RULES = tuple(rule for rule in validity.CELL_RULES if rule.id not in OF_THE_MACHINE)


def program() -> str:
    """Write the program that is ``dayzero``, with the rules left out in its process."""
    return (
        f"import sys; sys.path.append({str(_ROOT)!r}); from tests.simulators.quiet_machine import assume; assume();"
        "from dayzero.cli.main import main; main()"
    )
