"""``dayzero weights``: put a package's pinned weights into a folder, verified."""

import sys
from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.main import PROVEN
from dayzero.wiring import definitions, laboratory


def weights(
    package: str,
    *,
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])],
    endpoint: str = "",
) -> int:
    """Bring every pinned file into a folder and hold it to its sha256; files that are there already are checked.

    Weights on a hub are hashed while they are downloaded, and what was interrupted is taken up. HF_TOKEN, where it is set, is
    sent to the endpoint's own host only. The folder's .dayzero-weights.jsonl remembers what was hashed:
    dayzero-verify --weights full --resume reads it.

    Args:
        package: Name, folder or file of the package.
        output: Folder for the files.
        endpoint: The hub, or a mirror of it; default: $HF_ENDPOINT, else https://huggingface.co.
    """
    model = definitions.package(package).recipe.model
    for file in laboratory.downloaded_weights(model, output, endpoint=endpoint, say=_say):
        print(file)
    return PROVEN


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
