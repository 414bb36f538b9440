"""Launches, the deploy files that carry them, and the validators that look at those."""

from dataclasses import replace
from pathlib import Path

from dayzero.adapters.validator import ask_validator
from dayzero.core.errors import IntegrityError
from dayzero.core.launch import LaunchSpec
from dayzero.core.package import Package
from dayzero.core.recipe import Recipe
from dayzero.core.verdict import Proven, Verdict
from dayzero.targets.interface import Target
from dayzero.targets.proof import prove_text
from dayzero.wiring.definitions import package
from dayzero.wiring.plugins import engine, target, target_names


def launch_of(name: str) -> LaunchSpec:
    """Give the launch of a package, by its name, folder or file."""
    return launch_of_package(package(name))


def launch_of_package(definition: Package) -> LaunchSpec:
    """Give the launch of a package; the service is called as the package is."""
    return replace(launch_of_recipe(definition.recipe), name=definition.name)


def launch_of_recipe(recipe: Recipe) -> LaunchSpec:
    """Give the launch of a recipe."""
    return engine(recipe.engine.engine).launch(recipe, memory_bytes=recipe.system.memory.count)


def ask_validators(chosen: Target, file: Path) -> tuple[tuple[str, Verdict], ...]:
    """Ask each of a target's validators about one written file; one that is not installed leaves it undecided."""
    return tuple(
        (
            validator.name,
            ask_validator(validator.command, file, beside_the_point=validator.beside_the_point),
        )
        for validator in chosen.validators
    )


def deploy_files(spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
    """Render a launch for every installed target, each proven equal to it, with the files that have to stand beside it.

    Raises:
        IntegrityError: A deploy file does not carry the launch word for word.
    """
    files: dict[str, str] = {}
    for name in target_names():
        chosen = target(name)
        text = chosen.render(spec)
        verdict = prove_text(spec, chosen, text)
        if not isinstance(verdict, Proven):
            raise IntegrityError(f"{name}: {verdict.reason}", hint="Report this target; nothing was packed.")
        files[chosen.file_name(spec)] = text
        files |= dict(chosen.companions(spec))
    return tuple(sorted(files.items()))
