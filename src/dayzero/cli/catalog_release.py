"""``dayzero catalog publish`` and ``yank``: add a version to the release log, or say that nobody should take it any more."""

from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.console import stderr_console
from dayzero.cli.main import PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.errors import InputError
from dayzero.wiring.catalog_publish import packages_of, publish, yank


def publish_version(
    package: str,
    *,
    kit: Path | None = None,
    key: Annotated[tuple[Path, ...], cyclopts.Parameter(name="--key", negative=())] = (),
    output_format: OutputFormat = "text",
) -> int:
    """Publish the definition of a package as it lies there now: it is frozen, and its version is never used again.

    Args:
        package: The package, by its name, its folder or its file.
        kit: Its kit, beside its attestation; the release then pins the archive.
        key: A public key that you trust to sign the kit.
        output_format: How the result is written to stdout.
    """
    if key and kit is None:
        raise InputError("--key without --kit checks nothing", hint="Give --kit KIT too.")
    made = publish(package, kit, key)
    release = made.release
    if output_format == "json":
        pin = release.kit
        print_json(
            {
                "schema": "dayzero/catalog-publish/v1",
                "name": release.package,
                "version": release.version,
                "at": release.at,
                "frozen": str(made.frozen),
                "definition_sha256": release.definition.hex,
                "recipe_sha256": release.recipe.hex,
                "kit": None
                if pin is None
                else {"archive": pin.archive, "sha256": pin.sha256.hex, "bytes": pin.size.count},
                "log": str(made.log),
                "head": made.head,
            }
        )
        return PROVEN
    print(f"published {release.package} {release.version} at {release.at}")
    console = stderr_console()
    console.print(f"  frozen      {made.frozen}", markup=False)
    console.print(f"  definition  {release.definition}", markup=False)
    console.print(f"  recipe      {release.recipe}", markup=False)
    console.print(
        f"  kit         {f'{release.kit.archive}, {release.kit.size}' if release.kit else 'none'}", markup=False
    )
    console.print(f"  log         {made.log}, head {made.head}", markup=False)
    console.print("Commit the frozen definition and the log together.")
    return PROVEN


def yank_version(package: str, version: str, *, reason: str, packages: Path | None = None) -> int:
    """Yank a version: it stays where it is, and every page of it says that nobody should take it, and why.

    Args:
        package: Name of the package.
        version: The version.
        reason: Why; it is published.
        packages: Folder of the packages; the one that holds the package's definition when left out.
    """
    record = yank(packages_of(package, packages), package, version, reason)
    print(f"yanked {record.package} {record.version} at {record.at}: {record.reason}")
    return PROVEN
