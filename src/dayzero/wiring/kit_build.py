"""Build a kit from a package definition, and sign one that was built."""

from dataclasses import dataclass, fields
from pathlib import Path

from dayzero.adapters.evidence_folder import EvidenceFolder
from dayzero.adapters.git_commit import committed_at
from dayzero.adapters.keys import load_key
from dayzero.adapters.new_file import write_new
from dayzero.attestation.ports import Signer
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.launch import LaunchSpec, Site, at_site
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.evidence.ledger import Ledger, parse
from dayzero.evidence.ports import RawStore
from dayzero.kit.backing import backing
from dayzero.kit.draft import Draft, draft_text, parse_draft, sign_kit
from dayzero.kit.model import KitContents
from dayzero.kit.packing import Circumstances, Packed, pack
from dayzero.kit.provenance import DefinitionSource
from dayzero.wiring import definitions
from dayzero.wiring.deploy import Deployment, deployment, inputs_read
from dayzero.wiring.evidence_raw import raw_store
from dayzero.wiring.kit_contents import contents_of
from dayzero.wiring.launches import launch_of_package
from dayzero.wiring.plugins import target
from dayzero.wiring.recheck_claims import claims
from dayzero.wiring.recheck_deploy import deploy_files
from dayzero.wiring.store import open_repository
from dayzero_verify.inputs import attestation_path
from dayzero_verify.keys import PublicKey
from dayzero_verify.kit import examine
from dayzero_verify.report import Status

KIT_SUFFIX, DRAFT_SUFFIX = ".kit.zip", ".kit.draft.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be built.

    Attributes:
        package: Name, folder or file of the package.
        folder: Where the archive and its draft are written.
        evidence: Folder of evidence; ``None`` for that of the repository here.
        audit: Report of an audit, as JSON; ``None`` where none was made.
        targets: Deploy targets; none for every one that can carry the launch.
        site: What only the site knows.
        min_version: Oldest version that should still be served, ``""`` where all may be.
    """

    package: str
    folder: Path
    evidence: Path | None = None
    audit: Path | None = None
    targets: tuple[str, ...] = ()
    site: Site
    min_version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltKit:
    """A kit on disk, not signed yet.

    Attributes:
        archive: The archive.
        draft: The statements about it, beside it.
        packed: Both, in memory.
        contents: What it was made from.
        weight_bytes: How many bytes of pinned model files were counted in it.
        elsewhere: How many claims of the ledger are about something else.
    """

    archive: Path
    draft: Path
    packed: Packed
    contents: KitContents
    weight_bytes: int
    elsewhere: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedKit:
    """A kit, signed and verified.

    Attributes:
        kit: Name and version.
        attestation: The signed statements.
        statements: Their types, in order.
        keyids: The keys that signed, in the order given.
        demo: Whether they are demo keys.
    """

    kit: str
    attestation: Path
    statements: tuple[str, ...]
    keyids: tuple[str, ...]
    demo: bool


def build_kit(order: Order) -> BuiltKit:
    """Build a kit and draft its statements; the same order gives the same bytes.

    Raises:
        InputError: The definition, the evidence or the report cannot be used, or other files are there already.
        NotCarriedError: A target that was asked for cannot carry the launch.
        EvidenceError: The raw file under a claim is gone.
        IntegrityError: The ledger or a raw file was changed.
        RemoteError: The disk refused.
    """
    file = definitions.package_file(order.package)
    package = definitions.package(str(file))
    definition = file.read_text(encoding="utf-8")
    content, ledger, raw = _evidence(order.evidence)
    said = backing(package, content, ledger, raw)
    spec = at_site(launch_of_package(package), order.site)
    deployed = deployment(spec, order.targets)
    _need_read(spec, deployed)
    contents = contents_of(package, definition, spec, (said, ledger), deployed)
    circumstances = Circumstances(
        source=definition_source(file, definition),
        audit=_read(order.audit) if order.audit else b"",
        min_version=order.min_version,
    )
    packed = pack(contents, circumstances)
    archive, draft = write_draft(packed, order.folder)
    return BuiltKit(
        archive=archive,
        draft=draft,
        packed=packed,
        contents=contents,
        weight_bytes=weight_bytes(package, packed),
        elsewhere=said.elsewhere,
    )


def _need_read(spec: LaunchSpec, deployed: Deployment) -> None:
    read = {name for chosen, _ in deployed.carried for name, _ in inputs_read(target(chosen), spec)}
    given = {field.name for field in fields(Site) if getattr(spec.site, field.name) != getattr(Site(), field.name)}
    if given - read:
        raise InputError(
            f"no deploy file of this kit reads the site's {', '.join(sorted(given - read))}",
            hint=f"These files read: {', '.join(sorted(read)) or 'nothing of the site'}.",
        )


def definition_source(file: Path, definition: str) -> DefinitionSource:
    """Say where a definition was read, with its git commit where it is as it was committed."""
    digest, found = Sha256.of(definition.encode()), committed_at(file)
    path, commit = found or ("", None)
    return DefinitionSource(path=path, commit=commit, sha256=digest)


def write_draft(packed: Packed, folder: Path) -> tuple[Path, Path]:
    """Write the archive and, beside it, the draft of its statements.

    Raises:
        InputError: Other files are there already.
        RemoteError: The disk refused.
    """
    archive = folder / packed.kit.file_name
    write_new(archive, packed.kit.archive)
    write_new(draft_path(archive), draft_text(packed.draft).encode("ascii"))
    return archive, draft_path(archive)


def draft_path(kit: Path) -> Path:
    """Name the draft beside a kit."""
    return kit.with_name(kit.name.removesuffix(KIT_SUFFIX) + DRAFT_SUFFIX)


def weight_bytes(package: Package, packed: Packed) -> int:
    """Count the bytes of pinned model files in a kit; a promise is not a count."""
    pinned = package.recipe.model.weight_files
    return sum(file.size for file in packed.kit.files if file.sha256 in pinned)


def sign_file(kit: Path, keys: tuple[Path, ...]) -> SignedKit:
    """Sign the draft beside a kit with every key, and write the attestation where the verifier looks for it.

    Raises:
        InputError: A file cannot be read, keys of two kinds are given, or a different attestation is there already.
        IntegrityError: The draft is about another archive, or the verifier or a recheck refuses what was signed.
        RemoteError: The disk refused.
    """
    if not kit.name.endswith(KIT_SUFFIX):
        raise InputError(f"{kit} is not called NAME-VERSION{KIT_SUFFIX}", hint="Give the archive that was built.")
    archive, draft = _read(kit), parse_draft(_read(draft_path(kit)))
    signers = tuple(load_key(path) for path in keys)
    attestation = seal_checked(archive, draft, signers)
    write_new(attestation_path(kit), attestation)
    members = draft.kit.predicate["kit"]
    name = " ".join(map(str, members.values())) if isinstance(members, dict) else ""
    return SignedKit(
        kit=name,
        attestation=attestation_path(kit),
        statements=(draft.kit.predicate_type, *(said.predicate_type for said in draft.others)),
        keyids=tuple(PublicKey(signer.public_key).keyid for signer in signers),
        demo=signers[0].kind == "demo",
    )


def seal_checked(archive: bytes, draft: Draft, signers: tuple[Signer, ...]) -> bytes:
    """Sign, and check again what only dayzero can check: a kit whose files contradict each other is not signed.

    Raises:
        InputError: Keys of both kinds, or none.
        IntegrityError: The draft is about another archive, or a check fails.
    """
    attestation = sign_kit(archive, draft, signers)
    content = examine(archive, attestation, tuple(PublicKey(signer.public_key) for signer in signers)).content
    for row in (deploy_files(content).row, claims(content).row) if content is not None else ():
        if row.status is Status.FAIL:
            raise IntegrityError(
                f"the kit is not signed: {row.reason}", hint="Build it again: dayzero kit build PACKAGE."
            )
    return attestation


def _evidence(folder: Path | None) -> tuple[bytes, Ledger, RawStore]:
    if folder is None:
        repository = open_repository(Path())
        return repository.content, repository.ledger, repository.raw
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder", hint="Give the folder that holds ledger.jsonl and raw/.")
    file = EvidenceFolder(folder).ledger
    content = file.read()
    return content, parse(content, file=str(file.path)), raw_store(folder)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        hint = "Build the kit first: dayzero kit build PACKAGE." if file.name.endswith(DRAFT_SUFFIX) else "Give a file."
        raise InputError(f"{file} cannot be read: {error.strerror}", hint=hint) from error
