"""Launches, the deploy files that carry them, and the validators that look at those."""

from dataclasses import replace
from pathlib import Path

from dayzero.adapters.validator import ask_validator
from dayzero.core.errors import IntegrityError
from dayzero.core.launch import LaunchSpec, Site, at_site
from dayzero.core.verdict import Proven, Verdict
from dayzero.targets.interface import NotCarriedError, Target
from dayzero.targets.proof import prove_text
from dayzero.wiring.definitions import package
from dayzero.wiring.launches import launch_of_package
from dayzero.wiring.plugins import target, target_names


def launch_of(name: str) -> LaunchSpec:
    """Give the launch of a package, by its name, folder or file."""
    return launch_of_package(package(name))


def ask_validators(chosen: Target, file: Path) -> tuple[tuple[str, Verdict], ...]:
    """Ask each of a target's validators about one written file; one that is not installed leaves it undecided."""
    return tuple(
        (
            validator.name,
            ask_validator(
                validator.command,
                file.parent if validator.folder else file,
                folder_variable=validator.folder_variable,
                beside_the_point=validator.beside_the_point,
            ),
        )
        for validator in chosen.validators
    )


def inputs_read(chosen: Target, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
    """Give what a target's file for this launch reads of the site, as (name, value); what it could read and does not is none."""
    return tuple(
        (name, getattr(spec.site, name))
        for name in chosen.inputs
        if _files(chosen, spec) != _files(chosen, at_site(spec, _other(spec.site, name)))
    )


def _other(site: Site, name: str) -> Site:
    return replace(site, **{name: f"{getattr(site, name)}x"})


def _files(chosen: Target, spec: LaunchSpec) -> tuple[str, object]:
    return chosen.render(spec), chosen.companions(spec)


def deploy_files(spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
    """Render a launch for every installed target that can carry it, each proven equal, with the files that stand beside it.

    Raises:
        IntegrityError: A deploy file does not carry the launch word for word.
    """
    files: dict[str, str] = {}
    for name in target_names():
        chosen = target(name)
        try:
            text = chosen.render(spec)
        except NotCarriedError:
            continue
        verdict = prove_text(spec, chosen, text)
        if not isinstance(verdict, Proven):
            raise IntegrityError(f"{name}: {verdict.reason}", hint="Report this target; nothing was packed.")
        files[chosen.file_name(spec)] = text
        files |= dict(chosen.companions(spec))
    return tuple(sorted(files.items()))
