"""Look at an endpoint's contract, and keep what was asked and answered."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dayzero.adapters.contract_endpoint import RecordedEndpoint
from dayzero.adapters.disk import write_whole
from dayzero.adapters.file_digest import digest_of
from dayzero.adapters.openai_http import Connection
from dayzero.core.errors import InputError
from dayzero.gates.contract.document import document
from dayzero.gates.contract.model import Report
from dayzero.gates.contract.registry import CHECKS
from dayzero.gates.contract.run import run
from dayzero.wiring import clock
from dayzero.wiring.laboratory import new_folder
from dayzero.wiring.look import look_at

EXCHANGES: Final = "exchanges.jsonl"
RESULT: Final = "contract.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractRun:
    """What was found, and the document of it that stands beside the exchanges."""

    report: Report
    document: dict[str, object]


def look_at_contract(
    connection: Connection, model: str, folder: Path, *, known: Sequence[str], told: Callable[[str], None]
) -> ContractRun:
    """Make every check, and keep the requests, the answers and the report in a folder.

    Args:
        connection: How the endpoint is reached.
        model: The model to ask for, ``""`` for the only one.
        folder: An empty folder.
        known: Names of checks that are known to be broken.
        told: Hears the name of each check before it is made.

    Raises:
        InputError: The folder is not empty, the model has to be named, or a check is not known by that name.
        RemoteError: The endpoint cannot be reached, or the disk refused.
    """
    names = [check.name for check in CHECKS]
    strange = [name for name in known if name not in names]
    if strange:
        raise InputError(f"there is no check {strange[0]!r}", hint=f"Use one of: {', '.join(names)}.")
    seen = look_at(connection, model)
    new_folder(folder)
    exchanges = folder / EXCHANGES
    timeout_s = connection.timeout_s
    with RecordedEndpoint(seen.server, seen.wording, exchanges, timeout_s=timeout_s, now=clock.now) as endpoint:
        report = run(endpoint, seen.found.how.model, CHECKS, known=known, told=told)
    written = document(
        report,
        url=str(seen.server.address),
        engine=seen.found.engine,
        exchanges={"file": EXCHANGES, "sha256": digest_of(exchanges).hex},
    )
    write_whole(folder / RESULT, json.dumps(written, indent=2, ensure_ascii=False).encode() + b"\n")
    return ContractRun(report=report, document=written)
