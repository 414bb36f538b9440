"""File, pack, sign, verify and list what a bring-up found, in one folder."""

from dataclasses import dataclass
from pathlib import Path

from dayzero.adapters.disk import write_whole
from dayzero.adapters.evidence_folder import EvidenceFolder
from dayzero.adapters.keys import make_key, save_key
from dayzero.adapters.repository_files import published_pages
from dayzero.adapters.site.folder import write_site
from dayzero.bringup.filing import file_run
from dayzero.bringup.model import Captured, Measured
from dayzero.bringup.packing import pack, standing_claims
from dayzero.bringup.ports import Narrator
from dayzero.bringup.record import bringup_record
from dayzero.catalog.model import KitFacts
from dayzero.catalog.text import card_text
from dayzero.core.package import Package
from dayzero.core.verdict import verdict_word
from dayzero.evidence.check import check
from dayzero.evidence.claims import read_raw
from dayzero.evidence.ledger import Ledger, file_records
from dayzero.evidence.report import Report as EvidenceReport
from dayzero.evidence.subject import recipe_digest
from dayzero.kit.model import KitContents
from dayzero.wiring import clock
from dayzero.wiring.deploy import deploy_files
from dayzero.wiring.kits import facts_of
from dayzero.wiring.laboratory import shown
from dayzero.wiring.launches import launch_of_package
from dayzero.wiring.plugins import engine, extractors
from dayzero.wiring.site import card_of, list_packages, site_files

KEY_NAME = "demo.pub.pem"


@dataclass(frozen=True, slots=True, kw_only=True)
class KitOnDisk:
    """A kit, its attestation and its public key, as files, and what the verifier said about them.

    Attributes:
        archive: The kit.
        attestation: Its signed statements.
        key: The public key that signed them.
        facts: What a card says about the kit.
    """

    archive: Path
    attestation: Path
    key: Path
    facts: KitFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Everything that a bring-up leaves for others.

    Attributes:
        kit: The kit, signed and verified.
        site: Front page of the static site.
        evidence: What the check of every number on its pages found.
    """

    kit: KitOnDisk
    site: Path
    evidence: EvidenceReport


def publish(package: Package, definition: str, measured: Measured, folder: Path, narrator: Narrator) -> Published:
    """File, pack, sign, verify and list, telling each step.

    Args:
        package: What was brought up.
        definition: The text of its definition, which goes into the kit.
        measured: What was found.
        folder: Folder of the run.
        narrator: Told each step.

    Raises:
        EvidenceError: A claim of the definition cannot be extracted.
        IntegrityError: The verifier does not accept the kit that was just written.
        RemoteError: The disk refused.
    """
    narrator.step("file", "every number as a claim on a raw file")
    ledger = file_evidence(package, measured, folder)
    claims = {claim.slug: claim for claim in standing_claims(package, ledger)}
    for reference in package.claims:
        narrator.say(claims[package.slug(reference)].text, reference.label)
    narrator.step("pack", "definition, deploy files and evidence into one signed kit")
    kit = pack_kit(package, definition, measured, ledger, folder)
    facts, archive = kit.facts, shown(kit.archive)
    narrator.say("packed", f"{archive}, {facts.size}, {facts.weight_bytes.count} weight bytes")
    narrator.say("signed", f"with a demo key made on the spot ({facts.key_fingerprint[:16]}): integrity, not identity")
    narrator.say("verified", f"dayzero-verify {archive} --key {shown(kit.key)}")
    narrator.step("list", "the card, its numbers read from the ledger")
    site = build_site(package, ledger, facts, folder)
    narrator.say("listed", shown(site))
    report = check_evidence(ledger, folder)
    _tell_evidence(report, narrator)
    narrator.say("look", f"dayzero catalog serve {shown(site.parent)}")
    return Published(kit=kit, site=site, evidence=report)


def _tell_evidence(report: EvidenceReport, narrator: Narrator) -> None:
    if not report.findings:
        words = (
            f"{report.standing} claims extracted again from {report.raw_files} raw files, "
            f"and {report.citations} citations on {report.pages} pages say the same"
        )
    else:
        words = report.verdict.reason
    narrator.say(verdict_word(report.verdict), words)
    for finding in report.findings:
        narrator.say("finding", f"{finding.reason}: {', '.join(map(str, finding.places))}")


def file_evidence(package: Package, measured: Measured, folder: Path) -> Ledger:
    """Keep every file of a run and append its claims to the folder's ledger.

    Raises:
        EvidenceError: A claim of the definition cannot be extracted.
        RemoteError: The disk refused; the ledger is as it was.
    """
    evidence = EvidenceFolder(folder / "evidence")
    captured: tuple[Captured, ...] = (*measured.captured, bringup_record(package, measured))
    records = file_run(
        package,
        captured,
        evidence.raw,
        extractors(),
        captured_at=clock.now(),
    )
    return file_records(evidence.ledger, lambda _: records).ledger


def pack_kit(package: Package, definition: str, measured: Measured, ledger: Ledger, folder: Path) -> KitOnDisk:
    """Assemble a kit, sign it with a demo key made on the spot, write it, and run the verifier on the files.

    Raises:
        IntegrityError: The verifier does not accept what was just written.
    """
    evidence = EvidenceFolder(folder / "evidence")
    launch = launch_of_package(package)
    contents = KitContents(
        package=package,
        definition=definition,
        launch=launch,
        deploy_files=deploy_files(launch),
        launch_files=engine(package.recipe.engine.engine).launch_files(),
        ledger=evidence.ledger.read(),
        raw_files=tuple((digest, read_raw(evidence.raw, digest)) for digest in ledger.raw_files()),
        card=card_text(card_of(package, ledger, kit=None)),
    )
    key = make_key("demo")
    packed = pack(contents, ledger, recipe_digest(package.recipe), measured.environment, key)
    place = folder / "kit"
    public = place / KEY_NAME
    archive, attestation = place / packed.kit.file_name, place / packed.kit.attestation_name
    write_whole(archive, packed.kit.archive)
    write_whole(attestation, packed.attestation)
    save_key(key, private=place / "demo.key.pem", public=public)
    facts = facts_of(package, archive, (public,), attestation=attestation)
    return KitOnDisk(archive=archive, attestation=attestation, key=public, facts=facts)


def build_site(package: Package, ledger: Ledger, kit: KitFacts | None, folder: Path) -> Path:
    """Write the static site of one package into the folder, and give its front page."""
    raw = EvidenceFolder(folder / "evidence").raw
    listing = list_packages((package,), ledger, raw, {} if kit is None else {package.name: kit})
    write_site(site_files(listing, raw), folder / "site")
    return folder / "site" / "index.html"


def check_evidence(ledger: Ledger, folder: Path) -> EvidenceReport:
    """Derive every number in the folder's pages again."""
    store = EvidenceFolder(folder / "evidence").raw
    return check(ledger, store, extractors(), published_pages(folder), folder=str(folder / "evidence"))
