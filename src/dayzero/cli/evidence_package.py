"""``dayzero evidence package``: file what a package's run and its audit show."""

from pathlib import Path

from dayzero.cli.console import stderr_console
from dayzero.cli.main import PROVEN
from dayzero.wiring import definitions
from dayzero.wiring.package_evidence import file_package


def package(
    package: str, root: Path = Path(), *, run: Path | None = None, audit: Path | None = None, command: str = ""
) -> int:
    """File every claim that a package's definition names, and the steps that its run and its audit reached.

    The values are extracted from the run's files; nothing is filed when one is not there, or when the run is of another recipe
    than the definition says now. Of a run that is not valid only the start is filed.

    Args:
        package: Name, folder or file of the package.
        root: Folder that holds evidence/.
        run: Folder that dayzero bench PACKAGE --url wrote.
        audit: Report that dayzero audit PACKAGE --output-format json wrote.
        command: How the files came about, where it should be said in other words; it is published.
    """
    shown = file_package(definitions.package(package), root, run=run, audit=audit, command=command)
    for path in shown.filed.moved_aside:
        stderr_console().print(f"A half line at the end of the ledger was moved to {path}.")
    for claim in shown.claims:
        print(f"{claim.slug}: {claim.text}")
    return PROVEN
