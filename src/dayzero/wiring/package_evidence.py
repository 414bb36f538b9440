"""File what a package's run and its audit show: the claims that its definition names, and the steps that it reached."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from dayzero.bringup.filing import file_run
from dayzero.bringup.model import Captured
from dayzero.bringup.record import NAME as RECORD_NAME
from dayzero.bringup.record import SCHEMA as RECORD_SCHEMA
from dayzero.core.errors import InputError
from dayzero.core.package import Package
from dayzero.evidence.claims import Capture, Draft, file_raw, make_claim
from dayzero.evidence.ledger import Filed, Ledger
from dayzero.evidence.locator import PointerLocator
from dayzero.evidence.model import Claim, Extraction, Record
from dayzero.evidence.subject import recipe_digest
from dayzero.wiring import clock
from dayzero.wiring.plugins import extractors
from dayzero.wiring.store import Repository, open_repository

AUDIT_SCHEMA = "dayzero/audit/v1"
_OF_A_START = ("start.json", "engine.log", RECORD_NAME)
_FILED = ("requests.jsonl", "receipt.json", *_OF_A_START)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What was filed.

    Attributes:
        claims: The claims, in the order of the definition, then the steps.
        filed: What the ledger did.
    """

    claims: tuple[Claim, ...]
    filed: Filed


def file_package(package: Package, root: Path, *, run: Path | None, audit: Path | None, command: str) -> Shown:
    """File a run of a package, its audit, or both; nothing is filed when one value is not where the definition says.

    Of a run that is not valid only the start is filed, and what rests on it: no number of its requests is published.

    Args:
        package: The package.
        root: Folder that holds evidence/.
        run: Folder that ``dayzero bench PACKAGE --url`` wrote; ``None`` without one.
        audit: Report that ``dayzero audit PACKAGE --output-format json`` wrote; ``None`` without one.
        command: How the files came about, where it should be said in other words; ``""`` for the commands above.

    Raises:
        InputError: Neither is given, or one is about another package or recipe.
        EvidenceError: A value is not in its file.
        RemoteError: The disk refused.
    """
    if run is None and audit is None:
        raise InputError("nothing to file", hint="Give --run, --audit, or both.")
    repository = open_repository(root)
    records: list[Record] = []
    if audit is not None:
        records += _audit(package, audit, repository, command)
    if run is not None:
        records += _run(package, run, repository, command)
    filed = repository.file(lambda ledger: _unsaid(records, ledger))
    return Shown(claims=tuple(one for one in records if isinstance(one, Claim)), filed=filed)


def _unsaid(records: Iterable[Record], ledger: Ledger) -> tuple[Record, ...]:
    said = {entry.record for entry in ledger.entries}
    return tuple(one for one in records if one not in said)


def _run(package: Package, folder: Path, repository: Repository, command: str) -> tuple[Record, ...]:
    record = _document(folder / RECORD_NAME)
    same = record.get("recipe") == recipe_digest(package.recipe).hex and record.get("schema") == RECORD_SCHEMA
    if not same:
        raise InputError(
            f"{folder / RECORD_NAME} is not of this recipe", hint=f"Measure {package.name} as it is defined now."
        )
    valid = (folder / "receipt.json").is_file()
    left = (folder / name for name in (_FILED if valid else _OF_A_START))
    captured = tuple(_captured(package, file, command) for file in left if file.is_file())
    names = {file.name for file in captured}
    claims = package.claims if valid else tuple(claim for claim in package.claims if claim.source in names)
    about = replace(package, claims=claims)
    return file_run(about, captured, repository.raw, extractors(), captured_at=str(record["at"]))


def _captured(package: Package, file: Path, command: str) -> Captured:
    made = command or f"dayzero bench {package.name} --url"
    return Captured(name=file.name, content=file.read_bytes(), command=made)


def _audit(package: Package, file: Path, repository: Repository, command: str) -> tuple[Record, ...]:
    document, build, recipe = _document(file), str(package.recipe.engine), recipe_digest(package.recipe)
    about = tuple(document.get(key) for key in ("schema", "build", "recipe"))
    if about != (AUDIT_SCHEMA, build, recipe.hex):
        raise InputError(
            f"{file} is no audit of {package.name} on {build}",
            hint=f"dayzero audit {package.name} --output-format json > FILE",
        )
    content = file.read_bytes()
    made = command or f"dayzero audit {package.name} --output-format json"
    raw = file_raw(
        repository.raw, content, Capture(name="audit.json", captured_at=clock.written_at(file), command=made)
    )
    draft = Draft(
        slug=f"{package.name}/status-resolves",
        label="status ladder: resolves, as the audit of the released files answers",
        unit="",
        locator=PointerLocator(pointer="/verdict"),
        extraction=Extraction(extractor="json-value@1", parameters=()),
        subject=recipe,
    )
    return (raw, make_claim(content, draft, extractors()))


def _document(file: Path) -> dict[str, object]:
    try:
        document = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(
            f"{file} cannot be read: {error}", hint="Name the folder or file that the command wrote."
        ) from error
    if not isinstance(document, dict):
        raise InputError(f"{file} is no JSON object", hint="Name the folder or file that the command wrote.")
    return document
