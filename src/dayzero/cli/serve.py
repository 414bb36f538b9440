"""``dayzero serve``: start it and wait until it is healthy."""

from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.bringup.laboratory import tell_start
from dayzero.cli.main import FINDINGS, PROVEN, UNDECIDED
from dayzero.cli.story import ConsoleNarrator
from dayzero.serve.model import Died, Healthy, TimedOut
from dayzero.wiring import definitions, laboratory


def serve(
    package: str,
    *,
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])],
    port: int = 0,
    check: Annotated[bool, cyclopts.Parameter(negative="")] = False,
) -> int:
    """Start the pinned build with the package's settings, wait until it is healthy, and serve until Ctrl-C.

    The log stays in the output folder as raw evidence. Exit code 0: it was healthy and was stopped on request.
    1: it died. 3: it was not healthy within its start budget, or ended later.

    Args:
        package: Name, folder or file of the package.
        output: Folder for the launch files and the log.
        port: Port to serve on instead of the package's.
        check: Stop as soon as it is healthy.
    """
    definition = definitions.package(package)
    bench = laboratory.LocalWorkbench(laboratory.new_folder(output), port=port)
    with ConsoleNarrator(steps=1) as narrator:
        narrator.step("serve", f"{definition.recipe.engine}, start budget {definition.recipe.start_budget_s} s")
        with bench.start(definition.recipe, definition.recipe.engine, "engine.log") as session:
            start = session.wait(narrator.waiting)
            tell_start(start, session, narrator)
            match start:
                case Died():
                    return FINDINGS
                case TimedOut():
                    return UNDECIDED
                case Healthy():
                    session.keep_start(definition.recipe, start)
                    return PROVEN if check else _until_interrupted(session, narrator)


def _until_interrupted(session: "laboratory.LocalSession", narrator: ConsoleNarrator) -> int:
    try:
        narrator.say("serving", "until Ctrl-C")
        code = session.wait_for_end()
    except KeyboardInterrupt:
        narrator.say("stopped", "on request")
        return PROVEN
    narrator.say("died", f"with exit code {code}; see {session.log_path}")
    return UNDECIDED
