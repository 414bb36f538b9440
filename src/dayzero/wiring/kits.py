"""Read the facts of kits that lie in a folder, for cards that are built from it; a kit that does not verify has none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dayzero.adapters.file_digest import digest_of
from dayzero.catalog.model import KitFacts
from dayzero.catalog.release import KitPin
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.subject import recipe_digest
from dayzero_verify.inputs import UnreadableError, attestation_path, examine_files, read_key
from dayzero_verify.kit import Content, Examination
from dayzero_verify.report import ExitCode

KEY_PATTERN, KIT_SUFFIX = "*.pub.pem", ".kit.zip"


def verified(kit: Path, attestation: Path | None, keys: Sequence[Path]) -> tuple[Content, Examination]:
    """Verify a kit and take it apart.

    Args:
        kit: The archive.
        attestation: Its signed statements; ``None`` for the file beside it.
        keys: Public keys that are trusted.

    Raises:
        InputError: A file cannot be read, or no key is given.
        IntegrityError: The verifier does not accept the kit.
    """
    if not keys:
        raise InputError(
            f"the kit {kit} is checked against a public key that you trust, and none was given",
            hint="Give --key KEY.pub.pem.",
        )
    try:
        examination = examine_files(kit, attestation, keys)
    except UnreadableError as error:
        raise InputError(error.message, hint=f"{error.hint[:1].upper()}{error.hint[1:]}.") from error
    if examination.content is None or examination.report.exit_code is not ExitCode.VERIFIED:
        failed = next(
            (row.reason for row in examination.report.rows if row.status.value == "fail"), "it was not verified"
        )
        beside = attestation or attestation_path(kit)
        raise IntegrityError(
            f"the kit {kit} does not verify: {failed}",
            hint=f"Run: dayzero kit verify {kit} --attestation {beside} --key {keys[0]}",
        )
    return examination.content, examination


def facts_of(package: Package, kit: Path, keys: Sequence[Path], *, attestation: Path | None = None) -> KitFacts:
    """Read what a card says about a kit from the verified kit itself: weight bytes are counted, not believed.

    Raises:
        InputError: A file cannot be read, or no key is given.
        IntegrityError: The verifier does not accept the kit, or it is one of another recipe.
    """
    return _facts(package, kit, keys, verified(kit, attestation, keys))


def _facts(package: Package, kit: Path, keys: Sequence[Path], found: tuple[Content, Examination]) -> KitFacts:
    content, examination = found
    _need_same_recipe(package, content, kit)
    weights = package.recipe.model.weight_files
    carried = [len(file.content) for file in content.files if Sha256.of(file.content) in weights]
    return KitFacts(
        archive=kit.name,
        size=Bytes(kit.stat().st_size),
        weight_bytes=Bytes(sum(carried)),
        key_fingerprint=examination.report.keyid,
        demo_key=examination.report.demo,
        verify_command=f"dayzero-verify {kit.name} --key {_signer(content, keys).name}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KitFiles:
    """The files of one kit that is on offer."""

    archive: Path
    attestation: Path
    key: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class KitFolder:
    """The kits that lie in a folder.

    Attributes:
        found: Where each archive lies, by file name; more than one place where it is there more than once.
        keys: Public keys that are trusted.
    """

    found: Mapping[str, tuple[Path, ...]]
    keys: tuple[Path, ...]

    def of(self, package: Package, pin: KitPin | None = None) -> tuple[KitFacts, KitFiles] | None:
        """Read what a card says of the kit of a version, ``None`` where there is none in the folder.

        Args:
            package: The version's definition.
            pin: The kit that was published with it.

        Raises:
            InputError: The kit is there twice, or without its attestation or a key.
            IntegrityError: It does not verify, is one of another recipe, or is not the one that was published.
        """
        places = self.found.get(f"{package.name}-{package.version}{KIT_SUFFIX}", ())
        if len(places) > 1:
            raise InputError(
                f"{places[0]} and {places[1]} are both a kit of {package.name} {package.version}",
                hint="Name a folder that holds one of them.",
            )
        if not places:
            return None
        if pin is not None and digest_of(places[0]) != pin.sha256:
            raise IntegrityError(
                f"the kit {places[0]} is not the one that was published with {package.name} {package.version}",
                hint="Bring back the archive that was published; a later one needs a version of its own.",
            )
        content, examination = verified(places[0], None, self.keys)
        facts = _facts(package, places[0], self.keys, (content, examination))
        signer = _signer(content, self.keys)
        return facts, KitFiles(archive=places[0], attestation=attestation_path(places[0]), key=signer)


def open_kits(folder: Path, keys: Sequence[Path] = ()) -> KitFolder:
    """List the kits in a folder, at any depth, each beside its attestation.

    Args:
        folder: Where they lie.
        keys: Public keys that are trusted; those in the folder (``*.pub.pem``) when none is given.

    Raises:
        InputError: There is no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder", hint="Name the folder that holds the kits.")
    found: dict[str, tuple[Path, ...]] = {}
    for archive in sorted(folder.rglob(f"*{KIT_SUFFIX}")):
        found[archive.name] = (*found.get(archive.name, ()), archive)
    return KitFolder(found=found, keys=tuple(keys) or tuple(sorted(folder.rglob(KEY_PATTERN))))


def _need_same_recipe(package: Package, content: Content, kit: Path) -> None:
    signed = content.lines[0].statement.predicate.get("recipe")
    recipe = signed.get("sha256") if isinstance(signed, dict) else None
    if recipe != recipe_digest(package.recipe).hex:
        raise IntegrityError(
            f"the kit {kit} is one of another recipe than {package.name} {package.version} defines",
            hint="Pack the kit again from this definition, or build from the definition that it was packed from.",
        )


def _signer(content: Content, keys: Sequence[Path]) -> Path:
    raw = content.lines[0].signed.signatures[0].key.raw
    return next(path for path in keys if read_key(path).raw == raw)
