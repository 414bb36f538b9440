"""The only place where ports meet adapters, and where settings are read."""

import os
import sys
from importlib import resources
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TypeVar, cast

from dayzero.adapters.builds import BuildStore, WheelFiles
from dayzero.adapters.package_files import load_package
from dayzero.adapters.weights import put_weights
from dayzero.advisories.model import Advisory
from dayzero.advisories.parse import parse_advisory
from dayzero.audit.check import audit
from dayzero.audit.model import BuildFacts, Unread
from dayzero.audit.model import Report as AuditReport
from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec
from dayzero.core.package import Package
from dayzero.core.pins import EngineBuild, ModelPin
from dayzero.core.recipe import Recipe
from dayzero.engines.interface import Engine
from dayzero.engines.llamacpp.seeded import GENERATORS
from dayzero.extractors.interface import Extractor
from dayzero.kernels.interface import KernelLibrary
from dayzero.targets.interface import Target

_Plugin = TypeVar("_Plugin")


def cache_folder() -> Path:
    """Say where engines, wheels and weights are kept: ``$DAYZERO_CACHE``, else ``dayzero`` in the user's cache folder."""
    chosen = os.environ.get("DAYZERO_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dayzero"


def _named(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


def _load(group: str, noun: str, name: str, kind: type[_Plugin]) -> _Plugin:  # noqa: ARG001  (kind binds the result's type)
    points = _named(group)
    if name not in points:
        raise InputError(
            f"no {noun} called {name!r} is installed",
            hint=f"Use one of: {', '.join(sorted(points)) or 'none is installed; reinstall dayzero'}.",
        )
    return cast(_Plugin, points[name].load())


def engine_names() -> tuple[str, ...]:
    """List the installed engines."""
    return tuple(sorted(_named("dayzero.engines")))


def engine(name: str) -> Engine:
    """Load one engine."""
    return _load("dayzero.engines", "engine", name, Engine)  # type: ignore[type-abstract]


def kernel_library(name: str) -> KernelLibrary:
    """Load one kernel library."""
    return _load("dayzero.kernel_libraries", "kernel library", name, KernelLibrary)  # type: ignore[type-abstract]


def target_names() -> tuple[str, ...]:
    """List the installed deploy targets."""
    return tuple(sorted(_named("dayzero.deploy_targets")))


def target(name: str) -> Target:
    """Load one deploy target."""
    return _load("dayzero.deploy_targets", "deploy target", name, Target)  # type: ignore[type-abstract]


def extractor_names() -> tuple[str, ...]:
    """List the installed evidence extractors."""
    return tuple(sorted(_named("dayzero.evidence_extractors")))


def extractor(name: str) -> Extractor:
    """Load one evidence extractor."""
    return _load("dayzero.evidence_extractors", "evidence extractor", name, Extractor)  # type: ignore[type-abstract]


def python_executable() -> str:
    """Give the interpreter that runs pip and the embedded engine."""
    return sys.executable


def package_folders() -> tuple[Path, ...]:
    """List where package definitions are looked up: ``./packages``, then those that came with dayzero."""
    installed = Path(__file__).parent
    checkout = installed.parent.parent / "packages"
    return (Path("packages"), checkout if checkout.is_dir() else installed / "_packages")


def packages(folder: Path | None = None) -> tuple[Package, ...]:
    """Read every package definition of a folder, of the standard folders when none is given, by name.

    Raises:
        InputError: The folder holds none, or a definition is not valid.
    """
    folders = package_folders() if folder is None else (folder,)
    files: dict[str, Path] = {}
    for place in folders:
        for file in sorted(place.glob("*/package.toml")):
            files.setdefault(file.parent.name, file)
    if not files:
        raise InputError(
            f"no package definition under {' or '.join(map(str, folders))}", hint="Give a folder that holds NAME/package.toml."
        )
    return tuple(load_package(files[name]) for name in sorted(files))


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
    """Read one definition by its package's name, its folder or its file."""
    return load_package(package_file(name))


def advisories() -> tuple[Advisory, ...]:
    """Read every known wall."""
    files = sorted(entry.name for entry in resources.files("dayzero.advisories").iterdir() if entry.name.endswith(".toml"))
    return tuple(
        parse_advisory(resources.files("dayzero.advisories").joinpath(name).read_text(encoding="utf-8"), name) for name in files
    )


def build_store() -> BuildStore:
    """Open the cache of engine builds."""
    return BuildStore(cache_folder(), python_executable())


def read_facts(recipe: Recipe, build: EngineBuild) -> BuildFacts:
    """Read what a build says about itself, for one recipe.

    Args:
        recipe: Names the kernel libraries whose tables matter.
        build: The build to read.
    """
    files = WheelFiles(artifact=f"{build.distribution} {build.version}", wheel=build_store().wheel(build))
    plugin = engine(build.engine)
    libraries = [kernel.library for kernel in recipe.kernels if kernel.distribution == build.distribution]
    return BuildFacts(
        build=str(build),
        architectures=plugin.read_architectures(files),
        settings=plugin.read_settings(files),
        tensor_types=kernel_library(libraries[0]).read_tensor_types(files)
        if libraries
        else Unread(noun="tensor type", reason="the recipe pins no kernel library inside this build"),
    )


def audit_build(recipe: Recipe, build: EngineBuild) -> AuditReport:
    """Audit one recipe against one build."""
    settings = engine(build.engine).settings_in(recipe.flags)
    return audit(recipe, build, read_facts(recipe, build), settings, advisories())


def weights(model: ModelPin, folder: Path) -> tuple[Path, ...]:
    """Put pinned weights into a folder, verified."""
    return put_weights(model, folder, build_store(), GENERATORS)


def weights_cache(model: ModelPin) -> Path:
    """Say where a model's weights are kept between runs: one folder per set of digests."""
    return cache_folder() / "weights" / model.files[0].sha256.hex


def launch_of(name: str) -> LaunchSpec:
    """Give the launch of a package, by its name, folder or file."""
    recipe = package(name).recipe
    return engine(recipe.engine.engine).launch(recipe, memory_bytes=recipe.system.memory.count)
