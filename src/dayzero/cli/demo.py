"""``dayzero demo``: show me the whole job on this machine."""

import threading
from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.adapters.site.server import serve as serve_site
from dayzero.bringup.laboratory import investigate
from dayzero.bringup.model import Measured, Stopped
from dayzero.bringup.packing import standing_claims
from dayzero.cli.audit import exit_code
from dayzero.cli.main import FINDINGS, PROVEN
from dayzero.cli.output import stderr_console
from dayzero.cli.story import ConsoleNarrator
from dayzero.core.package import Package
from dayzero.core.verdict import Proven, verdict_word
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
        site, code = _publish(definition, file, found, folder, narrator)
    if code == PROVEN and serve:
        _serve(site, site_port)
    return code


def _publish(
    package: Package, file: Path, measured: Measured, folder: Path, narrator: ConsoleNarrator
) -> tuple[Path, int]:
    narrator.step("file", "every number as a claim on a raw file")
    ledger = publishing.file_evidence(package, measured, folder)
    claims = {claim.slug: claim for claim in standing_claims(package, ledger)}
    for reference in package.claims:
        narrator.say(claims[package.slug(reference)].text, reference.label)
    narrator.step("pack", "definition, deploy files and evidence into one signed kit")
    kit = publishing.pack_kit(package, file.read_text(encoding="utf-8"), measured, ledger, folder)
    narrator.say(
        "packed", f"{laboratory.shown(kit.archive)}, {kit.facts.size}, {kit.facts.weight_bytes.count} weight bytes"
    )
    narrator.say(
        "signed", f"with a demo key made on the spot ({kit.facts.key_fingerprint[:16]}): integrity, not identity"
    )
    narrator.say("verified", f"dayzero-verify {laboratory.shown(kit.archive)} --key {laboratory.shown(kit.key)}")
    narrator.step("list", "the card, its numbers read from the ledger")
    site = publishing.build_site(package, ledger, kit.facts, folder)
    narrator.say("listed", str(laboratory.shown(site)))
    report = publishing.check_evidence(ledger, folder)
    narrator.say(verdict_word(report.verdict), report.verdict.reason)
    for finding in report.findings:
        narrator.say("finding", str(finding))
    return site, PROVEN if isinstance(report.verdict, Proven) else FINDINGS


def _stopped(stopped: Stopped) -> int:
    console = stderr_console()
    console.print(f"\nstopped at {stopped.step}: {stopped.verdict.reason}", markup=False)
    for path in stopped.kept:
        console.print(f"kept: {path}", markup=False)
    console.print("no receipt was written", markup=False)
    return exit_code(stopped.verdict)


def _serve(site: Path, port: int) -> None:
    with serve_site(site.parent, port=port) as address:
        print(f"\nserving the catalog at {address} until Ctrl-C", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            stderr_console().print("stopped")
