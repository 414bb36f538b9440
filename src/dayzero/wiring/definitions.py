"""Find and read package definitions, advisories and walls."""

from collections.abc import Collection, Mapping
from functools import cache
from importlib import resources
from pathlib import Path

import dayzero
from dayzero.adapters.package_files import load_collected, load_package
from dayzero.adapters.package_files.positions import line_of
from dayzero.advisories.model import Advisory
from dayzero.advisories.parse import parse_advisory
from dayzero.advisories.walls.model import WallRule
from dayzero.advisories.walls.parse import in_order, parse_wall
from dayzero.core.errors import InputError
from dayzero.core.package import Package
from dayzero.core.verdict import Place
from dayzero.wiring.launches import require_launchable


def package_folders() -> tuple[Path, ...]:
    """List where package definitions are looked up: ``./packages``, then those that came with dayzero."""
    installed = Path(dayzero.__file__).parent
    checkout = installed.parent.parent / "packages"
    return (Path("packages"), checkout if checkout.is_dir() else installed / "_packages")


def packages(folder: Path | None = None) -> tuple[Package, ...]:
    """Read every package definition of a folder, of the standard folders when none is given, by name.

    Raises:
        InputError: The folder holds none, or a definition is not valid.
    """
    found = {name: home for home, names in collections(folder).items() for name in names}
    files = {name: home / name / "package.toml" for name, home in found.items()}
    return tuple(load_collected(files[name]) for name in sorted(files) if files[name].is_file())


def collections(folder: Path | None = None) -> Mapping[Path, tuple[str, ...]]:
    """Say which packages are taken from which folder of packages, by name; a name counts where it is found first.

    A package is a folder with a definition, or with released ones.

    Raises:
        InputError: No folder holds a package.
    """
    folders = package_folders() if folder is None else (folder,)
    taken: set[str] = set()
    homes: dict[Path, tuple[str, ...]] = {}
    for home in folders:
        named = {file.parent.name for file in home.glob("*/package.toml")}
        named |= {file.parent.name for file in home.glob("*/releases")}
        homes[home] = tuple(sorted(named - taken))
        taken |= named
    if not taken:
        raise InputError(
            f"no package definition under {' or '.join(map(str, folders))}",
            hint="Give a folder that holds NAME/package.toml.",
        )
    return homes


def package_file(name: str) -> Path:
    """Find a definition by its package's name, its folder or its file.

    Raises:
        InputError: There is none.
    """
    given = Path(name)
    if given.suffix == ".toml":
        return given
    if (given / "package.toml").is_file():
        return given / "package.toml"
    for folder in package_folders():
        if (folder / name / "package.toml").is_file():
            return folder / name / "package.toml"
    known = sorted({file.parent.name for folder in package_folders() for file in folder.glob("*/package.toml")})
    raise InputError(f"no package called {name!r}", hint=f"Give a folder, or one of: {', '.join(known)}.")


def package(name: str) -> Package:
    """Read one definition by its package's name, its folder or its file.

    Raises:
        InputError: It is not valid, or what it starts is refused.
    """
    file = package_file(name)
    definition = load_package(file)
    try:
        require_launchable(definition.recipe)
    except InputError as error:
        raise InputError(f"{file}: {error.message}", hint=error.hint) from error
    return definition


def advisories() -> tuple[Advisory, ...]:
    """Read every known wall."""
    files = sorted(
        entry.name for entry in resources.files("dayzero.advisories").iterdir() if entry.name.endswith(".toml")
    )
    return tuple(
        parse_advisory(resources.files("dayzero.advisories").joinpath(name).read_text(encoding="utf-8"), name)
        for name in files
    )


@cache
def walls() -> tuple[WallRule, ...]:
    """Read every rule that recognises a wall in a log, the more particular ones first."""
    folder = resources.files("dayzero.advisories.walls")
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".toml")), key=lambda entry: entry.name)
    return in_order(tuple(rule for file in files for rule in parse_wall(file.read_text(encoding="utf-8"), file.name)))


def cards_reading(root: Path, slugs: Collection[str]) -> tuple[tuple[str, Place], ...]:
    """Say which cards under ``root`` read these claims, and where their definitions ask for them."""
    found = []
    for file in sorted(root.glob("packages/*/package.toml")):
        text, definition = file.read_text(encoding="utf-8"), load_package(file)
        for index, reference in enumerate(definition.claims):
            if definition.slug(reference) in slugs:
                line = f"line {line_of(text, ('claims', index))}"
                found.append((definition.slug(reference), Place(artifact="", file=str(file), position=line)))
    return tuple(found)
