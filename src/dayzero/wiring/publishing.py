"""File, pack, sign, verify and list what a bring-up found, in one folder."""

from dataclasses import dataclass
from pathlib import Path

from dayzero.adapters.evidence_folder import EvidenceFolder
from dayzero.adapters.keys import make_key, save_key
from dayzero.adapters.new_file import write_new
from dayzero.adapters.repository_files import published_pages
from dayzero.adapters.site.folder import write_site
from dayzero.bringup.filing import file_run
from dayzero.bringup.model import Captured, Measured
from dayzero.bringup.ports import Narrator
from dayzero.bringup.record import bringup_record
from dayzero.catalog.model import KitFacts
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.core.verdict import verdict_word
from dayzero.evidence.check import check
from dayzero.evidence.ledger import Ledger, file_records
from dayzero.evidence.report import Report as EvidenceReport
from dayzero.evidence.state import Standing
from dayzero.kit.backing import backing
from dayzero.kit.packing import Circumstances, pack
from dayzero.kit.provenance import DefinitionSource
from dayzero.wiring import clock
from dayzero.wiring.catalog_source import offer_of
from dayzero.wiring.deploy import deployment
from dayzero.wiring.kit_build import seal_checked, write_draft
from dayzero.wiring.kit_contents import contents_of
from dayzero.wiring.kits import KitFiles, facts_of
from dayzero.wiring.laboratory import shown
from dayzero.wiring.launches import launch_of_package
from dayzero.wiring.plugins import extractors
from dayzero.wiring.site import site_files
from dayzero_verify.inputs import attestation_path

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
    claims = {slug: state.claim for slug, state in ledger.standings().items() if isinstance(state, Standing)}
    for reference in package.claims:
        narrator.say(claims[package.slug(reference)].text, reference.label)
    narrator.step("pack", "definition, deploy files and evidence into one signed kit")
    kit = pack_kit(package, definition, measured, ledger, folder)
    facts, archive = kit.facts, shown(kit.archive)
    narrator.say("packed", f"{archive}, {facts.size}, {facts.weight_bytes.count} weight bytes")
    narrator.say("signed", f"with a demo key made on the spot ({facts.key_fingerprint[:16]}): integrity, not identity")
    narrator.say("verified", f"dayzero-verify {archive} --key {shown(kit.key)}")
    narrator.step("list", "the card, its numbers read from the ledger")
    site = build_site(package, definition, ledger, kit, folder)
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
    """Build a kit, sign it with a demo key made on the spot, write both, and run the verifier on the files.

    Raises:
        IntegrityError: The verifier does not accept what was just written.
    """
    evidence = EvidenceFolder(folder / "evidence")
    launch = launch_of_package(package)
    said = backing(package, evidence.ledger.read(), ledger, evidence.raw)
    contents = contents_of(package, definition, launch, (said, ledger), deployment(launch))
    source = DefinitionSource(sha256=Sha256.of(definition.encode()))
    packed = pack(contents, Circumstances(source=source, environment=measured.environment))
    key, place = make_key("demo"), folder / "kit"
    archive, _ = write_draft(packed, place)
    attestation, public = attestation_path(archive), place / KEY_NAME
    save_key(key, private=place / "demo.key.pem", public=public)
    write_new(attestation, seal_checked(packed.kit.archive, packed.draft, (key,)))
    facts = facts_of(package, archive, (public,), attestation=attestation)
    return KitOnDisk(archive=archive, attestation=attestation, key=public, facts=facts)


def build_site(package: Package, definition: str, ledger: Ledger, kit: KitOnDisk, folder: Path) -> Path:
    """Write the static site of one package into the folder, and give its front page."""
    raw = EvidenceFolder(folder / "evidence").raw
    files = KitFiles(archive=kit.archive, attestation=kit.attestation, key=kit.key)
    write_site(site_files(offer_of(package, definition, ledger, raw, (kit.facts, files))), folder / "site")
    return folder / "site" / "index.html"


def check_evidence(ledger: Ledger, folder: Path) -> EvidenceReport:
    """Derive every number in the folder's pages again."""
    store = EvidenceFolder(folder / "evidence").raw
    return check(ledger, store, extractors(), published_pages(folder), folder=str(folder / "evidence"))
