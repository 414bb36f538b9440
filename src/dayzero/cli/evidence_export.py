"""``dayzero evidence export``: write a kit and its evidence in the form that others read."""

from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.console import stderr_console
from dayzero.cli.main import PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.evidence.model import Retraction
from dayzero.kit.ro_crate import CRATE_NAME
from dayzero.wiring.export import SITE_FOLDER, Exported, export_kit
from dayzero.wiring.store import open_repository

SCHEMA = "dayzero/evidence-export/v1"


def export(  # noqa: PLR0913  (each argument is one option)
    root: Path = Path(),
    *,
    kit: Path,
    key: Annotated[tuple[Path, ...], cyclopts.Parameter(name="--key", negative=())],
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])],
    attestation: Path | None = None,
    output_format: OutputFormat = "text",
) -> int:
    """Verify a kit and unpack it as an RO-Crate: its files, a page for each claim, and ro-crate-metadata.json.

    What the ledger under ROOT says on the kit's claims since it was packed is honoured: a claim that was taken back has no
    value in the crate. Exit 0: exported; 4: the kit does not verify, and nothing is written.

    Args:
        root: Folder that holds evidence/; another ledger than the kit's own is left alone.
        kit: The kit's archive.
        key: A public key in PEM that you trust, from somewhere else than the kit; can be given again.
        output: The new folder.
        attestation: The signed statements; KIT with .intoto.jsonl for .zip when left out.
        output_format: How the result is written to stdout.
    """
    known = open_repository(root).ledger
    exported = export_kit(kit, output, keys=key, attestation=attestation, known=known)
    if output_format == "json":
        print_json(_document(exported, output))
    else:
        _print(exported, output)
    if not exported.continued:
        stderr_console().print(
            f"The ledger under {root} is not the one of the kit, so what was said since it was packed is not known.",
            markup=False,
        )
    return PROVEN


def _print(exported: Exported, output: Path) -> None:
    mark = ", signed with a demo key: integrity, not identity" if exported.facts.demo_key else ""
    print(f"{exported.kit}: verified{mark}")
    for event in exported.later:
        said = event.word if isinstance(event, Retraction) else type(event).__name__.lower()
        print(f"  since then {event.slug}: {said} {event.at}: {event.reason}")
    print(f"exported {exported.files} files of the kit to {output}")
    print(f"  {output / CRATE_NAME}")
    print(f"  {output / SITE_FOLDER / 'index.html'}, with {exported.claims} claim pages")


def _document(exported: Exported, output: Path) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "kit": exported.kit,
        "demo_key": exported.facts.demo_key,
        "folder": str(output),
        "crate": str(output / CRATE_NAME),
        "site": str(output / SITE_FOLDER / "index.html"),
        "files": exported.files,
        "claims": exported.claims,
        "ledger_continued": exported.continued,
        "later": [
            {"slug": event.slug, "event": type(event).__name__.lower(), "at": event.at, "reason": event.reason}
            for event in exported.later
        ],
    }
