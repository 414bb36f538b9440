"""What an engine's log says of its start, beside what was asked."""

from dayzero.bench.receipt import Dispatched, StartPhase
from dayzero.core.launch import LaunchSpec
from dayzero.serve.dispatch import compare, differences
from dayzero.serve.ports import Launcher
from dayzero.wiring.server_side import Decided


def decided(launcher: Launcher, launch: LaunchSpec, log: bytes, *, log_name: str) -> Decided:
    """Read what an engine decided when it started, and how its start went.

    Args:
        launcher: Knows its launch and its log.
        launch: What it was started with.
        log: Its log.
        log_name: What the log is called in a receipt.
    """
    stated = launcher.resolved(log)
    compared = compare(launcher.asked(launch), stated)
    asked = {one.asked.name: one for one in compared}
    dispatched = tuple(
        Dispatched(
            what=value.name,
            asked="" if (one := asked.get(value.name)) is None else value.value if one.agrees else one.asked.value,
            resolved=value.value,
            source_line=f"{log_name}:{value.line}",
        )
        for value in stated
    )
    phases = tuple(StartPhase(phase.name, phase.seconds) for phase in launcher.start_phases(log))
    return Decided(dispatched=dispatched, start_phases=phases, differences=differences(compared))
