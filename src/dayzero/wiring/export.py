"""Unpack a verified kit as an RO-Crate: its files, the pages of its claims, and the description of both."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dayzero.adapters.new_folder import NewFile, write_new_folder
from dayzero.adapters.package_files import parse_package
from dayzero.catalog.model import KitFacts
from dayzero.core.errors import InputError
from dayzero.evidence.ledger import Ledger, parse
from dayzero.evidence.model import (
    WITHDRAW,
    Claim,
    Concern,
    Correction,
    Derived,
    Expiry,
    Explanation,
    RawFile,
    Reaffirmation,
    Retraction,
)
from dayzero.evidence.state import Corrected, Standing, Superseded
from dayzero.kit.ro_crate import CRATE_NAME, ro_crate
from dayzero.wiring.catalog_source import offer_of
from dayzero.wiring.kit_contents import RawInKit
from dayzero.wiring.kits import facts_of, verified
from dayzero.wiring.site import site_files
from dayzero_verify.canonical_zip import ArchivedFile
from dayzero_verify.kit import RAW_FOLDER
from dayzero_verify.statement import LEDGER_PATH

SITE_FOLDER, DEFINITION = "site", "package.toml"

Said: TypeAlias = Retraction | Correction | Concern | Reaffirmation | Expiry


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written.

    Attributes:
        kit: Name and version of the kit.
        facts: What is known of it.
        files: How many files of the kit were unpacked.
        claims: How many pages of claims lie beside them.
        continued: True when the other ledger goes on where the kit's ends, so that later retractions would be known.
        later: What was said on its claims after it was packed, oldest first; the pages and the crate know it.
    """

    kit: str
    facts: KitFacts
    files: int
    claims: int
    continued: bool
    later: tuple[Said, ...]


def export_kit(
    kit: Path, folder: Path, *, keys: Sequence[Path], attestation: Path | None = None, known: Ledger
) -> Exported:
    """Verify a kit and write it into a new folder, with ``ro-crate-metadata.json`` and the pages of its claims.

    Args:
        kit: The archive.
        folder: The new folder.
        keys: Public keys that are trusted.
        attestation: The kit's signed statements; ``None`` for the file beside it.
        known: A ledger that may go on where the kit's ends: what it says later on claims of the kit is believed.

    Raises:
        EvidenceError: The kit holds no evidence.
        InputError: A file cannot be read, the folder is there already, or the kit's definition is not valid.
        IntegrityError: The verifier does not accept the kit, or its ledger or definition contradicts it.
        RemoteError: The disk refused.
    """
    content, _ = verified(kit, attestation, keys)
    files = {file.path: file.content for file in content.files}
    own = parse(_need(files, LEDGER_PATH), file=f"{kit}:{LEDGER_PATH}")
    continued = _continues(own, known)
    later = _later(own, known) if continued else ()
    ledger = _about(own.append(later)[0], files)
    definition = _need(files, DEFINITION).decode("utf-8")
    package = parse_package(
        definition,
        f"{kit}:{DEFINITION}",
        beside=lambda name: _need(files, name).decode("utf-8"),
    )
    facts = facts_of(package, kit, keys, attestation=attestation)
    raw = RawInKit(files)
    offer = offer_of(package, definition, ledger, raw, (facts, None))
    pages = tuple((f"{SITE_FOLDER}/{path}", page) for path, page in site_files(offer))
    beside: list[NewFile] = [(path, page, False) for path, page in pages]
    beside.append((CRATE_NAME, ro_crate(content, ledger, pages), False))
    write_new_folder(folder, [*_unpacked(content.files), *beside])
    return Exported(
        kit=content.statement.name,
        facts=facts,
        files=len(content.files),
        claims=len(offer.catalog.pages),
        continued=continued,
        later=later,
    )


def _about(ledger: Ledger, files: Mapping[str, bytes]) -> Ledger:
    """Leave out what the kit carries no raw file for: a ledger travels whole, and may speak of other recipes too."""
    gone: set[str] = set()
    for slug, state in ledger.standings().items():
        if isinstance(state, Standing) and isinstance(state.claim, Claim):
            gone |= {slug} if f"{RAW_FOLDER}{state.claim.raw}" not in files else set()
    for entry in ledger.entries:
        match entry.record:
            case Derived(slug=slug, inputs=cited) | Explanation(slug=slug, facts=cited) if gone.intersection(cited):
                gone.add(slug)
            case _:
                pass
    kept = (entry for entry in ledger.entries if getattr(entry.record, "slug", "") not in gone)
    return Ledger(
        tuple(
            entry
            for entry in kept
            if not isinstance(entry.record, RawFile) or f"{RAW_FOLDER}{entry.record.sha256}" in files
        )
    )


def _need(files: dict[str, bytes], path: str) -> bytes:
    if path not in files:
        raise InputError(f"the kit holds no {path}", hint="Take a kit that dayzero packed.")
    return files[path]


def _continues(own: Ledger, known: Ledger) -> bool:
    return bool(own.entries) and known.entries[: len(own.entries)] == own.entries


def _later(own: Ledger, known: Ledger) -> tuple[Said, ...]:
    """Find what was said on the kit's claims after it was packed.

    A later claim is not in the kit, so the one whose place it took is withdrawn here, which prints too little, never too much.
    """
    packed = len(own.entries)
    slugs = own.histories()
    said: list[tuple[int, Said]] = [
        (entry.seq + 1, entry.record)
        for entry in known.entries[packed:]
        if isinstance(entry.record, Said) and entry.record.slug in slugs
    ]
    said += [
        (state.by_line, _replaced(slug, state, known))
        for slug in slugs
        for state in known.history(slug)
        if isinstance(state, Superseded | Corrected) and state.line <= packed < state.by_line
    ]
    return tuple(event for _, event in sorted(said, key=lambda pair: pair[0]))


def _replaced(slug: str, state: Superseded | Corrected, known: Ledger) -> Retraction:
    why = f": {state.correction.reason}" if isinstance(state, Corrected) else "."
    captured = (entry.record for entry in known.entries[: state.by_line] if isinstance(entry.record, RawFile))
    return Retraction(
        slug=slug,
        kind=WITHDRAW,
        reason=f"A later claim took its place after this kit was packed{why}",
        at=max(raw.captured_at for raw in captured),
    )


def _unpacked(files: Iterable[ArchivedFile]) -> list[NewFile]:
    return [(file.path, file.content, file.executable) for file in files]
