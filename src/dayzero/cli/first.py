"""``dayzero first``: which release of an engine serves this model first, and what still fails on it?"""

import shutil
from typing import Annotated

import cyclopts

from dayzero.audit.document import document as subject_document
from dayzero.cli.audit_text import audit_lines
from dayzero.cli.console import stderr_console
from dayzero.cli.main import FINDINGS, PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.wiring import audit as wiring
from dayzero.wiring.first import First, first_release

SCHEMA = "dayzero/first/v1"
_NARROWEST, _WIDEST = 60, 120


def first(  # noqa: PLR0913  (each is a word of the command line)
    model: str,
    *,
    engine: str,
    system: str = "",
    since: str = "",
    offline: Annotated[bool, cyclopts.Parameter(negative="")] = False,
    output_format: OutputFormat = "text",
) -> int:
    """Find the first release of an engine whose files register the model's architecture, and audit that release.

    Releases are bisected: about four wheels are fetched, of which only the text is kept.

    Exit code 0: there is one. 1: no release has it.

    Args:
        model: The model's config.json, its folder or its name on the hub.
        engine: The engine's name on the package index, vllm or sglang.
        system: The GPUs, 8xb300.
        since: Look at no release before this one.
        offline: Look only at the releases that are kept here.
        output_format: How the result is written to stdout.
    """
    console = stderr_console()
    with console.status("") as status:
        found = first_release(model, engine, since=since, offline=offline, progress=status.update)
        if found.release:
            question = wiring.Question(
                target=model, engine=f"{engine}=={found.release}", system=system, env={}, offline=offline
            )
            audit, subject, _ = wiring.answered(question, status.update)
    words = _words(found, engine)
    if output_format == "json":
        print_json(
            {
                "schema": SCHEMA,
                "engine": engine,
                "architecture": found.architecture,
                "first": found.release,
                "without": found.without,
                "read": list(found.read),
                "skipped": list(found.skipped),
                "audit": subject_document(audit, subject, model) if found.release else None,
            }
        )
    else:
        print(words)
        if found.release:
            width = max(_NARROWEST, min(shutil.get_terminal_size((_WIDEST, 0)).columns, _WIDEST))
            print("\n".join(audit_lines(audit, subject, model, everything=False, width=width)))
    return PROVEN if found.release else FINDINGS


def _words(found: First, engine: str) -> str:
    read = f"read {len(found.read)} of {found.offered} releases"
    skipped = f"; not readable: {', '.join(found.skipped)}" if found.skipped else ""
    if not found.release:
        return f"No release of {engine} registers {found.architecture}; the newest is {found.without} ({read}{skipped})"
    before = f"{found.without} does not" if found.without else "no older release was looked at"
    return (
        f"{engine} {found.release} is the first release that registers {found.architecture}; {before} ({read}{skipped})"
    )
