"""``dayzero weights``: put a package's pinned weights into a folder, verified."""

from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.main import PROVEN
from dayzero.wiring import definitions, laboratory


def weights(package: str, *, output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])]) -> int:
    """Bring every pinned file into a folder and hold it to its sha256; files that are there already are checked.

    Args:
        package: Name, folder or file of the package.
        output: Folder for the files.
    """
    for file in laboratory.weights(definitions.package(package).recipe.model, output):
        print(file)
    return PROVEN
