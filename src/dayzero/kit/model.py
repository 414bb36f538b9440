"""What goes into a kit, and the kit."""

from dataclasses import dataclass

from dayzero.core.launch import LaunchSpec
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.evidence.model import Claim, Retraction


@dataclass(frozen=True, slots=True)
class Run:
    """What was measured in one run: one arm of a comparison, or one bring-up.

    Attributes:
        name: What the file that binds its raw files together was called; ``""`` where no such file was filed.
        sha256: Digest of that file.
        environment: Where it ran, as (name, text), as that file has it.
        claims: What is claimed of it now.
    """

    name: str
    sha256: Sha256 | None
    environment: tuple[tuple[str, str], ...]
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KitContents:
    """Everything that a kit is made from; the order of files does not matter.

    Attributes:
        package: The package definition.
        definition: Its text, as ``package.toml``.
        launch: What is started; paths in it are relative to the root of the kit.
        deploy_files: The rendered deploy files, as (path, text); the same file may be given twice.
        launch_files: The files that the launch runs and the engine's build does not carry, as (path, content).
        ledger: The evidence ledger.
        raw_files: The raw files that its claims rest on, as (digest, content).
        card: The card, as text.
        runs: What is claimed, by run; empty where nothing was measured.
        taken_back: Claims that are made no longer.
        targets: The deploy targets that its deploy files are of.
        not_carried: The deploy targets that cannot carry the launch, as (name, why).
        left_out: The deploy targets that were not asked for.
    """

    package: Package
    definition: str
    launch: LaunchSpec
    deploy_files: tuple[tuple[str, str], ...]
    launch_files: tuple[tuple[str, bytes], ...]
    ledger: bytes
    raw_files: tuple[tuple[Sha256, bytes], ...]
    card: str
    runs: tuple[Run, ...] = ()
    taken_back: tuple[Retraction, ...] = ()
    targets: tuple[str, ...] = ()
    not_carried: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KitFile:
    """One file of a kit, as manifest and statement list it.

    Attributes:
        path: Path inside the archive.
        size: Bytes.
        sha256: Digest of the content.
        mode: ``0644`` or ``0755``.
    """

    path: str
    size: int
    sha256: Sha256
    mode: str

    def document(self) -> dict[str, object]:
        """Give the entry as JSON members."""
        return {"path": self.path, "size": self.size, "sha256": self.sha256.hex, "mode": self.mode}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """A finished kit.

    Attributes:
        name: Name of the package.
        version: Version of its definition.
        files: Every file in it, by path.
        archive: The canonical archive.
        sha256: Its digest.
    """

    name: str
    version: str
    files: tuple[KitFile, ...]
    archive: bytes
    sha256: Sha256

    @property
    def file_name(self) -> str:
        """What the archive is called on disk."""
        return f"{self.name}-{self.version}.kit.zip"

    @property
    def attestation_name(self) -> str:
        """What its attestation is called, beside it."""
        return f"{self.name}-{self.version}.kit.intoto.jsonl"
