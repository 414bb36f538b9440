"""``dayzero demo``: show me the whole job on this machine."""

import threading
from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.adapters.site.server import serve as serve_site
from dayzero.bringup.laboratory import investigate
from dayzero.bringup.model import Stopped
from dayzero.cli.console import stderr_console
from dayzero.cli.main import PROVEN, exit_code
from dayzero.cli.story import ConsoleNarrator
from dayzero.wiring import definitions, laboratory, publishing

_PREFIX = "demo-"
_DEFAULT = "kimi-k3-tiny"


def demo(
    package: str = _DEFAULT,
    *,
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])] = Path("dayzero-demo"),
    serve: bool = True,
    port: int = 0,
    site_port: int = 0,
) -> int:
    """Bring a package up for real: audit, fit, serve, measure, file, pack, sign, verify and list it.

    Everything stays in the output folder; an earlier run there is moved aside. Exit code 0: a real engine served, was
    measured, packed, signed, verified and listed. 1: something was refuted. 3: something was left undecided.

    Args:
        package: kimi-k3-tiny, smollm2, or any other package of this machine's size.
        output: Folder for everything that the run leaves.
        serve: Serve the catalog at the end until Ctrl-C.
        port: Port for the engine instead of the package's.
        site_port: Port for the catalog; 0 takes a free one.
    """
    file = definitions.package_file(f"{_PREFIX}{package}" if package in {_DEFAULT, "smollm2"} else package)
    definition = definitions.package(str(file))
    folder = laboratory.fresh_folder(output / definition.name)
    steps = 2 * len(definition.walls) + 7
    with ConsoleNarrator(steps) as narrator:
        bench = laboratory.LocalWorkbench(folder, port=port)
        found = investigate(definition, bench, narrator)
        if isinstance(found, Stopped):
            return _stopped(found)
        published = publishing.publish(definition, file.read_text(encoding="utf-8"), found, folder, narrator)
    code = exit_code(published.evidence.verdict)
    if code == PROVEN and serve:
        _serve(published.site, site_port)
    return code


def _stopped(stopped: Stopped) -> int:
    console = stderr_console()
    console.print(f"\nstopped at {stopped.step}: {stopped.verdict.reason}", markup=False)
    for path in stopped.kept:
        console.print(f"kept: {path}", markup=False)
    console.print("no receipt was written", markup=False)
    return exit_code(stopped.verdict)


def _serve(site: Path, port: int) -> None:
    with serve_site(site.parent, port=port) as address:
        try:
            print(f"\nserving the catalog at {address} until Ctrl-C", flush=True)
            threading.Event().wait()
        except KeyboardInterrupt:
            stderr_console().print("stopped")
