"""Read the facts of kits that lie in a folder, for cards that are built from it; a kit that does not verify has none."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dayzero.catalog.model import KitFacts
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
    content, examination = verified(kit, attestation, keys)
    _need_same_recipe(package, content, kit)
    weights = {pin.sha256 for pin in package.recipe.model.files if pin.size.count}
    carried = [len(file.content) for file in content.files if Sha256.of(file.content) in weights]
    return KitFacts(
        archive=kit.name,
        size=Bytes(kit.stat().st_size),
        weight_bytes=Bytes(sum(carried)),
        key_fingerprint=examination.report.keyid,
        demo_key=examination.report.demo,
        verify_command=f"dayzero-verify {kit.name} --key {_signer(content, keys).name}",
    )


def kit_facts(packages: Sequence[Package], folder: Path, keys: Sequence[Path] = ()) -> Mapping[str, KitFacts]:
    """Read the facts of ``NAME-VERSION.kit.zip`` for each package that has one in the folder, at any depth.

    Args:
        packages: The definitions.
        folder: Where kits lie, each beside its attestation.
        keys: Public keys that are trusted; those in the folder (``*.pub.pem``) when none is given.

    Raises:
        InputError: There is no such folder, a kit is there twice, or is there without its attestation or a key.
        IntegrityError: A kit does not verify, or is one of another recipe.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder", hint="Name the folder that holds the kits.")
    trusted = tuple(keys) or tuple(sorted(folder.rglob(KEY_PATTERN)))
    facts: dict[str, KitFacts] = {}
    for package in packages:
        found = sorted(folder.rglob(f"{package.name}-{package.version}{KIT_SUFFIX}"))
        if len(found) > 1:
            raise InputError(
                f"{found[0]} and {found[1]} are both a kit of {package.name} {package.version}",
                hint="Name a folder that holds one of them.",
            )
        if found:
            facts[package.name] = facts_of(package, found[0], trusted)
    return facts


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
