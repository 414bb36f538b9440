"""A kit as a bring-up leaves it: a definition that travels with dayzero, a ledger, raw files, signed with a known key."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.simulators.signer import KnownSigner

from dayzero.adapters.keys import Ed25519Key
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.locator import PointerLocator, WholeFile
from dayzero.evidence.model import Claim, Extraction, NotMeasured, RawFile, Record
from dayzero.evidence.subject import recipe_digest
from dayzero.kit.backing import backing
from dayzero.kit.draft import sign_kit
from dayzero.kit.model import Kit
from dayzero.kit.packing import Circumstances, pack
from dayzero.kit.provenance import DefinitionSource
from dayzero.wiring import definitions
from dayzero.wiring.deploy import deployment
from dayzero.wiring.kit_contents import RawInKit, contents_of
from dayzero.wiring.launches import launch_of_package
from dayzero_verify.kit import Content, examine

NAME = "demo-kimi-k3-tiny"
ROWS = b'{"cell":"c1","ttft_ns":56100000}\n{"cell":"c1","ttft_ns":56300000}\n'
START = b'{"seconds": 0.64}\n'
LEDGER = "evidence/ledger.jsonl"


@dataclass(frozen=True)
class Packed:
    kit: Kit
    attestation: bytes


@dataclass(frozen=True)
class MeasuredKit:
    package: Package
    ledger: Ledger
    packed: Packed

    @property
    def content(self) -> Content:
        content = examine(self.packed.kit.archive, self.packed.attestation, (KnownSigner().trusted,)).content
        assert content is not None
        return content

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write archive, attestation and public key, and give the paths of archive and key."""
        folder.mkdir(parents=True, exist_ok=True)
        archive, key = folder / self.packed.kit.file_name, folder / "owner.pub.pem"
        archive.write_bytes(self.packed.kit.archive)
        (folder / self.packed.kit.attestation_name).write_bytes(self.packed.attestation)
        key.write_bytes(Ed25519Key(Ed25519PrivateKey.from_private_bytes(KnownSigner().seed), "demo").public_pem())
        return archive, key


def raw_file(name: str, content: bytes, at: str) -> RawFile:
    return RawFile(
        sha256=Sha256.of(content), name=name, size=Bytes(len(content)), captured_at=at, command=f"made {name}"
    )


def claim(id_: str, value: str) -> Claim:
    package = definitions.package(NAME)
    ref = next(ref for ref in package.claims if ref.id == id_)
    return Claim(
        slug=package.slug(ref),
        label=ref.label,
        value=value,
        unit=ref.unit,
        raw=Sha256.of(START if ref.pointer else ROWS),
        locator=PointerLocator(pointer=ref.pointer) if ref.pointer else WholeFile(),
        extraction=Extraction(extractor=ref.extractor, parameters=ref.parameters),
        subject=recipe_digest(package.recipe),
    )


def records() -> tuple[Record, ...]:
    return (
        raw_file("requests.jsonl", ROWS, "2026-11-29T17:10:46Z"),
        raw_file("start.json", START, "2026-11-29T17:10:40Z"),
        claim("c1-ttft-p50", "56.1"),
        claim("start-to-healthy", "0.64"),
        NotMeasured(topic="quality", why="The weights are random."),
    )


@cache
def measured_kit(*more: Record) -> MeasuredKit:
    """Pack and sign the kit, with more records at the end of its ledger."""
    package = definitions.package(NAME)
    ledger, lines = Ledger().append([*records(), *more])
    definition = definitions.package_file(NAME).read_text(encoding="utf-8")
    launch = launch_of_package(package)
    raw = RawInKit({f"evidence/raw/{Sha256.of(content)}": content for content in (ROWS, START)})
    said = backing(package, lines, ledger, raw)
    contents = contents_of(package, definition, launch, (said, ledger), deployment(launch, ("shell",)))
    source = DefinitionSource(sha256=Sha256.of(definition.encode()))
    packed = pack(contents, Circumstances(source=source, environment=(("machine", "x86_64"),)))
    attestation = sign_kit(packed.kit.archive, packed.draft, (KnownSigner(),))
    return MeasuredKit(package, ledger, Packed(packed.kit, attestation))
