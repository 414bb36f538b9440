"""Options that the commands of ``dayzero perfdb`` share."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, TypeAlias

import cyclopts

from dayzero.adapters.keys import load_public_key
from dayzero.perfdb.model import Import
from dayzero.wiring.perfdb import Database
from dayzero_verify.keys import PublicKey

SCHEMA = "dayzero/perfdb/v1"

ImportId: TypeAlias = Annotated[
    str, cyclopts.Parameter(name="--import", help="First digits of the import's id; the newest without it.")
]
Evidence: TypeAlias = Annotated[
    Path | None, cyclopts.Parameter(name="--evidence", help="Folder that holds evidence/ with retractions of rows.")
]
Keys: TypeAlias = Annotated[
    tuple[Path, ...],
    cyclopts.Parameter(
        name="--key",
        negative=(),
        help="Public key whose records count; without one each record counts whose signature holds.",
    ),
]
Where: TypeAlias = Annotated[
    tuple[str, ...],
    cyclopts.Parameter(name="--where", negative=(), help="Condition on a column, as in topk=16; can be repeated."),
]


def trusted(keys: Iterable[Path]) -> tuple[PublicKey, ...]:
    """Read the public keys."""
    return tuple(load_public_key(key) for key in keys)


def title(made: Import) -> str:
    """Name an import in one line."""
    return f"{made.upstream} {made.version}".strip() + f", import {made.id}"


def opened_title(opened: Database) -> str:
    """Name the import that is open, and say where it was taken for the newest of several."""
    told = f", the newest of {opened.unnamed}; --import names another" if opened.unnamed > 1 else ""
    return title(opened.made) + told
